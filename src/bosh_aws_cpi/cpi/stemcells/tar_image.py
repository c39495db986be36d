"""Finds ``root.img`` in a tar that is read as a stream, with bounded memory and bounded work.

Not with ``tarfile``, which trusts the headers: docs/decisions/image-tarballs.md. Strict: what two programs
could read in two ways is an error, and so is each size that no disk has (POSIX pax, GNU tar's manual).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bosh_aws_cpi.cpi.stemcells.gzip_stream import GzipStream, Unusable, damaged
from bosh_aws_cpi.records import Record

NAME: Final = "root.img"
RECORD: Final = 512
"""A header's length; contents are padded to a multiple of it."""
MAX_OTHER_MIB: Final = 256
"""The maximum size of all that is not root.img's data: a stemcell's image contains nothing else."""
MAX_HEADERS_MIB: Final = 4
"""The maximum size of all headers and sparse maps, which are kept in memory: about 170,000 segments."""
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
"""Bytes of a number in GNU's sparse map."""
_GNU: Final = b"ustar  \0"
"""The magic and version of GNU tar's own format (GNU tar's manual, "Basic Tar Format")."""
_SPARSE: Final = b"S"
_FILES: Final = frozenset({b"0", b"\0", _SPARSE})
_WITHOUT_DATA: Final = frozenset({b"1", b"2", b"3", b"4", b"5", b"6"})
"""Links, devices, folders and FIFOs."""
_LONG_NAME, _LONG_LINK, _ATTRIBUTES, _FOR_ALL = b"L", b"K", b"x", b"g"
_SPARSE_KEY: Final = b"GNU.sparse."
_ALONE: Final = f"Use a stemcell whose image contains {NAME} alone, as a file"

Segment = tuple[int, int]
"""Offset and length of data in an image with holes, in bytes."""
_Attributes = dict[bytes, bytes]


class RawImage(Record):
    """The image, of which the stream is at the first byte of data."""

    size: int
    """Bytes, holes included."""
    stored: int
    """Bytes of its data."""
    segments: Sequence[Segment]
    """The segments that contain data."""


class Header(Record):
    """A member's header."""

    name: bytes
    kind: bytes
    """The type's letter."""
    size: int
    block: bytes
    """All of it."""


