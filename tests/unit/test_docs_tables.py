"""docs/errors.md against the code."""

import re
from collections.abc import Iterator

from bosh_aws_cpi import errors
from bosh_aws_cpi.errors import BoshError
from testbed.cloud import ROOT
from tests.listing import check_listed

ERRORS = (ROOT / "docs/errors.md").read_text()
TYPES = "type | type in the response | when"
"""The header of the table of types."""


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
