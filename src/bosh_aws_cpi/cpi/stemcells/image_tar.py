"""Finds ``root.img`` in a gzipped tar that somebody else made, with bounded memory and bounded work.

``tarfile`` and ``zlib`` read; this module limits what they read. Both trust sizes that a file may lie about.
"""

import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.records import Record

NAME: Final = "root.img"
_MIB: Final = 1 << 20
_MAX_SIZE: Final = 64 << 40
"""Bytes of the largest EBS volume (EBS user guide, "EBS volume constraints")."""
_MAX_OTHER: Final = 256 * _MIB
"""Bytes of all that is not root.img's data: a stemcell's image contains nothing else."""
_MAX_MEMBERS: Final = 1000
_MAX_HEADERS: Final = 4 * _MIB
"""Bytes of all headers and sparse maps together; this is enough for about 200,000 segments."""
_MAX_RATIO: Final = 1032
"""Deflate can't pack better: 258 bytes need at least two bits (zlib's technical details)."""
_MAX_IDLE: Final = 4 * _MIB
"""How many bytes of a file may unpack to less than half their size. Packing adds less than one percent to
data that can't be packed (RFC 1951), so valid files have hardly any."""
_READ_AHEAD: Final = 1 << 17
"""Bytes that are read at once from the file."""
_MAX_READS_AT_END: Final = 10
"""``tarfile`` looks for a header once or twice there. For a member that says that it has 2**60 bytes, it
would read nothing again and again."""
_TOO_EARLY: Final = "its tar ends too early"
_GZIP: Final = zlib.MAX_WBITS | 16
_AGAIN: Final = "Download the stemcell again"
_OTHER: Final = f"Use a stemcell whose image contains {NAME} alone, as a file"
_KINDS: Final = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a character device",
    tarfile.BLKTYPE: "a block device",
    tarfile.DIRTYPE: "a folder",
    tarfile.FIFOTYPE: "a FIFO",
}


class _Unusable(Exception):
    """The image can't be used. The text completes "Stemcell image '…' …"; `opened` adds the path."""

    def __init__(self, what: str, remedy: str = _AGAIN) -> None:
        super().__init__(f"{what}. {remedy}")


def _damaged(what: str) -> _Unusable:
    return _Unusable(f"is truncated or damaged: {what}")


class Image(Record):
    """root.img in an open tar; its data can be read once."""

    size: int
    """Bytes, holes included."""
    segments: Sequence[tuple[int, int]]
    """The offset and length of the data between the holes, in bytes."""
    content: "_Content"
    """The tar, at the first byte of the data."""

    @property
    def stored(self) -> int:
        """Bytes of its data in the tar."""
        return sum(length for _, length in self.segments)

    def pieces(self, most: int) -> Iterator[tuple[int, bytes]]:
        """Its data, each piece with its offset and within one block of ``most`` bytes.

        Raises:
            _Unusable: The tar ends before, or is damaged.
        """
        for segment, length in self.segments:
            offset, end = segment, segment + length
            while offset < end:
                piece = self.content.exactly(min(end - offset, most - offset % most))
                yield offset, piece
                offset += len(piece)


