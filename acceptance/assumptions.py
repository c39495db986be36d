"""Reads the assumptions from the tables of docs/aws-assumptions.md, the only place where they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "aws-assumptions.md"
TRIED = "yes"
_COLUMNS = ["id", "assumption", "used in", "source", "sure", "tried"]
_ID = re.compile(r"`([a-z0-9-]+)`")


@dataclass(frozen=True)
class Assumption:
    """One row.

    Attributes:
        name: Its id.
        text: The assumption about AWS, in a sentence or two.
        used_in: Modules that depend on it.
        source: The document or observation that it is based on.
        sure: Its certainty: documented, model, field or guess.
        tried: "yes", or "no" and the reason.
    """

    name: str
    text: str
    used_in: str
    source: str
    sure: str
    tried: str

    @property
    def is_tried(self) -> bool:
        """Whether `make aws-check` tries it."""
        return self.tried == TRIED


def read(path: Path = DOCUMENT) -> dict[str, Assumption]:
    """Read all assumptions, by their ids, in the order of the document.

    Raises:
        ValueError: A row can't be understood, or an id is there twice.
    """
    found: dict[str, Assumption] = {}
    is_ours = False
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            is_ours = False
        elif cells == _COLUMNS:
            is_ours = True
        elif is_ours and not line.startswith("| ---"):
            assumption = _assumption(cells, line)
            if assumption.name in found:
                raise ValueError(f"{path.name} has `{assumption.name}` twice")
            found[assumption.name] = assumption
    return found


def _assumption(cells: list[str], line: str) -> Assumption:
    named = _ID.fullmatch(cells[0])
    if named is None or len(cells) != len(_COLUMNS):
        raise ValueError(f"This is no row of an assumption: {line}")
    return Assumption(named[1], *cells[1:])
