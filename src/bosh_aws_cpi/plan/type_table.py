"""The built-in table of EC2's instance types: a data file that scripts/instance_types writes and prints."""

import json
import zlib
from functools import cache
from typing import Final, Literal

FILE: Final = f"{__file__.rpartition('/')[0]}/instance_types.jsonl.gz"
_GZIP: Final = 31
"""What zlib calls a gzip file with the largest window. The module gzip costs more to load than the table."""

Row = tuple[str, bool, Literal["default", "supported", "unsupported"], bool, int, int, bool, int]
"""A type's architectures; whether a guest sees EBS volumes under NVMe names; whether EBS optimisation is on
by default, on request or never; whether it is burstable; the number of instance-store disks, the size of the
first in GiB, and whether they are NVMe; the maximum number of EBS volumes."""


@cache
def _lines() -> list[str]:
    """The lines with types: each is a list of names, the columns of `Row`, vCPUs, and memory in MiB."""
    with open(FILE, "rb") as file:  # noqa: PTH123 - the program loads no pathlib for one file
        return zlib.decompress(file.read(), _GZIP).decode().splitlines()[1:]


def names() -> list[str]:
    """The types that the table has."""
    return [name for line in _lines() for name in json.loads(line)[0].split()]


def facts(name: str) -> Row | None:
    """The facts about a type; None for one that the table lacks."""
    for line in _lines():
        # Only the line with the name is read: all of them would take twice as long as the file.
        if name in line and name in (row := json.loads(line))[0].split():
            return tuple(row[1:9])
    return None


def sizes(family: str) -> list[tuple[str, int, int, str]]:
    """A family's types that can be chosen by size: name, vCPUs, memory in MiB, architecture of 64 bits.

    Types of bare metal, and of previous generations (those on Xen, except T2), can't.
    """
    prefix = f"{family}."
    rows = [json.loads(line) for line in _lines() if prefix in line]
    return [
        (name, row[9], row[10], row[1].removeprefix("i386 "))
        for row in rows
        for name in row[0].split()
        if name.startswith(prefix) and row[9]
    ]