class Archive:
    """The open tar: `find_image`, read all of the image, then `finish`.

    Args:
        file: The gzip file, opened without a buffer.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._content = _Content(_Unpacked(file))
        self._members = 0
        self._others = 0

    def find_image(self) -> Image | None:
        """Read up to root.img's data; None if the rest of the tar has no root.img.

        Raises:
            _Unusable: The tar is damaged, root.img is no file, or too much comes before it.
        """
        # It reads ahead by as much as it reads at once: by no more than a header.
        tar = tarfile.open(fileobj=self._content, mode="r|", bufsize=tarfile.BLOCKSIZE)  # noqa: SIM115
        while member := tar.next():
            self._members += 1
            if self._members > _MAX_MEMBERS:
                raise _Unusable(f"contains more than {_MAX_MEMBERS} files", _OTHER)
            if not 0 <= member.size <= _MAX_SIZE:
                raise _damaged(f"a tar header has a size of {member.size} bytes, which no disk has")
            if tar.pax_headers.keys() & {"path", "size"}:
                raise _damaged("a global tar header has a name or size for all files")
            segments = _segments(member)
            stored = sum(length for _, length in segments)
            if [part for part in member.name.split("/") if part not in {"", "."}] == [NAME]:
                if not member.isreg():
                    raise _Unusable(f"contains {NAME} as {_KINDS.get(member.type, 'something else')}", _OTHER)
                return Image(member.size, segments, self._content)
            self._count(stored)
            self._content.left += stored
        return None

    def finish(self, image: Image) -> None:
        """Read the rest behind the image's data, up to the end of the file and its checksum.

        Raises:
            _Unusable: It is damaged, too much, or contains another root.img.
        """
        self._content.exactly(-image.stored % tarfile.BLOCKSIZE)
        if self._content.has_more() and self.find_image():
            raise _Unusable(f"contains {NAME} twice", _OTHER)
        while rest := self._content.rest():
            self._count(len(rest))

    def _count(self, length: int) -> None:
        self._others += length
        if self._others > _MAX_OTHER:
            raise _Unusable(f"contains more than {_MAX_OTHER // _MIB} MiB beside {NAME}", _OTHER)


@contextmanager
def opened(path: str) -> Iterator[tuple[Archive, Image]]:
    """An archive at the first byte of its image's data.

    Raises:
        CloudError: There is no image, or it can't be read. This holds for what the ``with`` block reads, too.
    """
    if "\0" in path:  # Python would raise a ValueError
        message = f"image_path can't be a file's path, because it contains a NUL: {path!a}"
        raise CloudError(message)
    try:
        with open(path, "rb", buffering=0, opener=_open_file) as file, _parsing():
            archive = Archive(file)
            image = archive.find_image()
            if image is None:
                raise CloudError(f"Stemcell image '{path}' contains no {NAME}: is it a stemcell for AWS?")
            if image.stored > _MAX_RATIO * os.fstat(file.fileno()).st_size:
                raise _damaged(
                    f"its tar says that {NAME} has {image.stored} bytes, but the file is too small"
                )
            yield archive, image
    except _Unusable as error:
        raise CloudError(f"Stemcell image '{path}' {error}") from None
    except OSError as error:
        raise CloudError(f"Stemcell image '{path}' can't be read: {error.strerror or error}") from None


@contextmanager
def _parsing() -> Iterator[None]:
    """Translate what ``tarfile`` raises: besides its own errors, whatever a damaged header leads it to."""
    try:
        yield
    except tarfile.TarError as error:
        raise _damaged(f"its tar can't be read ({error})") from None
    except (ValueError, LookupError, ArithmeticError, RecursionError, MemoryError):
        raise _damaged("its tar has a header that can't be read") from None


def _segments(member: tarfile.TarInfo) -> list[tuple[int, int]]:
    """The offsets and lengths of the data between the holes."""
    if not member.isreg():
        return []
    listed: list[tuple[int, int]] = member.sparse if member.issparse() else [(0, member.size)]  # type: ignore[assignment]
    segments = [segment for segment in listed if segment[1]]
    end = 0
    for offset, length in segments:
        if offset < end or length < 0 or offset + length > member.size:
            raise _damaged(f"its sparse map has a wrong segment of {length} bytes at {offset}")
        end = offset + length
    return segments


class _Content(io.RawIOBase):
    """What ``tarfile`` reads from: no more than the members' data and a limited amount of headers."""

    def __init__(self, unpacked: "_Unpacked") -> None:
        self.left = _MAX_HEADERS
        """Bytes that ``tarfile`` may still read."""
        self._unpacked = unpacked
        self._reads_at_end = 0
        self._next = b""

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes, or fewer at the end."""
        self.left -= size
        if self.left < 0:
            raise _damaged(f"its extended tar headers exceed {_MAX_HEADERS // _MIB} MiB")
        data = self._filled(size)
        self._reads_at_end += not data
        if self._reads_at_end > _MAX_READS_AT_END:
            raise _damaged(_TOO_EARLY)
        return data

    def exactly(self, size: int) -> bytes:
        """Read so many bytes.

        Raises:
            _Unusable: The tar ends before.
        """
        if len(data := self._filled(size)) < size:
            raise _damaged(_TOO_EARLY)
        return data

    def has_more(self) -> bool:
        """Whether a byte follows."""
        self._next = self._next or self._unpacked.read(1)
        return bool(self._next)

    def rest(self) -> bytes:
        """Some of what follows the tar; nothing at the end of the file."""
        return self._unpacked.read(_MIB)

    def _filled(self, size: int) -> bytes:
        parts, self._next = [self._next] if self._next else [], b""
        missing = size - sum(map(len, parts))
        while missing and (part := self._unpacked.read(missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


class _Unpacked:
    """A gzip file's unpacked bytes (RFC 1952). Like gzip, it joins streams and skips the zeros behind them.

    The standard library's ``gzip`` reads a header's file name and the zeros behind a stream byte by byte, and
    accepts any number of empty streams. A file with a hole could so occupy it for hours.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._position = 0  # bytes unpacked
        self._position_then = 0  # when the file was last read
        self._read_then = 0  # bytes
        self._idle = 0
        self._packed = b""
        self._stream = zlib.decompressobj(_GZIP)
        if not self._refill():
            raise _damaged("it is empty")
        if not self._packed.startswith(b"\x1f\x8b"):
            raise _Unusable("is not a gzipped tar")

    def read(self, most: int) -> bytes:
        """At least one byte, or none at the end."""
        while not self._stream.eof or self._next_stream():
            try:
                data = self._stream.decompress(self._packed, most)
            except zlib.error as error:
                raise _damaged(f"its gzip stream is invalid ({str(error).rpartition(': ')[2]})") from None
            self._packed = self._stream.unconsumed_tail
            if data:
                self._position += len(data)
                return data
            if not self._stream.eof and not self._refill():
                raise _damaged("its gzip stream ends too early")
        return b""

    def _next_stream(self) -> bool:
        """Begin the stream that follows, if there is one."""
        following = self._stream.unused_data.lstrip(b"\0")
        while not following:
            if not self._refill():
                return False
            following = self._packed.lstrip(b"\0")
        if not following.startswith(b"\x1f"):
            raise _damaged("something else follows its gzip stream")
        self._packed = following
        self._stream = zlib.decompressobj(_GZIP)
        return True

    def _refill(self) -> bool:
        """Read more of the file; False at its end."""
        if self._position - self._position_then < self._read_then // 2:
            self._idle += self._read_then
        if self._idle > _MAX_IDLE:
            raise _damaged(f"{_MAX_IDLE // _MIB} MiB of its gzip stream unpack to almost nothing")
        self._packed = self._file.read(_READ_AHEAD)
        self._position_then, self._read_then = self._position, len(self._packed)
        return bool(self._packed)


def _open_file(path: str, flags: int) -> int:
    """Open a file. A FIFO or a device, which may have no end, is refused without waiting for it.

    Raises:
        OSError: It can't be opened.
        _Unusable: It is not a file.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # Python refuses folders in the system's words
        return descriptor
    os.close(descriptor)
    raise _Unusable("is not a file")
