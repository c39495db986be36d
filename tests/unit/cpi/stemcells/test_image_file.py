"""A heavy stemcell's image, read as a stream."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bosh_aws_cpi.cpi.stemcells.image_file import chunks, full_blocks, survey
from bosh_aws_cpi.errors import CloudError
from tests.crafted_tars import END, header, member, packed

BLOCK = 4096
DISK_MIB = 2
ONES, ZEROS = b"1" * BLOCK, bytes(BLOCK)
TAR = shutil.which("tar") or "tar"
IS_GNU_TAR = b"GNU tar" in subprocess.run([TAR, "--version"], capture_output=True, check=True).stdout
TARS = [["--format=ustar"]]
"""Options of tar: without the option for holes, holes are zeros."""
if IS_GNU_TAR:
    TARS += [["--format=v7"], ["--format=gnu", "-S"], ["--format=posix", "-S"]]


def written(folder: Path, content: bytes) -> str:
    """Write a file."""
    path = folder / "image"
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        (ONES, {0: ONES}),
        (ZEROS * 2 + ONES + ZEROS + ONES, {2: ONES, 4: ONES}),
        (ONES + b"end", {0: ONES, 1: b"end" + bytes(BLOCK - 3)}),
        (ONES + bytes(3), {0: ONES}),
        (b"1", {0: b"1" + bytes(BLOCK - 1)}),
        (bytes((DISK_MIB << 20) - 1) + b"1", {511: bytes(BLOCK - 1) + b"1"}),
    ],
    ids=["one", "holes", "short-end", "zeros-at-end", "one-byte", "full-disk"],
)
def test_blocks(tmp_path: Path, content: bytes, blocks: dict[int, bytes]) -> None:
    """Blocks of zeros need not be written; the last block is filled up; as a stream all is there."""
    path = written(tmp_path, packed(member(content=content) + END))
    assert dict(full_blocks(path, BLOCK)) == blocks
    assert survey(path, BLOCK, DISK_MIB) == len(blocks)
    parts = list(chunks(path))
    assert b"".join(parts) == content
    assert max(map(len, parts)) <= 1 << 20


@pytest.mark.parametrize(
    ("size", "disk_mib", "what"),
    [
        ((2 << 20) + 1, 2, "needs 3 MiB, .* only 2 MiB: set the cloud property disk to 1024"),
        ((64 << 30) + 1, 1 << 20, "has more than 64 GiB of data: pack it with tar -S"),
    ],
)
def test_too_large(tmp_path: Path, size: int, disk_mib: int, what: str) -> None:
    """An image that is larger than its disk, or than any stemcell, is refused by its header alone."""
    path = written(tmp_path, packed(header(b"root.img", size)))
    with pytest.raises(CloudError, match=what):
        survey(path, BLOCK, disk_mib)


def test_tar_cut_off(tmp_path: Path) -> None:
    """A tar that was cut off before it was packed is an error to each reader."""
    path = written(tmp_path, packed(member(content=os.urandom(100_000))[:50_000]))
    for read in (survey, lambda *_: list(full_blocks(path, BLOCK)), lambda *_: list(chunks(path))):
        with pytest.raises(CloudError, match="is truncated or damaged"):
            read(path, BLOCK, DISK_MIB)


@pytest.mark.parametrize("options", TARS, ids=" ".join)
def test_as_tar_packs_it(tmp_path: Path, options: list[str]) -> None:
    """The image is the same in each of tar's formats, with holes packed or left out."""
    content = bytearray(9 * (64 << 10) + 1000)
    for start in (0, 3, 4, 7):
        content[start * (64 << 10) : start * (64 << 10) + 2 * BLOCK] = os.urandom(2 * BLOCK)
    with (tmp_path / "root.img").open("wb") as file:
        for start in range(0, len(content), 64 << 10):
            part = content[start : start + (64 << 10)]
            file.write(part) if any(part) else file.seek(len(part), os.SEEK_CUR)
        file.truncate()
    (tmp_path / "other").write_bytes(b"2" * 5000)
    (tmp_path / "link").symlink_to("other")
    command = [TAR, *options, "-czf", "image", "other", "link", "./root.img"]
    subprocess.run(command, cwd=tmp_path, check=True)
    path = str(tmp_path / "image")
    assert b"".join(chunks(path)) == content
    found = dict(full_blocks(path, BLOCK))
    read = b"".join(found.get(index, ZEROS) for index in range(max(found) + 1))
    assert read.ljust(len(content), b"\0") == content
    assert survey(path, BLOCK, DISK_MIB) == 8
