"""docs/errors.md against the code, and the waits that docs/retries.md lists."""

import re
from collections.abc import Iterator
from pathlib import Path

from bosh_aws_cpi import errors
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.timing import Policy
from bosh_aws_cpi.errors import BoshError
from tests.listing import check_listed

ROOT = Path(__file__).parents[2]
ERRORS = (ROOT / "docs/errors.md").read_text()
TYPES = "type | type in the response | when"
"""The header of the table of types."""
SOURCE = "\n".join(path.read_text() for path in (ROOT / "src/bosh_aws_cpi").rglob("*.py"))
POLICIES = {name: policy for name, policy in vars(timing).items() if isinstance(policy, Policy)}


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


def test_policies_are_used() -> None:
    """Each wait of the table of waits is used somewhere."""
    for name in POLICIES:
        assert len(re.findall(rf"\b{name}\b", SOURCE)) > 1, name
