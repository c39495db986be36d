"""A heavy stemcell's image: ``root.img`` in a gzipped tar, read as a stream, block by block.

Its size is several gigabytes, so it is never completely in memory, and never unpacked to disk.
"""

import os
import posixpath
import stat
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import IO, Any, Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import MIB_PER_GIB, Encryption, gib
from bosh_aws_cpi.records import Record

try:  # more than twice as fast
    from isal import igzip as gzip
    from isal import isal_zlib as zlib
except ImportError:  # no wheel for this machine
    import gzip  # type: ignore[no-redef]
    import zlib  # type: ignore[no-redef]

ROOT_IMG: Final = "root.img"
MIB: Final = 1 << 20
_MAX_OTHER_MIB: Final = 256
"""The maximum size in MiB of everything but root.img's data."""
_MAX_HEADER_MIB: Final = 16
"""The maximum size in MiB of a member's headers, of which tarfile needs three times as much memory.

Those of an image with half a million holes have 12 MiB.
"""
_DAMAGED: Any = (
    *(tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError),
    *(IndexError, RecursionError),  # tarfile reads headers about headers by recursion
)
"""The exceptions of the libraries for a damaged file."""
_DOWNLOAD_AGAIN: Final = "Download the stemcell again"
_ALONE: Final = f"Use a stemcell whose image contains {ROOT_IMG} alone, as a file"


class ImageSource(Record):
    """A surveyed image, and the settings of its snapshot."""

    path: str
    """The gzipped tar."""
    full_blocks: int
    """The number of its blocks that are not all zeros."""
    size_gib: int
    """The stemcell's disk, in GiB."""
    description: str
    tags: Mapping[str, str]
    call_id: str
    """Identifies the resources that this call creates."""
    encryption: Encryption


