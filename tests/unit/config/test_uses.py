"""The use of the configuration's keys."""

from __future__ import annotations

import ast

import pytest

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.cpi_config import CpiConfig, RegistryConfig
from testbed.cloud import ROOT

PROGRAM = ROOT / "src/bosh_aws_cpi"
PARSERS = {"aws_config.py", "cpi_config.py"}
READ = {
    node.attr
    for path in PROGRAM.rglob("*.py")
    if path.name not in PARSERS
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Attribute)
}
"""The attributes that the program reads: a key's name in a text, such as its own row's, is no use."""
FIELDS = [(kind, name) for kind in (AwsConfig, CpiConfig, RegistryConfig) for name in kind.__annotations__]


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=lambda each: getattr(each, "__name__", each))
def test_field_is_used(kind: type, name: str) -> None:
    """Some code reads each field."""
    assert name in READ, f"no code uses {name} of {kind.__name__}"
