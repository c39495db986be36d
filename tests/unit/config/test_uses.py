"""The use of the configuration's keys."""

import ast

import pytest

from bosh_aws_cpi.config.aws_config import AwsConfig, Stemcell
from bosh_aws_cpi.config.cpi_config import CpiConfig, Debug, DebugCpi, RegistryConfig
from testbed.cloud import ROOT

PROGRAM = ROOT / "src/bosh_aws_cpi"
READ = {
    node.attr
    for path in PROGRAM.rglob("*.py")
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Attribute)
}
"""The attributes that the program reads."""
IN_OVERRIDES = Stemcell.rows.keys() - {"copy_from_region", "copy_completion_minutes"}
"""What is read as cloud properties of a stemcell."""
SECTIONS = (AwsConfig, Stemcell, CpiConfig, RegistryConfig, Debug, DebugCpi)
FIELDS = [(kind, name) for kind in SECTIONS for name in kind._fields if name not in IN_OVERRIDES]


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=lambda each: getattr(each, "__name__", each))
def test_field_is_used(kind: type, name: str) -> None:
    """Some code reads each key."""
    is_read = name in READ
    assert is_read, f"no module of src/bosh_aws_cpi uses {name} of {kind.__name__}"
