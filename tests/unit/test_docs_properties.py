"""docs/cloud-properties.md, and the pages that it leads to, against the code."""

import re

import yaml

from bosh_aws_cpi.aws.sdk.errors import NO_CAPACITY
from bosh_aws_cpi.plan.tag_plan import AGENT_TAG, CALL_TAG, DIRECTOR_TAG, SHUTDOWN_TAG
from testbed.cloud import ROOT
from tests.listing import check_listed
from tests.unit.property_hashes import HASHES

PAGE = (ROOT / "docs/cloud-properties.md").read_text()
LINKED = re.findall(r"\]\(([\w-]+\.md)\)", PAGE.partition("```")[0])
PAGES = {name: (ROOT / "docs" / name).read_text() for name in LINKED}
"""The pages that its beginning leads to."""


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
    cells = re.findall(r"^\| (`[A-Z].+?) \|", PAGES["capacity.md"], flags=re.MULTILINE)
    answers = [name.strip("`") for cell in cells for name in cell.split(", ")]
    page = "docs/capacity.md"
    check_listed(answers, NO_CAPACITY, f"missing in {page}", f"NO_CAPACITY lacks what is in {page}")


def test_tags() -> None:
    """The page names the tags of a VM, by which a stray resource can be traced."""
    own = (DIRECTOR_TAG, AGENT_TAG, CALL_TAG, SHUTDOWN_TAG)
    listed = re.findall(r"`(bosh_\w+)`", PAGES["tags.md"])
    check_listed(listed, own, "missing in docs/tags.md", "no tag of a VM")


def test_configuration() -> None:
    """Each key of the configuration that the pages name is a property of the job."""
    job = yaml.safe_load((ROOT / "jobs/aws_cpi/spec").read_text())
    named = set(re.findall(r"`(aws\.[a-z_]+)`", PAGE + "".join(PAGES.values())))
    assert named
    known = {".".join(name.split(".")[:2]) for name in job["properties"]}
    assert named - known == set(), "the pages of cloud properties name keys that jobs/aws_cpi/spec lacks"
