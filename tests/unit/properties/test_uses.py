"""The use of the cloud properties."""

import re

from bosh_aws_cpi.properties.types import SentWhole
from bosh_aws_cpi.properties.vm import OTHER_SPELLINGS
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
USED = {name for pair in re.findall(r"\.(\w+)|\"(\w+)\"", SOURCE) for name in pair}
STORIES = "\n".join(
    path.read_text() for folder in ("contract", "stories") for path in (ROOT / "tests" / folder).glob("*.py")
)
GIVEN = {name for pair in re.findall(r'"(\w+)":|\b(\w+)=', STORIES) for name in pair}
GIVEN |= {name for spelling, name in OTHER_SPELLINGS.items() if spelling in GIVEN}


def test_property_is_used() -> None:
    """Some code reads each property: use it, or derive its model from SentWhole if EC2 gets all of it."""
    unused = [f"{model}.{name}" for model, name in NAMES if model not in SENT_WHOLE and name not in USED]
    assert unused == [], "no module of src/bosh_aws_cpi uses these properties"


def test_property_has_a_story() -> None:
    """A story gives each property a value; the story itself must show the effect."""
    untold = [f"{model}.{name}" for model, name in NAMES if name not in GIVEN]
    assert untold == [], "no file in tests/stories or tests/contract gives these properties a value"
