"""docs/sweep.md against the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bosh_aws_cpi.aws.images import AMI_TAG
from bosh_aws_cpi.plan import tags
from bosh_aws_cpi.tools import strays, sweep
from bosh_aws_cpi.tools.strays import Action, Removal, Stray, Wish
from bosh_aws_cpi.tools.sweep_report import Report, Row
from tests.unit.tools.sweep_things import DIRECTOR, NOW, hours_ago, thing

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/sweep.md").read_text()
POLICY = json.loads((ROOT / "docs/iam-policy.json").read_text())["Statement"]


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """The page's first block has all options, and no other."""
    with pytest.raises(SystemExit):
        sweep.main(["--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out.partition("\n\n")[0]))
    (usage,) = re.findall(r"^cpi sweep CONFIG_PATH .+$", PAGE, re.MULTILINE)
    assert set(re.findall(r"--[a-z-]+", usage)) == known


def test_outcomes() -> None:
    """The table of outcomes has all that there are."""
    table = PAGE.partition("## Outcomes")[2].partition("\n\nThe status")[0]
    said = {name for line in table.splitlines() for name in re.findall(r"`([^`]+)`", line.split("|")[:2][-1])}
    assert said == {*(action.value for action in Action), "gone", "spared", "failed: …"}


def test_document() -> None:
    """All keys of the JSON document are told."""
    stray = Stray(thing("volume"), "why", Removal.DELETE, hours_ago(1))
    document = Report(DIRECTOR, Wish(), NOW, [Row(stray, "stray")]).document()
    told = set(re.findall(r"`(\w+)`", PAGE.partition("`--json` writes")[2].partition("## ")[0]))
    assert told == document.keys() | document["strays"][0].keys()


def test_tags() -> None:
    """All tags that are told are those that the code knows."""
    known = {
        *(tags.DIRECTOR_TAG, tags.AGENT_TAG, tags.CALL_TAG, tags.STEMCELL_TAG, tags.SOURCE_TAG),
        *(AMI_TAG, strays.SEEN_TAG),
    }
    assert set(re.findall(r"\bbosh_(?!aws_cpi)\w+", PAGE)) == known


def test_permissions() -> None:
    """The policy allows all that is asked for."""
    allowed = {action for statement in POLICY for action in statement["Action"]}
    asked = set(re.findall(r"ec2:\w+", PAGE))
    assert len(asked) == 10
    assert asked <= allowed
