"""Finds ``root.img`` in a tar that is read as a stream, with bounded memory and bounded work.

Not with ``tarfile``, which trusts the headers: it loops if a member says that it has 2**60 bytes (or a number
below zero, CVE-2025-8194), and keeps extended headers and sparse maps of any size in memory. To read strictly
what stemcells contain takes less code than to check all that ``tarfile`` accepts.
"""

from collections.abc import Sequence
from typing import Final

from bosh_aws_cpi.cpi.stemcells import tar_headers
from bosh_aws_cpi.cpi.stemcells.gzip_stream import GzipStream
from bosh_aws_cpi.cpi.stemcells.tar_headers import RECORD, Header, Segment
from bosh_aws_cpi.cpi.stemcells.unusable import Unusable, damaged
from bosh_aws_cpi.records import Record

NAME: Final = "root.img"
MAX_OTHER_MIB: Final = 256
"""The maximum size of all that is not root.img's data: a stemcell's image contains nothing else."""
_MAX_HEADERS: Final = 1000
_MAX_DESCRIPTION: Final = 4 << 20
"""Bytes of all extended headers and sparse maps together; this is enough for about 200,000 segments."""
_FILES: Final = frozenset({b"0", b"\0", b"7"})
_SPARSE: Final = b"S"
_WITHOUT_DATA: Final = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"5": "a folder",
    b"6": "a FIFO",
    b"V": "a volume label",
}
_OTHER: Final = f"Use a stemcell whose image contains {NAME} alone, as a file"
_SPARSE_KEY: Final = b"GNU.sparse."
_MAP_PARTS: Final = frozenset({_SPARSE_KEY + b"offset", _SPARSE_KEY + b"numbytes"})
_UNIVERSAL: Final = frozenset({b"path", b"size"})
"""Attributes that can't be those of all members."""

_Attributes = dict[bytes, bytes]


class Image(Record):
    """The image, of which the stream is at the first byte of data."""

    size: int
    """Bytes, holes included."""
    stored: int
    """Bytes of its data."""
    segments: Sequence[Segment]
    """The segments that contain data."""


