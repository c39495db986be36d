"""docs/errors.md and docs/retries.md against the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi import errors
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.timing import Policy
from bosh_aws_cpi.errors import BoshError
from bosh_aws_cpi.rpc.methods import METHODS
from tests.listing import IMPLEMENTED, check_listed
from tests.unit.code_paths import reachable

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
ERRORS = (ROOT / "docs/errors.md").read_text()
RETRIES = (ROOT / "docs/retries.md").read_text()
TYPES = "type | type in the response | when"
"""The header of the table of types."""
SOURCE = "\n".join(path.read_text() for path in (ROOT / "src/bosh_aws_cpi").rglob("*.py"))
POLICIES = {name: policy for name, policy in vars(timing).items() if isinstance(policy, Policy)}
WINDOWS = {name or "NEW_SEEN" for name in re.findall(r"\bVisibilityWindow\((?:timing\.)?([A-Z_]*)\)", SOURCE)}
"""How long something may stay unseen within the wait for it."""
UNCOUNTED = {*WINDOWS, "THROTTLED_CALL", "ANSWERED", "AT_ONCE"}
"""Policies that are no wait of their own, or none."""
REPLACED = {"delete_stemcell": {"VISIBLE"}, "update_disk": {"VOLUME_RELEASED"}}
"""The default of a function that discards, where a method has none but calls with another one."""


def table(page: str, heading: str) -> Iterator[list[str]]:
    """The rows of each table of a page that has this header, as their cells."""
    for block in re.findall(
        rf"^\| {re.escape(heading)} \|\n\| [-| ]+ \|\n((?:\|.*\|\n)+)", page, re.MULTILINE
    ):
        for line in block.splitlines():
            yield [cell.strip() for cell in line.strip("|").split(" |")]


def test_types() -> None:
    """The page lists every type of error, and what it is called on the wire."""
    kinds = {
        name: kind.wire_type
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, BoshError) and kind is not BoshError
    }
    listed = {
        name: wire_type.strip("`")
        for names, wire_type, _ in table(ERRORS, TYPES)
        for name in re.findall(r"`(\w+)`", names)
    }
    check_listed(listed, kinds, f"missing in docs/errors.md, {TYPES}", "no type of errors.py")
    for name, wire_type in listed.items():
        assert re.fullmatch(re.escape(wire_type).replace("…", ".+"), kinds[name]), name


def test_types_are_raised() -> None:
    """The program raises each of them but a base class."""
    every = {name for row in table(ERRORS, TYPES) for name in re.findall(r"`(\w+)`", row[0])}
    raised = {
        name for name in every if re.search(rf"\b{name}\(|, {name}\)", SOURCE.replace(f"class {name}(", ""))
    }
    assert every - raised == {"CpiError"}


def test_sights() -> None:
    """The page says which of them are part of another wait."""
    within = [name for name, policy in POLICIES.items() if "within another wait" in policy.awaited]
    check_listed(within, WINDOWS, "no part of another wait in timing.py", "no VisibilityWindow has it")


def test_policies_are_used() -> None:
    """Each of them is used somewhere."""
    for name in POLICIES:
        assert len(re.findall(rf"\b{name}\b", SOURCE)) > 1, name


METHOD_ROWS = list(table(RETRIES, "method | waits | seconds"))
STEP_ROWS = list(table(RETRIES, "step of create_vm | waits | seconds"))
REMOVAL_ROWS = list(table(RETRIES, "resource deleted after a failure | by | waits | seconds"))


def waits(cell: str) -> Iterator[tuple[int, str]]:
    """Each wait of a row, and how often it is passed through."""
    for part in cell.split(" + "):
        match = re.fullmatch(r"(?:(\d+) x )?`([A-Z_]+)`", part)
        assert match, part
        yield int(match[1] or 1), match[2]


@pytest.mark.parametrize("row", [*METHOD_ROWS, *STEP_ROWS, *REMOVAL_ROWS], ids=lambda row: row[0])
def test_sums(row: list[str]) -> None:
    """The time of each row is that of its waits together."""
    *_, listed, seconds = row
    assert sum(count * POLICIES[name].seconds for count, name in waits(listed)) == float(seconds)


def named(cell: str) -> str:
    """The method that a row is about."""
    return cell.split("`")[1]


def test_methods() -> None:
    """The rows are of methods; all others are said not to wait, which `test_waits` checks."""
    assert {named(row[0]) for row in METHOD_ROWS} <= IMPLEMENTED
    assert "All other methods don't wait." in RETRIES


@pytest.mark.parametrize(("method", "target"), [(name, METHODS[name].target) for name in sorted(IMPLEMENTED)])
def test_waits(method: str, target: str) -> None:
    """The rows of a method, and of what it removes, have just the waits that its code can get to."""
    found = reachable("bosh_aws_cpi.cpi." + target.replace(":", "."))
    reached = {name for name in POLICIES if f"{timing.__name__}.{name}" in found}
    rows = [row[1] for row in METHOD_ROWS if named(row[0]) == method]
    rows += [row[2] for row in REMOVAL_ROWS if named(row[1]) == method]
    listed = {name for row in rows for _, name in waits(row)}
    expected = reached - UNCOUNTED - REPLACED.get(method, set())
    assert listed - UNCOUNTED == expected, f"docs/retries.md: waits of {method}"


def test_steps() -> None:
    """What is said of create_vm as a whole is made of its steps."""
    steps = {name for row in STEP_ROWS for _, name in waits(row[1])}
    whole = {name for row in METHOD_ROWS if named(row[0]) == "create_vm" for _, name in waits(row[1])}
    assert whole == steps