class TarReader:
    """Reads a tar's members in turn.

    Args:
        stream: The tar.
    """

    def __init__(self, stream: GzipStream) -> None:
        self._stream = stream
        self._headers = 0  # bytes
        self._others = 0  # bytes

    def find_image(self) -> RawImage | None:
        """Read up to the first byte of root.img's data; None if the tar has no root.img.

        Raises:
            Unusable: The tar is damaged, root.img is no file, or too much comes before it.
        """
        while member := self._next():
            header, attributes = member
            if _is_image(attributes.get(_SPARSE_KEY + b"name") or header.name):
                return self._image(header, attributes)
            if header.kind == _SPARSE:
                self._gnu_map(header.block)
            self._count(header.size)
            self._stream.skip(header.size + -header.size % RECORD)
        return None

    def data(self, image: RawImage, most: int) -> Iterator[tuple[int, bytes]]:
        """The image's data, in parts that lie within one block of ``most`` bytes, each with its offset.

        Raises:
            Unusable: The tar ends before, or is damaged.
        """
        for start, length in image.segments:
            offset, end = start, start + length
            while offset < end:
                for part in self._stream.parts(min(end - offset, most - offset % most)):
                    yield offset, part
                    offset += len(part)

    def finish(self, image: RawImage) -> None:
        """Read the rest behind root.img's data, up to the end of the file and its checksum.

        Raises:
            Unusable: It is damaged, too much, or contains another root.img.
        """
        self._stream.skip(-image.stored % RECORD)
        if self.find_image():
            raise Unusable(f"contains {NAME} twice", _ALONE)
        while rest := self._stream.some():
            self._count(len(rest))

    def _image(self, header: Header, attributes: _Attributes) -> RawImage:
        if header.kind in _WITHOUT_DATA or header.name.endswith(b"/"):
            raise Unusable(f"contains {NAME}, but not as a file", _ALONE)
        size, stored = header.size, header.size
        if header.kind == _SPARSE:
            size, segments = number(header.block[483:495]), self._gnu_map(header.block)
        elif not any(key.startswith(_SPARSE_KEY) for key in attributes):
            segments = [(0, size)]
        elif attributes.get(_SPARSE_KEY + b"major") == b"1":
            size = decimal(attributes.get(_SPARSE_KEY + b"realsize", b""))
            segments, map_size = self._pax_map()
            stored -= map_size
        else:
            raise Unusable(f"contains {NAME} in an old form with holes", "Pack it with tar -S --format=gnu")
        return RawImage(size, stored, checked_map(segments, size, stored))

    def _next(self) -> tuple[Header, _Attributes] | None:
        """The next member's header, after its extended headers are applied; None at the end."""
        attributes: _Attributes = {}
        while header := self._header():
            if header.kind in {_LONG_NAME, _LONG_LINK, _ATTRIBUTES, _FOR_ALL}:
                self._extend(attributes, header)
                continue
            size = decimal(attributes[b"size"]) if b"size" in attributes else header.size
            if header.kind not in _FILES and (header.kind not in _WITHOUT_DATA or size):
                raise damaged(f"its tar has a member of type {shown(header.kind)} with {size} bytes")
            return Header(attributes.get(b"path", header.name), header.kind, size, header.block), attributes
        if attributes:
            raise damaged("its tar ends after an extended header")
        return None

    def _header(self) -> Header | None:
        start = self._stream.some(RECORD)
        self._headers += len(start)
        return parsed(start + self._describe(RECORD - len(start))) if start else None

    def _extend(self, attributes: _Attributes, header: Header) -> None:
        content = self._describe(header.size)
        self._stream.skip(-header.size % RECORD)
        if header.kind == _LONG_NAME:
            attributes[b"path"] = content.partition(b"\0")[0]
        elif header.kind == _ATTRIBUTES:
            attributes.update(attributes_of(content))
        elif header.kind == _FOR_ALL:
            keys = attributes_of(content)
            if any(key in {b"path", b"size"} or key.startswith(_SPARSE_KEY) for key in keys):
                raise damaged("a global tar header has a name or size for all files")

    def _gnu_map(self, block: bytes) -> list[Segment]:
        """The segments of a sparse map in GNU's format: in the header, and in extensions of it."""
        if block[257:265] != _GNU:  # star puts its map elsewhere, and some programs take that for none
            raise damaged("a tar header has GNU's type S, but is not in GNU's format")
        segments, more = _segments(block[386:482]), block[482]
        while more:
            block = self._describe(RECORD)
            segments += _segments(block[:504])
            more = block[504]
        return segments

    def _pax_map(self) -> tuple[list[Segment], int]:
        """The segments of a map in front of the data (pax, version 1.0), and the map's size in bytes."""
        blocks = [self._describe(RECORD)]
        count = decimal(blocks[0].partition(b"\n")[0])
        if count > MAX_SEGMENTS:
            raise damaged(f"its sparse map has more than {MAX_SEGMENTS} segments")
        missing = 1 + 2 * count - blocks[0].count(b"\n")
        while missing > 0:
            blocks.append(self._describe(RECORD))
            missing -= blocks[-1].count(b"\n")
        numbers = map(decimal, b"".join(blocks).split(b"\n", 2 * count + 1)[1 : 2 * count + 1])
        return list(zip(numbers, numbers, strict=True)), RECORD * len(blocks)

    def _describe(self, length: int) -> bytes:
        """Read headers or a part of a map, within their limit."""
        self._headers += length
        if self._headers > MAX_HEADERS_MIB << 20:
            raise damaged(f"its tar headers exceed {MAX_HEADERS_MIB} MiB")
        return self._stream.read(length)

    def _count(self, length: int) -> None:
        self._others += length
        if self._others > MAX_OTHER_MIB << 20:
            raise Unusable(f"contains more than {MAX_OTHER_MIB} MiB beside {NAME}", _ALONE)


def parsed(block: bytes) -> Header | None:
    """Parse a header of 512 bytes; None at the end of the tar, which is a block of zeros.

    Raises:
        Unusable: The checksum or the size is wrong.
    """
    if not block.strip(b"\0"):
        return None
    stored = _OCTAL.fullmatch(block[148:156])
    if stored is None or int(stored[1] or b"0", 8) != sum(block[:148] + b" " * 8 + block[156:]):
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


def attributes_of(content: bytes) -> _Attributes:
    """Parse an extended header's content: records of "LENGTH KEY=VALUE" and a line feed.

    Raises:
        Unusable: A record's length is not that of the record.
    """
    found = {}
    start = 0
    content = content.rstrip(b"\0")
    while start < len(content):
        match = _ATTRIBUTE.match(content, start)
        end = start + int(match[1]) if match else 0
        if match is None or match.end() >= end or content[end - 1 : end] != b"\n":
            raise damaged("an extended tar header has a record of a wrong length")
        found[match[2]] = content[match.end() : end - 1]
        start = end
    return found


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


def _segments(fields: bytes) -> list[Segment]:
    found = []
    for start in range(0, len(fields), 2 * _FIELD):
        offset, length = fields[start : start + _FIELD], fields[start + _FIELD : start + 2 * _FIELD]
        if not length[0]:
            break
        found.append((number(offset), number(length)))
    return found


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _is_image(name: bytes) -> bool:
    """Whether tar unpacks a member to root.img: programs drop "/" at the start, and folders named "."."""
    return [part for part in name.split(b"/") if part not in {b"", b"."}] == [NAME.encode()]


def _checked(size: int) -> int:
    if not 0 <= size <= MAX_SIZE:
        raise damaged(f"a tar header has a size of {size} bytes, which no disk has")
    return size
