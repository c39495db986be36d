"""docs/cloud-properties.md against the code."""

import re

import yaml

from bosh_aws_cpi.aws.sdk.errors import NO_CAPACITY
from bosh_aws_cpi.plan.tag_plan import AGENT_TAG, CALL_TAG, DIRECTOR_TAG, SHUTDOWN_TAG
from testbed.cloud import ROOT
from tests.listing import check_listed
from tests.unit.property_hashes import HASHES

PAGE = (ROOT / "docs/cloud-properties.md").read_text()


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    parts = re.split(r"^##+ (.+)$", PAGE, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert title in found, f"docs/cloud-properties.md lacks the heading {title!r}"
    return found[title]


def test_hashes() -> None:
    """Every hash of properties that the code reads has its table."""
    # A heavy stemcell has every property of the other kind, too.
    kinds = {kind.__name__ for kind in HASHES} - {"StemcellProperties"}
    marks = re.findall(r"^<!-- generated: (\w+) -->$", PAGE, re.MULTILINE)
    check_listed(
        marks, kinds, "docs/cloud-properties.md lacks a section with this mark", "no hash of properties"
    )


def test_answers_without_room() -> None:
    """The page lists exactly those answers of EC2 after which another instance type is tried."""
    text = section("When EC2 has no room")
    cells = re.findall(r"^\| (`[A-Z].+?) \|", text, flags=re.MULTILINE)
    answers = [name.strip("`") for cell in cells for name in cell.split(", ")]
    page = "docs/cloud-properties.md, When EC2 has no room"
    check_listed(answers, NO_CAPACITY, f"missing in {page}", f"NO_CAPACITY lacks what is in {page}")


def test_tags() -> None:
    """The page names the tags of a VM, by which a stray resource can be traced."""
    own = (DIRECTOR_TAG, AGENT_TAG, CALL_TAG, SHUTDOWN_TAG)
    listed = re.findall(r"`(bosh_\w+)`", section("Tags"))
    check_listed(listed, own, "missing in docs/cloud-properties.md, Tags", "no tag of a VM")


def test_configuration() -> None:
    """Each key of the configuration that the page names is a property of the job."""
    job = yaml.safe_load((ROOT / "jobs/aws_cpi/spec").read_text())
    named = set(re.findall(r"`(aws\.[a-z_]+)`", PAGE))
    assert named
    known = {".".join(name.split(".")[:2]) for name in job["properties"]}
    assert named - known == set(), "docs/cloud-properties.md names keys that jobs/aws_cpi/spec lacks"
