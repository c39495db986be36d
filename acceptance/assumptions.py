"""Reads the assumptions from the tables of docs/aws-assumptions.md, the only place where they are written."""

import re
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "aws-assumptions.md"
TRIED = "Tried by make aws-check"
"""The section of the assumptions that have a trial."""
_COLUMNS = ["id", "assumption", "source"]
_ID = re.compile(r"`([a-z0-9-]+)`")


@dataclass(frozen=True)
class Assumption:
    """One row.

    Attributes:
        name: Its id.
        text: The assumption about AWS, in a sentence or two.
        source: The document or observation that it is based on; "guess" if there is none.
        section: The page's section: what tries it, or why nothing does.
    """

    name: str
    text: str
    source: str
    section: str

    @property
    def is_tried(self) -> bool:
        """Whether `make aws-check` tries it."""
        return self.section == TRIED


def read(path: Path = DOCUMENT) -> dict[str, Assumption]:
    """Read all assumptions, by their ids, in the order of the document.

    Raises:
        ValueError: A row can't be understood, or an id is there twice.
    """
    found: dict[str, Assumption] = {}
    section = ""
    is_ours = False
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            section = line.removeprefix("## ") if line.startswith("## ") else section
            is_ours = False
        elif cells == _COLUMNS:
            is_ours = True
        elif is_ours and not line.startswith("| ---"):
            assumption = _assumption(cells, line, section)
            if assumption.name in found:
                raise ValueError(f"{path.name} has `{assumption.name}` twice")
            found[assumption.name] = assumption
    return found


def _assumption(cells: list[str], line: str, section: str) -> Assumption:
    named = _ID.fullmatch(cells[0])
    if named is None or len(cells) != len(_COLUMNS):
        raise ValueError(f"This is no row of an assumption: {line}")
    _, text, source = cells
    return Assumption(named[1], text, source, section)
