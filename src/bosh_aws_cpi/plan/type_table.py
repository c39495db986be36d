"""The built-in table of EC2's instance types: a data file that scripts/instance_types writes and prints."""

import json
import zlib
from functools import cache
from typing import Any, Final

FILE: Final = f"{__file__.rpartition('/')[0]}/instance_types.jsonl.gz"
_GZIP: Final = 31
"""zlib's number for a gzip file with the largest window: the module gzip costs more to load."""

Row = tuple[str, bool, str, bool, int, int, bool, int, int]
"""A type's architectures; whether a guest sees EBS volumes under NVMe names; whether EBS optimisation is on
by default, on request or never; whether it is burstable; the number of instance-store disks, the size of the
first in GiB, and whether they are NVMe; the maximum number of EBS volumes; the number of EBS cards."""


_NAMES, _ARCHITECTURES, _VCPUS, _MEMORY_MIB = 0, 1, 10, 11
"""The columns beside those of `Row`, and its first."""


@cache
def _text() -> str:
    with open(FILE, "rb") as file:  # noqa: PTH123 - the program loads no pathlib for one file
        return zlib.decompress(file.read(), _GZIP).decode()


def _rows(part: str) -> list[Any]:
    """The rows whose line contains a text: the types' names in one text, the columns of `Row`, vCPUs, MiB.

    Only they are parsed: parsing all rows takes twice as long as everything else here.
    """
    if not part.strip():
        return []
    text = _text()
    lines = []
    end = text.index("\n")  # the first line names the source
    while (start := text.find(part, end)) >= 0:
        # found + 1: a text that begins with a line break would otherwise be found again for ever.
        begin, end = text.rfind("\n", 0, start + 1), text.find("\n", start + 1)
        lines.append(text[begin:end])
    return json.loads(f"[{','.join(lines)}]")  # type: ignore[no-any-return]


def names() -> list[str]:
    """The types that the table has."""
    return [name for row in _rows("[") for name in row[_NAMES].split()]


def row(name: str) -> Row | None:
    """Return the facts about a type; None if the table lacks the type."""
    for found in _rows(name):
        # A part of a name has been found, too, as has "m5.large m5a.large".
        if name in found[_NAMES].split():
            return tuple(found[_ARCHITECTURES:_VCPUS])
    return None


def sizes(family: str) -> list[tuple[str, int, int, str]]:
    """A family's types that can be chosen by size: name, vCPUs, memory in MiB, architecture of 64 bits.

    Types of bare metal, and of previous generations (those on Xen, except T2), can't.
    """
    prefix = f"{family}."
    return [
        (name, row[_VCPUS], row[_MEMORY_MIB], row[_ARCHITECTURES].removeprefix("i386 "))
        for row in _rows(prefix)
        for name in row[_NAMES].split()
        if name.startswith(prefix) and row[_VCPUS]
    ]