class TarReader:
    """Reads a tar's members in turn.

    Args:
        stream: The tar.
    """

    def __init__(self, stream: GzipStream) -> None:
        self._stream = stream
        self._headers = 0
        self._others = 0
        self._description = 0

    def find_image(self) -> Image | None:
        """Read up to the first byte of root.img's data; None if the tar has no root.img.

        Raises:
            Unusable: The tar is damaged, root.img is no file, or too much comes before it.
        """
        while member := self._next():
            header, attributes = member
            is_sparse = header.kind == _SPARSE or any(key.startswith(_SPARSE_KEY) for key in attributes)
            name = attributes.get(_SPARSE_KEY + b"name") or header.name
            if _is_image(name):
                return self._image(header, attributes, is_sparse=is_sparse)
            if header.kind == _SPARSE:
                self._extensions(header.block)
            self._skip(header.size)
        return None

    def finish(self, image: Image) -> None:
        """Read the rest behind root.img's data, up to the end of the file and its checksum.

        Raises:
            Unusable: It is damaged, too much, or contains another root.img.
        """
        self._stream.skip(-image.stored % RECORD)
        if self.find_image():
            raise Unusable(f"contains {NAME} twice", _OTHER)
        while rest := self._stream.read_up_to(1 << 20):
            self._count(len(rest))

    def _image(self, header: Header, attributes: _Attributes, *, is_sparse: bool) -> Image:
        if (what := _WITHOUT_DATA.get(header.kind)) or header.name.endswith(b"/"):
            raise Unusable(f"contains {NAME} as {what or 'a folder'}", _OTHER)
        if not is_sparse:
            return Image(header.size, header.size, [(0, header.size)] if header.size else [])
        if header.kind == _SPARSE:
            size, stored = tar_headers.real_size(header.block), header.size
            segments = self._extensions(header.block)
        elif attributes.get(_SPARSE_KEY + b"major") == b"1":
            size = tar_headers.decimal(attributes.get(_SPARSE_KEY + b"realsize", b""))
            segments, map_size = self._map(header.size)
            stored = header.size - map_size
        else:
            size, stored = tar_headers.decimal(attributes.get(_SPARSE_KEY + b"size", b"")), header.size
            segments = tar_headers.pairs(attributes.get(_SPARSE_KEY + b"map", b"").split(b","))
        return Image(size, stored, tar_headers.checked_map(segments, size, stored))

    def _next(self) -> tuple[Header, _Attributes] | None:
        """The next member's header, after its extended headers are applied; None at the end."""
        attributes: _Attributes = {}
        is_extended = False
        while header := self._header():
            if header.kind in {b"L", b"K", b"x", b"g"}:
                is_extended = is_extended or header.kind != b"g"
                self._extend(attributes, header)
                continue
            return self._checked(header, attributes), attributes
        if is_extended:
            raise damaged("its tar ends after an extended header")
        return None

    def _header(self) -> Header | None:
        block = self._stream.read_up_to(RECORD)
        if not block:
            return None
        if len(block) < RECORD:
            raise damaged("its tar ends too early")
        self._headers += 1
        if self._headers > _MAX_HEADERS:
            raise Unusable(f"contains more than {_MAX_HEADERS} files", _OTHER)
        return tar_headers.header(block)

    def _extend(self, attributes: _Attributes, header: Header) -> None:
        content = self._describe(header.size)
        if header.kind == b"L":
            attributes[b"path"] = content.partition(b"\0")[0]
        elif header.kind in {b"x", b"g"}:
            found = tar_headers.attributes(content)
            keys = {key for key, _ in found}
            if header.kind == b"x":
                attributes.update(_with_map(found))
            elif keys & _UNIVERSAL or any(key.startswith(_SPARSE_KEY) for key in keys):
                raise damaged("a global tar header has a name or size for all files")

    def _checked(self, header: Header, attributes: _Attributes) -> Header:
        """The header with its attributes."""
        size = header.size
        if b"size" in attributes:
            size = tar_headers.decimal(attributes[b"size"])
        if header.kind not in _FILES | {_SPARSE} | _WITHOUT_DATA.keys():
            raise damaged(f"its tar has a member of the unknown type {tar_headers.shown(header.kind)}")
        if size and (what := _WITHOUT_DATA.get(header.kind)):
            raise damaged(f"its tar has {what} with a size of {size} bytes")
        return Header(attributes.get(b"path", header.name), header.kind, size, header.block)

    def _extensions(self, block: bytes) -> list[Segment]:
        """The segments of a sparse map as old versions of GNU tar, and today's by default, write it."""
        segments, more = tar_headers.sparse_fields(block)
        while more:
            found, more = tar_headers.extension_fields(self._describe(RECORD))
            segments += found
        return segments

    def _map(self, most: int) -> tuple[list[Segment], int]:
        """The segments of a sparse map in front of the data (version 1.0), and the map's size in bytes."""
        blocks = [self._describe(RECORD)] if most else [b""]
        needed = 1 + 2 * tar_headers.count_of_segments(blocks[0].partition(b"\n")[0])
        lines = blocks[0].count(b"\n")
        while lines < needed:
            if RECORD * (len(blocks) + 1) > most:
                raise damaged("its sparse map is not complete")
            blocks.append(self._describe(RECORD))
            lines += blocks[-1].count(b"\n")
        numbers = b"".join(blocks).split(b"\n", needed)[1:needed]
        return tar_headers.pairs(numbers), RECORD * len(blocks)

    def _describe(self, length: int) -> bytes:
        """Read a description of members, with its padding."""
        self._description += length
        if self._description > _MAX_DESCRIPTION:
            raise damaged(f"its extended tar headers exceed {_MAX_DESCRIPTION >> 20} MiB")
        content = self._stream.read(length)
        self._stream.skip(-length % RECORD)
        return content

    def _skip(self, length: int) -> None:
        self._count(length)
        self._stream.skip(length + -length % RECORD)

    def _count(self, length: int) -> None:
        self._others += length
        if self._others > MAX_OTHER_MIB << 20:
            raise Unusable(f"contains more than {MAX_OTHER_MIB} MiB beside {NAME}", _OTHER)


def _is_image(name: bytes) -> bool:
    """Whether tar unpacks a member to root.img: programs drop "/" at the start, and folders named "."."""
    return [part for part in name.split(b"/") if part not in {b"", b"."}] == [NAME.encode()]


def _with_map(records: Sequence[tuple[bytes, bytes]]) -> _Attributes:
    """The records by key. A sparse map of version 0.0 has two records for each segment: 0.1 joins them."""
    parts = [value for key, value in records if key in _MAP_PARTS]
    joined = {_SPARSE_KEY + b"map": b",".join(parts)} if parts else {}
    return {**dict(records), **joined}
