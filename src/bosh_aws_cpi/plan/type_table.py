"""The built-in table of EC2's instance types: a data file that scripts/instance_types writes and prints.

EC2 no longer describes retired types, nor all that it rarely offers, so the newest moto, from which the file
is generated, lacks them; they are in `UNLISTED_TYPES`. Older releases of moto contain EC2's descriptions of
that time. For the types that EC2 still describes, those releases agree with EC2, so they are trusted. "The
guide" is AWS's "Amazon EC2 instance types" guide.
"""

import json
import zlib
from collections.abc import Mapping
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


def facts(name: str) -> Row | None:
    """Return the facts about a type; None if the table lacks the type."""
    for row in _rows(name):
        # A part of a name has been found, too, as has "m5.large m5a.large".
        if name in row[_NAMES].split():
            return tuple(row[_ARCHITECTURES:_VCPUS])
    unlisted = UNLISTED_TYPES.get(name)
    return unlisted and (*unlisted, 1)


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


# The rows have the form of the generated table, without EBS cards. An unknown architecture is "", an unknown
# number of volumes is 0. No source describes cc1.4xlarge, m9g.metal-24xl, m9gd.metal-24xl and
# u7ib-12tb.224xlarge.
UNLISTED_TYPES: Final[Mapping[str, tuple[str, bool, str, bool, int, int, bool, int]]] = {
    # moto 5.2.3 was the last to have them.
    "g4ad.16xlarge": ("x86_64", True, "default", False, 2, 1200, True, 21),
    "g4ad.2xlarge": ("x86_64", True, "default", False, 1, 300, True, 25),
    "g4ad.4xlarge": ("x86_64", True, "default", False, 1, 600, True, 25),
    "g4ad.8xlarge": ("x86_64", True, "default", False, 1, 1200, True, 24),
    "g4ad.xlarge": ("x86_64", True, "default", False, 1, 150, True, 25),
    # moto 5.2.2.
    "dl1.24xlarge": ("x86_64", True, "default", False, 4, 1000, True, 28),
    # moto 5.1.22.
    "f1.16xlarge": ("x86_64", False, "default", False, 4, 940, True, 19),
    "f1.2xlarge": ("x86_64", False, "default", False, 1, 470, True, 26),
    "f1.4xlarge": ("x86_64", False, "default", False, 1, 940, True, 25),
    "p3.16xlarge": ("x86_64", False, "default", False, 0, 0, False, 19),
    "p3.2xlarge": ("x86_64", False, "default", False, 0, 0, False, 26),
    "p3.8xlarge": ("x86_64", False, "default", False, 0, 0, False, 23),
    # moto 5.1.8; number of volumes: the guide's so.md.
    "i3.metal": ("x86_64", True, "default", False, 8, 1900, True, 31),
    # moto 5.1.6; number of volumes: the guide's mo.md.
    "u-12tb1.112xlarge": ("x86_64", True, "default", False, 0, 0, False, 27),
    "u-18tb1.112xlarge": ("x86_64", True, "default", False, 0, 0, False, 27),
    "u-24tb1.112xlarge": ("x86_64", True, "default", False, 0, 0, False, 27),
    "u-9tb1.112xlarge": ("x86_64", True, "default", False, 0, 0, False, 27),
    # moto 5.1.1.
    "p2.16xlarge": ("x86_64", False, "default", False, 0, 0, False, 0),
    "p2.8xlarge": ("x86_64", False, "default", False, 0, 0, False, 0),
    "p2.xlarge": ("x86_64", False, "default", False, 0, 0, False, 0),
    # moto 5.0.20; number of volumes: the guide's pg.md.
    "g3.16xlarge": ("x86_64", False, "default", False, 0, 0, False, 23),
    "g3.4xlarge": ("x86_64", False, "default", False, 0, 0, False, 26),
    "g3.8xlarge": ("x86_64", False, "default", False, 0, 0, False, 25),
    "g3s.xlarge": ("x86_64", False, "default", False, 0, 0, False, 0),
    # moto 4.2.5.
    "g2.2xlarge": ("x86_64", False, "supported", False, 1, 60, False, 0),
    "g2.8xlarge": ("x86_64", False, "unsupported", False, 2, 120, False, 0),
    # moto 4.1.4.
    "cc2.8xlarge": ("x86_64", False, "unsupported", False, 4, 840, False, 0),
    # The guide's mo.md, and "EBS-optimized instances" of the EC2 user guide (2023).
    "u-12tb1.metal": ("x86_64", True, "default", False, 0, 0, False, 19),
    "u-18tb1.metal": ("x86_64", True, "default", False, 0, 0, False, 19),
    "u-24tb1.metal": ("x86_64", True, "default", False, 0, 0, False, 19),
    "u-6tb1.metal": ("x86_64", True, "default", False, 0, 0, False, 19),
    "u-9tb1.metal": ("x86_64", True, "default", False, 0, 0, False, 19),
    # The guide's mo.md and ac.md: offered to few accounts. Like all types with NVMe volumes, EBS-optimised.
    "p6e-gb200.36xlarge": ("arm64", True, "default", False, 3, 7500, True, 64),
    "u7inh-32tb.480xlarge": ("x86_64", True, "default", False, 0, 0, False, 128),
    # "Instance store volumes" and "EBS-optimized instances" of the EC2 user guide (2018).
    "cr1.8xlarge": ("x86_64", False, "unsupported", False, 2, 120, False, 0),
    # The Ruby CPI's own table of instance stores; nothing else is known for certain about these types.
    "cg1.4xlarge": ("", False, "default", False, 2, 840, False, 0),
    "hi1.4xlarge": ("", False, "default", False, 2, 1024, False, 0),
    "hs1.8xlarge": ("", False, "default", False, 24, 2000, False, 0),
}
