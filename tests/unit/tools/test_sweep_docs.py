"""docs/sweep.md against the code."""

import re

import pytest

from bosh_aws_cpi.aws.images import AMI_TAG
from bosh_aws_cpi.aws.inventory import Kind
from bosh_aws_cpi.aws.subnets import DELETE_FAILED_TAG
from bosh_aws_cpi.plan import tag_plan
from bosh_aws_cpi.tag_names import DISK_METADATA, VM_METADATA
from bosh_aws_cpi.tools import sweep
from bosh_aws_cpi.tools.strays import SEEN_TAG, Removal, Stray, StrayOutcome
from testbed.cloud import ROOT
from tests.unit.tools.sweep_things import hours_ago, report, thing

PAGE = (ROOT / "docs/sweep.md").read_text()


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """The page's first block has all options, and no others."""
    with pytest.raises(SystemExit):
        sweep.main(["--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out.partition("\n\n")[0]))
    (usage,) = re.findall(r"^cpi sweep CONFIG_PATH .+$", PAGE, re.MULTILINE)
    assert set(re.findall(r"--[a-z-]+", usage)) == known


def test_document() -> None:
    """The page names all keys of the JSON document."""
    stray = Stray(thing("volume"), "why", Removal.DELETE, hours_ago(1))
    document = report(stray).document()
    documented = set(re.findall(r"`(\w+)`", PAGE.partition("`--json` writes")[2].partition("## ")[0]))
    assert documented == document.keys() | document["strays"][0].keys()


def test_tags() -> None:
    """The page names all tags that the command reads, and no others."""
    known = {
        *(
            tag_plan.DIRECTOR_TAG,
            tag_plan.AGENT_TAG,
            tag_plan.CALL_TAG,
            tag_plan.STEMCELL_TAG,
            tag_plan.SOURCE_TAG,
        ),
        *(tag_plan.NETWORK_TAG, tag_plan.SPREAD_TAG),
        *(AMI_TAG, DELETE_FAILED_TAG, SEEN_TAG, tag_plan.REPLACES_TAG, tag_plan.REPLACED_BY_TAG),
    }
    assert set(re.findall(r"\bbosh_(?!aws_cpi)\w+", PAGE)) == known


def test_metadata() -> None:
    """The page names the tags by which a disk or a VM counts as known."""
    documented = PAGE.partition("with one of these tags:")[2].partition("\n\n")[0]
    of_disks, of_vms = (set(re.findall(r"`([a-z_]+)`", part)) for part in documented.split(";"))
    assert of_disks == DISK_METADATA
    assert of_vms == VM_METADATA


def test_example() -> None:
    """The example is what the command prints."""
    rows = [
        Stray(
            thing("snapshot", "completed", size_gib=3, resource_id="snap-6e35251a3d245d3a7"),
            "of a stemcell that has no AMI",
            Removal.DELETE,
            hours_ago(74.4),
            StrayOutcome.REMOVED,
        ),
        Stray(
            thing("volume", size_gib=3, type="gp3", resource_id="vol-3c1fb34cdbbc1fe4c"),
            "a disk without the Director's tags: first look in bosh disks --orphaned and bosh instances "
            "--details",
            Removal.DISK,
            hours_ago(74.4),
            StrayOutcome.LEFT_DISK,
        ),
        Stray(
            thing("interface", hours=None, resource_id="eni-7b5c2ed4b444afd65"),
            "of a VM that is gone",
            Removal.DELETE,
            hours_ago(30.2),
            StrayOutcome.REMOVED,
        ),
        Stray(
            thing("interface", hours=None, resource_id="eni-f3b0ed6ce4c08682a"),
            "of a VM that is gone",
            Removal.DELETE,
            None,
            StrayOutcome.MARKED,
        ),
        Stray(
            thing("instance", "stopped", type="t3.micro", resource_id="i-07a6d2395e9eab1f4"),
            "perhaps of an interrupted create_vm",
            Removal.INSTANCE,
            hours_ago(74.4),
            StrayOutcome.LEFT_INSTANCE,
        ),
    ]
    counts: dict[Kind, int] = {"snapshot": 1, "volume": 4, "interface": 3, "instance": 2}
    there = [thing(kind) for kind, count in counts.items() for _ in range(count)]
    text = "\n".join(report(*rows, there=there, region="us-east-1").lines())
    assert f"```\n{text}\n```" in PAGE, text
