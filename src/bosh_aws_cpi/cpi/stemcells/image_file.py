"""A heavy stemcell's image: ``root.img`` in a gzipped tar, read as a stream, block by block.

Its size is several gigabytes, so it is never completely in memory, and never unpacked to disk.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from typing import Final

from bosh_aws_cpi.cpi.stemcells.gzip_stream import GzipStream, Unusable
from bosh_aws_cpi.cpi.stemcells.tar_image import NAME, RawImage, TarReader
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import MIB_PER_GIB, Encryption, gib
from bosh_aws_cpi.records import Record

_MIB: Final = 1 << 20
_MAX_DATA_GIB: Final = 64
"""The most data of root.img in the tar, before gzip, holes not counted; however large the disk is, because
the stemcell itself says how large that is. To read so many zeros takes about three minutes."""


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


def survey(path: str, block_size: int, disk_mib: int) -> int:
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
    with _open(path) as (tar, image):
        if image.size > disk_mib * _MIB:
            needed = -(-image.size // _MIB)
            raise CloudError(
                f"{NAME} in '{path}' needs {needed} MiB, but the stemcell's disk has only {disk_mib} MiB: "
                f"set the cloud property disk to {gib(needed) * MIB_PER_GIB}"
            )
        if image.stored > _MAX_DATA_GIB << 30:
            raise CloudError(
                f"{NAME} in '{path}' has more than {_MAX_DATA_GIB} GiB of data: pack it with tar -S, which "
                "leaves out its holes, or use a light stemcell"
            )
        logger.info("Checking '%s', %d MiB unpacked", path, image.size // _MIB)
        full = sum(1 for _ in _full_blocks(tar, image, block_size))
        tar.finish(image)
    if not full:
        raise CloudError(f"{NAME} in '{path}' is empty. Download the stemcell again")
    return full


def full_blocks(path: str, block_size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of an image that are not all zeros, each with its index; the last one is padded.

    Raises:
        CloudError: The image can't be read.
    """
    with _open(path) as (tar, image):
        yield from _full_blocks(tar, image, block_size)


def chunks(path: str) -> Iterator[bytes]:
    """The whole image, including zeros, in chunks.

    Raises:
        CloudError: The image can't be read.
    """
    with _open(path) as (tar, image):
        position = 0
        for offset, part in tar.data(image, _MIB):
            yield from _zeros(offset - position)
            yield part
            position = offset + len(part)
        yield from _zeros(image.size - position)


def _full_blocks(tar: TarReader, image: RawImage, block_size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks that are not all zeros; holes take no time."""
    zeros = bytes(block_size)
    for index, parts in groupby(tar.data(image, block_size), lambda part: part[0] // block_size):
        block = bytearray()
        for offset, part in parts:
            block += bytes(offset % block_size - len(block)) + part
        block += bytes(block_size - len(block))
        if block != zeros:
            yield index, bytes(block)


def _zeros(length: int) -> Iterator[bytes]:
    zeros = bytes(min(length, _MIB))
    for start in range(0, length, _MIB):
        yield zeros[: length - start]


@contextmanager
def _open(path: str) -> Iterator[tuple[TarReader, RawImage]]:
    """An image at the first byte of its data.

    Raises:
        CloudError: There is no image, or it can't be read.
    """
    if "\0" in path:  # Python would raise a ValueError
        raise CloudError(f"image_path can't be a file's path, because it contains a NUL: {path!a}")
    try:
        with open(path, "rb", buffering=0, opener=_open_file) as file:
            tar = TarReader(GzipStream(file))
            image = tar.find_image()
            if image is None:
                raise CloudError(f"Stemcell image '{path}' contains no {NAME}: is it a stemcell for AWS?")
            yield tar, image
    except Unusable as error:
        raise CloudError(f"Stemcell image '{path}' {error}") from None
    except OSError as error:
        raise CloudError(f"Stemcell image '{path}' can't be read: {error.strerror or error}") from None


def _open_file(path: str, flags: int) -> int:
    """Open a file. A FIFO or a device, which may have no end, is refused without waiting for it.

    Raises:
        OSError: It can't be opened.
        Unusable: It is not a file.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # Python refuses folders in the system's words
        return descriptor
    os.close(descriptor)
    raise Unusable("is not a file")
