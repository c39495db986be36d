"""Reads the table of AWS's error codes: their kinds and remedies, and the sets that `errors` names.

A code without a row of its own is treated like its family, which is a row with a pattern.
"""

import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path

from bosh_aws_cpi.records import Record


class Kind(Enum):
    """The kinds of errors that the caller can distinguish; the values are titles in docs/errors.md."""

    VM_GONE = "the instance does not exist"
    DISK_GONE = "the volume does not exist"
    MISSING = "another resource that the call names does not exist"
    BUSY = "AWS is short of capacity, throttles or is at fault: a retry may succeed"
    DENIED = "the account or its policy does not allow the call"
    QUOTA = "a limit of the account is reached"
    INVALID = "AWS can't do what the call asks for"
    STATE = "the resource is in the wrong state"


class Row(Record):
    """What the table says of a code, or of a pattern of codes.

    Attributes:
        kind: None for a code that calls act upon themselves.
        remedy: What operators can do.
        sets: The names of the sets that contain the code.
        words: A pattern that AWS's message must contain; "" for all messages.
        action: The only action that the row is about; "" for all.
        is_exact: Whether it is a code, and not a pattern.
    """

    code: str
    kind: Kind | None
    remedy: str
    sets: frozenset[str]
    words: str
    action: str
    is_exact: bool

    @property
    def is_plain(self) -> bool:
        """Whether it is a code, whatever AWS's message says."""
        return self.is_exact and not self.words

    def covers(self, code: str, message: str, action: str) -> bool:
        """Whether the row is about an error."""
        if self.action not in {"", action}:
            return False
        has_form = self.code == code if self.is_exact else re.fullmatch(self.code, code)
        return bool(has_form and re.search(self.words, message, re.IGNORECASE))


@cache
def table() -> tuple[Row, ...]:
    """The rows, in their order; read on demand, because only errors need them."""
    read: list[Row] = []
    kind = remedy = ""
    for line in Path(__file__).with_name("error_codes.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif not line.startswith(" "):
            remedy = line
        elif not line.lstrip().startswith("#"):
            read += _rows(line, Kind[kind] if kind else None, remedy)
    return tuple(read)


def _rows(line: str, kind: Kind | None, remedy: str) -> Iterator[Row]:
    """Read a line of the table that has codes."""
    words = match[1] if (match := re.search(r" /(.+)/", line)) else ""
    names = line.replace(f" /{words}/", "").split()
    action = names.pop(0)[:-1] if names[0].endswith(":") else ""
    sets = frozenset(filter(str.isupper, names))
    for name in names:
        if name not in sets:
            yield Row(name, kind, remedy, sets, words, action, re.fullmatch(r"[\w.]+", name) is not None)


def _rows_for(code: str, message: str, action: str) -> list[Row]:
    """The rows for an error: of its action, its message, its code, its family."""
    found = [each for each in table() if each.covers(code, message, action)]
    return sorted(found, key=lambda each: (not each.action, not each.words, not each.is_exact))


def row_of(code: str, message: str = "", action: str = "") -> Row | None:
    """The row for a code with its action or message, else for the code or its family; None without any."""
    return next((each for each in _rows_for(code, message, action) if each.kind), None)


def sets_of(code: str, message: str) -> frozenset[str]:
    """The names of the sets that contain an error; those of its family count if the code is not known."""
    found = _rows_for(code, message, "")
    known = [each for each in found if each.is_exact]
    return frozenset(name for each in known or found for name in each.sets)