def check_image(path: str, block_size: int, disk_mib: int) -> int:
    """Read an image to its end, so that a bad one fails before any resource is created.

    Args:
        path: The gzipped tar.
        block_size: A block's size in bytes.
        disk_mib: The stemcell's disk, in MiB.

    Returns:
        The number of blocks that are not all zeros.

    Raises:
        CloudError: It is not a gzipped tar, contains no root.img, is truncated or damaged, is too large, or
            contains too much beside it.
    """
    with _open(path) as image:
        if image.size > disk_mib * MIB:
            needed = -(-image.size // MIB)
            raise CloudError(
                f"{ROOT_IMG} in '{path}' needs {needed} MiB, but the stemcell's disk has only {disk_mib} "
                f"MiB: set the cloud property disk to {gib(needed) * MIB_PER_GIB}"
            )
        logger.info("Checking '%s', %d MiB unpacked", path, image.size // MIB)
        full = sum(1 for _ in _full_blocks(image, block_size))
        image.finish()
    if not full:
        raise CloudError(f"{ROOT_IMG} in '{path}' is empty. {_DOWNLOAD_AGAIN}")
    return full


def full_blocks(path: str, block_size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of an image that are not all zeros, each with its index; the last one is padded.

    Raises:
        CloudError: The image can't be read.
    """
    with _open(path) as image:
        yield from _full_blocks(image, block_size)


def chunks(path: str) -> Iterator[bytes]:
    """The whole image, including zeros, in chunks.

    Raises:
        CloudError: The image can't be read.
    """
    with _open(path) as image:
        position = 0
        for offset, part in image.data(MIB):
            yield from _zeros(offset - position)
            yield part
            position = offset + len(part)
        yield from _zeros(image.size - position)


def _full_blocks(image: "_RawImage", block_size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks that are not all zeros; holes take no time."""
    zeros = bytes(block_size)
    for index, parts in groupby(image.data(block_size), lambda part: part[0] // block_size):
        block = bytearray()
        for offset, part in parts:
            block += bytes(offset % block_size - len(block)) + part
        block += bytes(block_size - len(block))
        if block != zeros:
            yield index, bytes(block)


def _zeros(length: int) -> Iterator[bytes]:
    zeros = bytes(min(length, MIB))
    for start in range(0, length, MIB):
        yield zeros[: length - start]


class _Unusable(Exception):
    """The image can't be used; the message continues "Stemcell image '…' "."""


class _RawImage:
    """The image in its tar, which is read once, from its beginning to its end.

    Args:
        stream: The tar.

    Raises:
        _Unusable: It has no root.img, or not as a file, or too much comes before it.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._headers = _Headers(stream)
        headers: Any = self._headers
        self._tar: tarfile.TarFile = tarfile.open(fileobj=headers, mode="r:")  # noqa: SIM115 - the stream is closed
        member = self._next(_MAX_OTHER_MIB * MIB)
        if member is None:
            raise _Unusable(f"contains no {ROOT_IMG}: is it a stemcell for AWS?")
        if not member.isreg():
            raise _Unusable(f"contains {ROOT_IMG}, but not as a file. {_ALONE}")
        if member.issparse() and "size" in member.pax_headers:  # tarfile takes it for the image's size
            raise _Unusable(f"has holes in {ROOT_IMG} and more than 8 GiB of data. Pack it with --format=gnu")
        self.size = member.size
        """Bytes, holes included."""
        self._start = member.offset_data
        segments: Any = member.sparse or [(0, member.size)]
        self._segments: Sequence[tuple[int, int]] = segments
        """Offset and length of its data, in bytes."""

    def data(self, block_size: int) -> Iterator[tuple[int, bytes]]:
        """Yield root.img's data with its offsets, in parts that lie within one block of ``block_size`` bytes.

        Raises:
            EOFError: The tar ends before the data does.
        """
        self._stream.seek(self._start)
        for start, length in self._segments:
            offset, end = start, start + length
            while offset < end:
                wanted = min(end - offset, block_size - offset % block_size)
                part = self._stream.read(wanted)
                if len(part) < wanted:
                    raise EOFError("its tar ends too early")
                yield offset, part
                offset += wanted

    def finish(self) -> None:
        """Read the rest behind root.img's data, up to the end of the file and its checksum.

        Raises:
            _Unusable: It is too much, or contains another root.img.
        """
        end = self._stream.tell() + _MAX_OTHER_MIB * MIB
        if self._next(end):
            raise _Unusable(f"contains {ROOT_IMG} twice. {_ALONE}")
        while self._stream.read(MIB):
            _check_other(self._stream.tell(), end)

    def _next(self, end: int) -> tarfile.TarInfo | None:
        """Return the next root.img; all other members must end before a position."""
        while member := self._tar.next():
            self._headers.rest = _MAX_HEADER_MIB * MIB
            if posixpath.normpath(f"/{member.name}") == f"/{ROOT_IMG}":
                return member
            _check_other(member.offset_data + member.size, end)
        return None


class _Headers:
    """The tar as tarfile reads it: only headers, each of them whole, and the next where the last one says.

    Attributes:
        rest: The maximum number of bytes that can still be read.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.tell = stream.tell
        self.rest = _MAX_HEADER_MIB * MIB

    def read(self, size: int) -> bytes:
        self.rest -= size
        if size < 0 or self.rest < 0:
            raise tarfile.ReadError(f"headers have a negative size, or more than {_MAX_HEADER_MIB} MiB")
        return self._stream.read(size)

    def seek(self, position: int) -> None:
        if position < self.tell():
            raise tarfile.ReadError("a member begins before the end of the one before it")
        self._stream.seek(position)


def _check_other(position: int, end: int) -> None:
    if position > end:
        raise _Unusable(f"contains more than {_MAX_OTHER_MIB} MiB beside {ROOT_IMG}. {_ALONE}")


@contextmanager
def _open(path: str) -> Iterator[_RawImage]:
    """Open an image at the first byte of root.img's data.

    Raises:
        CloudError: There is no image, or it can't be read.
    """
    if "\0" in path:  # Python would raise a ValueError
        raise CloudError(f"image_path can't be a file's path, because it contains a NUL: {path!a}")
    shown = f"Stemcell image '{path}'"
    try:
        with open(path, "rb", opener=_open_file) as file, gzip.open(file, "rb") as stream:  # type: ignore[no-untyped-call]
            yield _RawImage(stream)
    except _Unusable as error:
        raise CloudError(f"{shown} {error}") from None
    except _DAMAGED as error:
        raise CloudError(
            f"{shown} is no gzipped tar, or is truncated or damaged: {error}. {_DOWNLOAD_AGAIN}"
        ) from None
    except OSError as error:
        raise CloudError(f"{shown} can't be read: {error.strerror or error}") from None


def _open_file(path: str, flags: int) -> int:
    """Open a file. What may have no end is refused without waiting: a FIFO, a device, a file of the kernel.

    Raises:
        OSError: It can't be opened.
        _Unusable: It is not a file, or is one without a size, as files of the kernel are.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    is_file = stat.S_ISREG(status.st_mode)
    if (is_file and status.st_size) or stat.S_ISDIR(status.st_mode):  # Python refuses folders, in its words
        return descriptor
    os.close(descriptor)
    raise _Unusable(f"is {'empty, or ' if is_file else ''}not a file. {_DOWNLOAD_AGAIN}")
