"""The use of the configuration's keys."""

from __future__ import annotations

import re

import pytest

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.cpi_config import CpiConfig, RegistryConfig
from testbed.cloud import ROOT

PROGRAM = ROOT / "src/bosh_aws_cpi"
PARSERS = {"aws_config.py", "cpi_config.py"}
SOURCE = "\n".join(path.read_text() for path in PROGRAM.rglob("*.py") if path.name not in PARSERS)
FIELDS = [(kind, name) for kind in (AwsConfig, CpiConfig, RegistryConfig) for name in kind.__annotations__]


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=lambda each: getattr(each, "__name__", each))
def test_field_is_used(kind: type, name: str) -> None:
    """Some code reads each field."""
    is_found = re.search(rf"\.{name}\b", SOURCE) is not None
    assert is_found, f"no code uses {name} of {kind.__name__}"
