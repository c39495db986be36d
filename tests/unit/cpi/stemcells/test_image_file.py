"""A heavy stemcell's image, read as a stream."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.cpi.stemcells.image_file import chunks, full_blocks, survey
from bosh_aws_cpi.errors import CloudError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conftest import ProgramLog

BLOCK = 4096
DISK_MIB = 2
ONES, ZEROS = b"1" * BLOCK, bytes(BLOCK)
TAR = shutil.which("tar") or "tar"
IS_GNU_TAR = b"GNU tar" in subprocess.run([TAR, "--version"], capture_output=True, check=True).stdout
TARS = [["--format=ustar"]]
"""Options of tar: without the option for holes, holes are zeros."""
if IS_GNU_TAR:
    forms = ("v7", "gnu", "posix")
    TARS += [*([f"--format={form}"] for form in forms), ["--format=gnu", "-S"], ["--format=posix", "-S"]]


def packed(*members: tuple[str, bytes | None]) -> bytes:
    """Pack files into a tar; without content it is a folder."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type = tarfile.DIRTYPE
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content or b""))
    return file.getvalue()


def image(folder: Path, content: bytes, name: str = "root.img") -> str:
    """Write a stemcell's image."""
    return written(folder, gzip.compress(packed((name, content))))


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
        (bytes(BLOCK - 1) + b"1", {0: bytes(BLOCK - 1) + b"1"}),
    ],
    ids=["one", "holes", "short-end", "zeros-at-end", "one-byte", "last-byte"],
)
def test_blocks(tmp_path: Path, program_log: ProgramLog, content: bytes, blocks: dict[int, bytes]) -> None:
    """Blocks of zeros need not be written; the last block is filled up.

    To read all of it beforehand takes a while: that is logged.
    """
    path = image(tmp_path, content)
    assert dict(full_blocks(path, BLOCK)) == blocks
    assert b"".join(chunks(path)) == content
    assert program_log.records == []
    assert survey(path, BLOCK, DISK_MIB) == len(blocks)
    assert [record.text for record in program_log.records] == [f"Checking '{path}', 0 MiB unpacked"]


def test_chunks(tmp_path: Path) -> None:
    """The whole image can be read as a stream, zeros and all, at most a MiB at a time."""
    content = bytes(1 << 20) + random_bytes((1 << 20) + 5) + bytes(7)
    found = list(chunks(image(tmp_path, content)))
    assert b"".join(found) == content
    assert max(map(len, found)) <= 1 << 20


def random_bytes(count: int) -> bytes:
    """Make bytes that don't get smaller by packing."""
    return os.urandom(count)


def test_tar_cut_off(tmp_path: Path) -> None:
    """A tar that was cut off before it was packed is an error to each reader."""
    path = written(tmp_path, gzip.compress(packed(("root.img", random_bytes(100_000)))[:50_000]))
    with pytest.raises(CloudError, match="is truncated or damaged"):
        survey(path, BLOCK, DISK_MIB)
    for read in (lambda: full_blocks(path, BLOCK), lambda: chunks(path)):
        with pytest.raises(CloudError, match="is truncated or damaged"):
            list(read())


@pytest.mark.parametrize("options", TARS, ids=" ".join)
def test_as_tar_packs_it(tmp_path: Path, options: list[str]) -> None:
    """The image is the same in each of tar's formats, with holes packed or left out."""
    content = bytearray(9 * (64 << 10) + 1000)
    for start in (0, 3, 4, 7):
        content[start * (64 << 10) : start * (64 << 10) + 2 * BLOCK] = random_bytes(2 * BLOCK)
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
