"""A heavy stemcell's image: ``root.img`` in a gzipped tar, read as a stream, block by block.

Its size is several gigabytes, so it is never completely in memory, and never unpacked to disk.
"""

import gzip
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final

from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import MIB_PER_GIB, gib

_NAME: Final = "root.img"
_MIB: Final = 1 << 20
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Survey:
    """The results of reading an image to its end."""

    size: int
    """Bytes."""
    full_blocks: int
    """The number of blocks that are not all zeros."""


@dataclass(frozen=True)
class ImageSource:
    """A surveyed image, and the settings of its snapshot."""

    path: str
    """The gzipped tar."""
    survey: Survey
    size_gib: int
    """The stemcell's disk, in GiB."""
    description: str
    tags: Mapping[str, str]
    call_id: str
    """Identifies the resources that this call creates."""
    encryption: Encryption


def survey(path: str, block_size: int, disk_mib: int) -> Survey:
    """Read an image to its end, so that a bad one fails before any resource is created.

    Args:
        path: The gzipped tar.
        block_size: A block's size in bytes.
        disk_mib: The stemcell's disk, in MiB.

    Raises:
        CloudError: It is not a gzipped tar, contains no root.img, is truncated, or is too large.
    """
    with _open(path) as (image, size, archive):
        if size > disk_mib * _MIB:
            needed = -(-size // _MIB)
            message = (
                f"{_NAME} in '{path}' needs {needed} MiB, but the stemcell's disk has only {disk_mib} MiB: "
                f"set the cloud property disk to {gib(needed) * MIB_PER_GIB}"
            )
            raise CloudError(message)
        logger.info("Checking '%s', %d MiB unpacked", path, size // _MIB)
        full = sum(1 for _ in _full_blocks(image, size, block_size))
        while archive.read(_CHUNK):  # up to the checksum at its end
            pass
    if not full:
        message = f"{_NAME} in '{path}' is empty{_REMEDY}"
        raise CloudError(message)
    return Survey(size, full)


def full_blocks(path: str, block_size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of an image that are not all zeros, each with its index; the last one is padded.

    Raises:
        CloudError: The image can't be read.
    """
    with _open(path) as (image, size, _):
        yield from _full_blocks(image, size, block_size)


def chunks(path: str) -> Iterator[bytes]:
    """The whole image, including zeros, in chunks.

    Raises:
        CloudError: The image can't be read.
    """
    with _open(path) as (image, _, _):
        while chunk := image.read(_CHUNK):
            yield chunk


def _full_blocks(image: IO[bytes], size: int, block_size: int) -> Iterator[tuple[int, bytes]]:
    zeros = bytes(block_size)
    for index in range(-(-size // block_size)):
        length = min(block_size, size - index * block_size)
        block = _exactly(image, length)
        if length < block_size:
            block += bytes(block_size - length)
        if block != zeros:
            yield index, block


def _exactly(image: IO[bytes], length: int) -> bytes:
    parts = []
    while length:
        if not (part := image.read(length)):
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _tar(archive: gzip.GzipFile) -> tarfile.TarFile:
    return tarfile.open(fileobj=archive, mode="r|", bufsize=_CHUNK)


@contextmanager
def _open(path: str) -> Iterator[tuple[IO[bytes], int, gzip.GzipFile]]:
    """The image, its size, and the uncompressed stream of the tar that contains it.

    Raises:
        CloudError: There is no image, or it can't be read.
    """
    try:
        with gzip.open(path, "rb") as archive, _tar(archive) as members:
            for member in members:
                is_image = member.name.removeprefix("./") == _NAME and member.isfile()
                image = members.extractfile(member) if is_image else None
                if image is not None:
                    yield image, member.size, archive
                    return
    except (EOFError, zlib.error, tarfile.TarError, gzip.BadGzipFile) as error:
        if "Not a gzipped file" in str(error):  # otherwise it is gzipped, with a wrong checksum
            raise CloudError(f"Stemcell image '{path}' is not a gzipped tar{_REMEDY}") from None
        raise CloudError(f"Stemcell image '{path}' is truncated or damaged: {error}{_REMEDY}") from None
    except OSError as error:
        raise CloudError(f"Stemcell image '{path}' can't be read: {error.strerror or error}") from None
    raise CloudError(f"Stemcell image '{path}' contains no {_NAME}: is it a stemcell for AWS?")


_REMEDY: Final = ". Download the stemcell again"
