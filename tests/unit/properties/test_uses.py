"""The use of the cloud properties."""

import re

import pytest

from bosh_aws_cpi.properties.types import SentWhole
from testbed.cloud import ROOT
from tests.unit.property_hashes import HASHES

SENT_WHOLE = {kind.__name__ for kind in HASHES if issubclass(kind, SentWhole)}
ACCEPTED = {
    "Network": {"gateway", "netmask"},
    "StemcellProperties": {
        *("auto_disk_config", "container_format", "disk_format", "hypervisor", "infrastructure"),
        *("os_distro", "os_type"),
    },
}
"""What the Director and stemcells give, and only the agent or another CPI uses."""
NAMES = sorted(
    {
        (kind.__name__, name)
        for kind in HASHES
        for name in set(kind.__annotations__) - ACCEPTED.get(kind.__name__, set())
    }
)
SOURCE = "\n".join(path.read_text() for path in (ROOT / "src/bosh_aws_cpi").rglob("*.py"))
STORIES = "\n".join(
    path.read_text() for folder in ("contract", "stories") for path in (ROOT / "tests" / folder).glob("*.py")
)


@pytest.mark.parametrize(("model", "name"), [pair for pair in NAMES if pair[0] not in SENT_WHOLE])
def test_property_is_used(model: str, name: str) -> None:
    """Some code reads each property."""
    is_found = re.search(rf"\.{name}\b|\"{name}\"", SOURCE) is not None
    assert is_found, (
        f"no module of src/bosh_aws_cpi uses {name} of {model}: use it, or derive {model} from SentWhole if "
        "EC2 gets all of it"
    )


@pytest.mark.parametrize(("model", "name"), NAMES)
def test_property_has_a_story(model: str, name: str) -> None:
    """Each property is in a story."""
    is_found = re.search(rf"\b{name}\b", STORIES) is not None
    assert is_found, f"no file in tests/stories or tests/contract has {name} of {model}"
