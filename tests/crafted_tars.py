"""Hostile image tarballs, written header by header, because no library writes them."""

import gzip
import zlib
from typing import Final

RECORD: Final = 512
"""Bytes of a tar's header, and of what all contents are padded to."""
MIB: Final = 1 << 20
ROOT: Final = b"root.img"
DATA: Final = b"boot" * 128
"""Content of a small image: one record."""
END: Final = bytes(2 * RECORD)
"""The end of a tar."""


def field(number: int) -> bytes:
    """Return a number as GNU tar writes it: in octal digits or base-256."""
    if 0 <= number < 1 << 33:
        return b"%011o\0" % number
    return bytes([0xFF if number < 0 else 0x80]) + number.to_bytes(11, "big", signed=number < 0)


def header(
    name: bytes,
    size: bytes | int = 0,
    kind: bytes = b"0",
    *,
    tail: bytes = b"",
    magic: bytes = b"ustar\x0000",
) -> bytes:
    """Return a header whose checksum is right.

    Args:
        name: At most 100 bytes.
        size: A number, or the field's 12 bytes.
        kind: The type's letter.
        tail: What follows the field of the magic.
        magic: The 8 bytes that say which kind of tar it is.
    """
    start = name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2
    middle = kind + b"target".ljust(100, b"\0") + magic + tail
    said = field(size) if isinstance(size, int) else size
    whole = (start + said + field(0) + b" " * 8 + middle).ljust(RECORD, b"\0")
    return whole[:148] + b"%06o\0 " % sum(whole) + whole[156:]


def padded(content: bytes) -> bytes:
    """Return a content as a tar has it."""
    return content + bytes(-len(content) % RECORD)


def member(name: bytes = ROOT, content: bytes = DATA, kind: bytes = b"0") -> bytes:
    """Return a correct member."""
    return header(name, len(content), kind) + padded(content)


IMAGE: Final = member() + END
"""A tar that does not lie."""


def attributes(*records: tuple[bytes, bytes]) -> bytes:
    """Return the extended header of a PAX tar."""
    return member(b"PaxHeaders/root.img", b"".join(map(attribute, records)), b"x")


def attribute(record: tuple[bytes, bytes]) -> bytes:
    """Return one record of an extended header, with its own length in front."""
    body = b" " + record[0] + b"=" + record[1] + b"\n"
    length = len(body) + 1
    while len(b"%d" % length) + len(body) != length:
        length += 1
    return b"%d" % length + body


def sparse(
    segments: list[tuple[int, int]], real: int, size: int, *, more: bool = False, name: bytes = ROOT
) -> bytes:
    """Return the header of an image with holes, as GNU tar writes it.

    Args:
        segments: At most four offsets and lengths of data.
        real: The image's size, holes included.
        size: The size of its data.
        more: Whether it says that an extension with more segments follows.
        name: The member's name.
    """
    listed = fields(segments)
    # Before it: device numbers, times; behind it: whether there are extensions, and the real size.
    tail = bytes(2 * 32 + 2 * 8 + 41) + listed.ljust(96, b"\0") + bytes([more]) + field(real)
    return header(name, size, b"S", tail=tail, magic=b"ustar  \0")


def fields(segments: list[tuple[int, int]]) -> bytes:
    """Return the offsets and lengths of a sparse map."""
    return b"".join(field(offset) + field(length) for offset, length in segments)


def extension(segments: list[tuple[int, int]], *, more: bool) -> bytes:
    """Return an extension: at most 21 more segments."""
    return (fields(segments).ljust(504, b"\0") + bytes([more])).ljust(RECORD, b"\0")


def packed(tar: bytes) -> bytes:
    """Return it as gzip packs it."""
    return gzip.compress(tar, 1)


def bomb(start: bytes, pattern: bytes, mib: int) -> bytes:
    """Return a gzip'd stream that unpacks to far more than it takes on disk; it ends without a checksum.

    Args:
        start: What it begins with.
        pattern: What follows it, again and again; a MiB is a multiple of its length.
        mib: How often, in MiB.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    first = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    # A full flush forgets what was before, so the same bytes can be repeated.
    again = packer.compress(pattern * (MIB // len(pattern))) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + first + again * mib
