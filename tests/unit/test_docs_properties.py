"""docs/cloud-properties.md against the code."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from bosh_aws_cpi import errors
from bosh_aws_cpi.aws.sdk.error_codes import NO_CAPACITY
from bosh_aws_cpi.plan.tags import AGENT_TAG, CALL_TAG, DIRECTOR_TAG, SHUTDOWN_TAG
from tests.listing import check_listed
from tests.unit.property_hashes import HASHES

ROOT = Path(__file__).parents[2]
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


@cache
def templates() -> str:
    """The strings of the source, one a line, with an ellipsis for what is filled in."""
    return "\n".join(_templates())


def _templates() -> Iterator[str]:
    for path in (ROOT / "src/bosh_aws_cpi").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value.replace("%s", "…")


def test_messages() -> None:
    """Each message that the page explains is one of the program's."""
    messages = re.findall(r"^\| (`+)(.+?)\1(?: \(log\))? \|", section("Messages"), flags=re.MULTILINE)
    assert len(messages) > 1
    for _, message in messages:
        begin = message.strip().removesuffix("…")
        assert re.search(re.escape(begin).replace("…", ".+"), templates()), message


ALERTS = re.findall(
    r"^\| (?:ERROR|WARNING|INFO) \| (.+?) \|", (ROOT / "docs/troubleshooting.md").read_text(), re.MULTILINE
)
"""The lines to alert on, as their rows show them."""


@pytest.mark.parametrize("line", [line for row in ALERTS for line in re.findall(r"`(.+?)`", row)])
def test_alerts(line: str) -> None:
    """Each log line to alert on is one that the program logs."""
    kinds = "\n".join(f"{kind}: …" for kind in vars(errors))
    begin = line.removesuffix("…").strip()
    is_found = re.search(re.escape(begin).replace("…", ".+"), templates() + kinds) is not None
    assert is_found, f"no code logs {line!r}"


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
