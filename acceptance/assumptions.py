"""Reads the assumptions from the lists of docs/aws-assumptions.md, the only place where they are written."""

import re
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "aws-assumptions.md"
TRIED = "Tried by make aws-check"
"""The section of the assumptions that have a trial."""
_ITEM = re.compile(r"- `(?P<name>[a-z0-9-]+)`: (?P<text>.+) \*(?P<source>[^*]+)\*")


@dataclass(frozen=True)
class Assumption:
    """One item.

    Attributes:
        name: Its id.
        text: The assumption about AWS, in a sentence or two.
        source: The document or observation behind it; "Guess" if there is none.
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
        ValueError: An item can't be understood, or an id is there twice.
    """
    found: dict[str, Assumption] = {}
    section = ""
    for block in re.split(r"\n(?=\n|- )", path.read_text(encoding="utf-8")):
        line = " ".join(block.split())
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("- `"):
            assumption = _assumption(line, section)
            if assumption.name in found:
                raise ValueError(f"{path.name} has `{assumption.name}` twice")
            found[assumption.name] = assumption
    return found


def _assumption(line: str, section: str) -> Assumption:
    match = _ITEM.fullmatch(line)
    if match is None:
        raise ValueError(f"This is no item of an assumption: {line}")
    return Assumption(**match.groupdict(), section=section)
