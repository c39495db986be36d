"""The built-in table of EC2's instance types: a data file that scripts/instance_types writes and prints."""

import json
import zlib
from functools import cache
from typing import Any, Final

FILE: Final = f"{__file__.rpartition('/')[0]}/instance_types.jsonl.gz"
_GZIP: Final = 31
"""What zlib calls a gzip file with the largest window. The module gzip costs more to load than the table."""

Row = tuple[str, bool, str, bool, int, int, bool, int]
"""A type's architectures; whether a guest sees EBS volumes under NVMe names; whether EBS optimisation is on
by default, on request or never; whether it is burstable; the number of instance-store disks, the size of the
first in GiB, and whether they are NVMe; the maximum number of EBS volumes."""


@cache
def _text() -> str:
    with open(FILE, "rb") as file:  # noqa: PTH123 - the program loads no pathlib for one file
        return zlib.decompress(file.read(), _GZIP).decode()


def _rows(part: str) -> list[Any]:
    """The rows with a text: names with spaces between them, the columns of `Row`, vCPUs, memory in MiB.

    Only they are parsed: parsing all rows takes twice as long as everything else here.
    """
    if not part.strip():
        return []
    text = _text()
    lines = []
    end = text.index("\n")  # the first line names the source
    while (found := text.find(part, end)) >= 0:
        # One more, so that a text with a line break, of which no type's name consists, ends the search, too.
        begin, end = text.rfind("\n", 0, found + 1), text.find("\n", found + 1)
        lines.append(text[begin:end])
    return json.loads(f"[{','.join(lines)}]")  # type: ignore[no-any-return]


def names() -> list[str]:
    """The types that the table has."""
    return [name for row in _rows("[") for name in row[0].split()]


def facts(name: str) -> Row | None:
    """The facts about a type; None for one that the table lacks."""
    for row in _rows(name):
        # A part of a name has been found, too, as has "m5.large m5a.large".
        if name in row[0].split():
            return tuple(row[1:9])
    return None


def sizes(family: str) -> list[tuple[str, int, int, str]]:
    """A family's types that can be chosen by size: name, vCPUs, memory in MiB, architecture of 64 bits.

    Types of bare metal, and of previous generations (those on Xen, except T2), can't.
    """
    prefix = f"{family}."
    return [
        (name, row[9], row[10], row[1].removeprefix("i386 "))
        for row in _rows(prefix)
        for name in row[0].split()
        if name.startswith(prefix) and row[9]
    ]
