"""The parts of a tar that describe its members: pure functions over bytes (POSIX pax, GNU tar's manual).

Strict: what two programs could read in two ways is an error, and so is each size that no disk has.
"""

import re
from collections.abc import Sequence
from typing import Final

from bosh_aws_cpi.cpi.stemcells.unusable import Unusable, damaged
from bosh_aws_cpi.records import Record

RECORD: Final = 512
"""A header's length; contents are padded to a multiple of it."""
MAX_SEGMENTS: Final = 1 << 18
"""The maximum number of segments of data between the holes of one image."""
MAX_SIZE: Final = 64 << 40
"""Bytes of the largest EBS volume (EBS user guide, "EBS volume constraints")."""
_BASE_256: Final = 0x80
_NEGATIVE: Final = 0x40
"""The flags in a number's first byte (GNU tar's manual, "GNU Extensions to the Archive Format")."""
_OCTAL: Final = re.compile(rb" *([0-7]*)[ \0]*")
_DECIMAL: Final = re.compile(rb"[0-9]{1,20}")
_ATTRIBUTE: Final = re.compile(rb"([0-9]{1,8}) ([^=]+)=")
_FIELD: Final = 12
"""Bytes of a number in a sparse map."""
_IN_HEADER: Final = 4
_IN_EXTENSION: Final = 21
"""The number of segments in a header, and in an extension (GNU tar's manual, "Basic Tar Format")."""
_GNU: Final = b"ustar  \0"
"""The magic and version of GNU tar's own format (GNU tar manual, "Basic Tar Format")."""

Segment = tuple[int, int]
"""Offset and length of data in an image with holes, in bytes."""


class Header(Record):
    """A member's header."""

    name: bytes
    kind: bytes
    """The type's letter."""
    size: int
    block: bytes
    """All of it."""


def header(block: bytes) -> Header | None:
    """Parse a header.

    Args:
        block: 512 bytes.

    Returns:
        The header, or None at the end of the tar, which is a block of zeros.

    Raises:
        Unusable: The checksum or the size is wrong.
    """
    if not block.strip(b"\0"):
        return None
    summed = block[:148] + b" " * 8 + block[156:]
    unsigned = sum(summed)
    signed = unsigned - 256 * sum(byte > 127 for byte in summed)  # noqa: PLR2004 - as some old programs add
    stored = _OCTAL.fullmatch(block[148:156])
    if stored is None or int(stored[1] or b"0", 8) not in {unsigned, signed}:
        raise damaged("a tar header has a wrong checksum")
    name = _text(block[:100])
    if block[257:263] == b"ustar\0" and (prefix := _text(block[345:500])):
        name = prefix + b"/" + name
    return Header(name, block[156:157], number(block[124:136]), block)


def number(field: bytes) -> int:
    """Parse a number of a header: octal digits, or GNU's base-256.

    Raises:
        Unusable: It is not a number, or is negative or larger than any disk.
    """
    if field[0] & _BASE_256:
        flag = 0 if field[0] & _NEGATIVE else _BASE_256 << 8 * (len(field) - 1)
        return _checked(int.from_bytes(field, "big", signed=not flag) - flag)
    if match := _OCTAL.fullmatch(field):
        return int(match[1] or b"0", 8)
    raise damaged(f"a tar header has {shown(field)} in place of a size")


def decimal(text: bytes) -> int:
    """Parse a number of an extended header.

    Raises:
        Unusable: It is not a number, or is negative or larger than any disk.
    """
    if not _DECIMAL.fullmatch(text):
        raise damaged(f"an extended tar header has {shown(text)} in place of a size")
    return _checked(int(text))


def attributes(content: bytes) -> list[tuple[bytes, bytes]]:
    """Parse an extended header's content: records of "LENGTH KEY=VALUE" and a line feed.

    Raises:
        Unusable: A record's length is not that of the record.
    """
    found = []
    start = 0
    content = content.rstrip(b"\0")
    while start < len(content):
        match = _ATTRIBUTE.match(content, start)
        end = start + int(match[1]) if match else 0
        if match is None or match.end() >= end or content[end - 1 : end] != b"\n":
            raise damaged("an extended tar header has a record of a wrong length")
        found.append((match[2], content[match.end() : end - 1]))
        start = end
    return found


def sparse_fields(block: bytes) -> tuple[list[Segment], bool]:
    """Parse the segments in a sparse member's header.

    Returns:
        The segments, and whether an extension follows.

    Raises:
        Unusable: A number is wrong, or the header is not GNU tar's: star puts its map elsewhere, and other
            programs then take the map for none.
    """
    if block[257:265] != _GNU:
        raise damaged("a tar header has GNU's type S, but is not in GNU's format")
    return _segments_of(block[386:], _IN_HEADER), bool(block[482])


def real_size(block: bytes) -> int:
    """Parse an image's size with its holes, from a sparse member's header."""
    return number(block[483:495])


def extension_fields(block: bytes) -> tuple[list[Segment], bool]:
    """Parse the segments in an extension; like `sparse_fields`."""
    return _segments_of(block, _IN_EXTENSION), bool(block[504])


def count_of_segments(text: bytes) -> int:
    """Parse the number in front of a sparse map.

    Raises:
        Unusable: It is not a number, or too large.
    """
    if (count := decimal(text)) > MAX_SEGMENTS:
        raise _too_many()
    return count


def pairs(numbers: Sequence[bytes]) -> list[Segment]:
    """Parse a sparse map that lists offsets and lengths in turn.

    Raises:
        Unusable: One is not a number, the last offset has no length, or they are too many.
    """
    if len(numbers) % 2:
        raise damaged("its sparse map is not complete")
    if len(numbers) > 2 * MAX_SEGMENTS:
        raise _too_many()
    parsed = [decimal(each) for each in numbers]
    return list(zip(parsed[::2], parsed[1::2], strict=True))


def checked_map(segments: Sequence[Segment], size: int, stored: int) -> list[Segment]:
    """Check an image's sparse map.

    Args:
        segments: The map.
        size: The image's size, in bytes.
        stored: The size of the member's data, in bytes.

    Returns:
        The segments that contain data.

    Raises:
        Unusable: They overlap, are not in order, exceed the image, or are not those of the data.
    """
    full = [segment for segment in segments if segment[1]]
    end = 0
    for offset, length in segments:
        if offset < end or offset + length > size:
            raise damaged(f"its sparse map has a wrong segment of {length} bytes at {offset}")
        end = offset + length
    # A program may or may not expect padding behind each segment: only the last one may need it.
    if any(length % RECORD for _, length in full[:-1]) or sum(length for _, length in full) != stored:
        raise damaged("its sparse map does not match its data")
    return full


def shown(field: bytes) -> str:
    """A field's first bytes, for an error."""
    return ascii(field[:20].rstrip(b"\0 ").decode("latin-1"))


def _segments_of(block: bytes, most: int) -> list[Segment]:
    found = []
    for start in range(0, 2 * _FIELD * most, 2 * _FIELD):
        offset, length = block[start : start + _FIELD], block[start + _FIELD : start + 2 * _FIELD]
        if not length[0]:
            break
        found.append((number(offset), number(length)))
    return found


def _too_many() -> Unusable:
    return damaged(f"its sparse map has more than {MAX_SEGMENTS} segments")


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _checked(size: int) -> int:
    if not 0 <= size <= MAX_SIZE:
        raise damaged(f"a tar header has a size of {size} bytes, which no disk has")
    return size
