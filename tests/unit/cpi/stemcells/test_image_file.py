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

from bosh_aws_cpi.cpi.stemcells.image_file import Survey, chunks, full_blocks, survey
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
    sparse = [["--format=posix", "-S", f"--sparse-version={each}"] for each in ("0.0", "0.1", "1.0")]
    TARS += [["--format=v7"], ["--format=gnu"], ["--format=gnu", "-S"], ["--format=posix"], *sparse]
AGAIN = ". Download the stemcell again"


def packed(*members: tuple[str, bytes | None]) -> bytes:
    """Pack files into a tar; none: a folder."""
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
    ids=range(6),
)
def test_blocks(tmp_path: Path, program_log: ProgramLog, content: bytes, blocks: dict[int, bytes]) -> None:
    """Blocks of zeros need not be written; the last block is filled up.

    To read all of it beforehand takes a while: that is logged.
    """
    path = image(tmp_path, content)
    assert dict(full_blocks(path, BLOCK)) == blocks
    assert b"".join(chunks(path)) == content
    assert program_log.records == []
    assert survey(path, BLOCK, DISK_MIB) == Survey(len(content), len(blocks))
    assert [record.text for record in program_log.records] == [f"Checking '{path}', 0 MiB unpacked"]


@pytest.mark.parametrize("content", [b"", ZEROS, bytes(BLOCK + 1)], ids=len)
def test_empty(tmp_path: Path, content: bytes) -> None:
    """An image of nothing but zeros boots no VM: it is refused before anything is made."""
    path = image(tmp_path, content)
    assert list(full_blocks(path, BLOCK)) == []
    with pytest.raises(CloudError) as caught:
        survey(path, BLOCK, DISK_MIB)
    assert caught.value.message == f"root.img in '{path}' is empty{AGAIN}"


def test_chunks(tmp_path: Path) -> None:
    """The whole image can be read as a stream, zeros and all, at most a MiB at a time."""
    content = bytes(1 << 20) + random_bytes((1 << 20) + 5) + bytes(7)
    found = list(chunks(image(tmp_path, content)))
    assert b"".join(found) == content
    assert max(map(len, found)) <= 1 << 20


@pytest.mark.parametrize("name", ["root.img", "./root.img"])
def test_among_others(tmp_path: Path, name: str) -> None:
    """The image is found wherever it is in the tar."""
    members = [
        ("sub", None),
        ("other", b"2" * 5000),
        ("sub/root.img", b"3"),
        (name, ONES),
        ("last", b""),
    ]
    path = written(tmp_path, gzip.compress(packed(*members)))
    assert list(full_blocks(path, BLOCK)) == [(0, ONES)]
    assert survey(path, BLOCK, DISK_MIB) == Survey(BLOCK, 1)


@pytest.mark.parametrize("more", [0, 1, (1 << 20) + 1])
def test_size(tmp_path: Path, more: int) -> None:
    """An image must fit onto the disk; else the message says what to set, in whole GiB."""
    path = image(tmp_path, b"1" + bytes((DISK_MIB << 20) - 1 + more))
    if not more:
        assert survey(path, BLOCK, DISK_MIB).size == DISK_MIB << 20
        return
    with pytest.raises(CloudError) as caught:
        survey(path, BLOCK, DISK_MIB)
    needed = DISK_MIB + -(-more // (1 << 20))
    assert caught.value.message == (
        f"root.img in '{path}' needs {needed} MiB, but the stemcell's disk has only 2 MiB: "
        "set the cloud property disk to 1024"
    )


def random_bytes(count: int) -> bytes:
    """Make bytes that don't get smaller by packing."""
    return os.urandom(count)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_cut_off(tmp_path: Path, part: float) -> None:
    """A download that was cut off is told as such, whether the tar or the gzip ends early."""
    whole = gzip.compress(packed(("root.img", random_bytes(100_000))))
    path = written(tmp_path, whole[: int(len(whole) * part)])
    with pytest.raises(CloudError) as caught:
        survey(path, BLOCK, DISK_MIB)
    assert caught.value.message.startswith(f"Stemcell image '{path}' is truncated or damaged: ")
    assert caught.value.message.endswith(AGAIN)


def test_tar_cut_off(tmp_path: Path) -> None:
    """So is one whose tar was packed before it was whole."""
    path = written(tmp_path, gzip.compress(packed(("root.img", random_bytes(100_000)))[:50_000]))
    with pytest.raises(CloudError, match="is truncated or damaged"):
        survey(path, BLOCK, DISK_MIB)
    for read in (lambda: full_blocks(path, BLOCK), lambda: chunks(path)):
        with pytest.raises(CloudError, match="is truncated or damaged"):
            list(read())


@pytest.mark.parametrize("place", [-5, 1000])
def test_damaged(tmp_path: Path, place: int) -> None:
    """A bit that was turned over is found by the checksum at the end, before anything is made."""
    whole = bytearray(gzip.compress(packed(("root.img", random_bytes(100_000)))))
    whole[place] ^= 1
    path = written(tmp_path, bytes(whole))
    with pytest.raises(CloudError) as caught:
        survey(path, BLOCK, DISK_MIB)
    assert caught.value.message.startswith(f"Stemcell image '{path}' is ")
    assert caught.value.message.endswith(AGAIN)


def test_damaged_behind_the_image(tmp_path: Path) -> None:
    """That checksum is of all that was packed, also of what comes behind the image."""
    whole = bytearray(gzip.compress(packed(("root.img", ONES), ("more", bytes(5 << 20)))))
    whole[-5] ^= 1
    with pytest.raises(CloudError, match="Download the stemcell again"):
        survey(written(tmp_path, bytes(whole)), BLOCK, DISK_MIB)


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", packed(("root.img", ONES))], ids=["empty", "text", "tar"]
)
def test_no_gzip(tmp_path: Path, content: bytes) -> None:
    """A file that is no gzipped tar is refused."""
    path = written(tmp_path, content)
    with pytest.raises(CloudError) as caught:
        survey(path, BLOCK, DISK_MIB)
    assert caught.value.message.startswith(f"Stemcell image '{path}' is ")
    assert caught.value.message.endswith(AGAIN)


def test_gzip_of_no_tar(tmp_path: Path) -> None:
    """So is a gzipped file that is no tar."""
    path = written(tmp_path, gzip.compress(b"nonsense" * 1000))
    with pytest.raises(CloudError, match="is truncated or damaged"):
        survey(path, BLOCK, DISK_MIB)


@pytest.mark.parametrize("members", [[], [("other.img", ONES)]], ids=len)
def test_no_image(tmp_path: Path, members: list[tuple[str, bytes | None]]) -> None:
    """A tar without an image is another cloud's stemcell."""
    path = written(tmp_path, gzip.compress(packed(*members)))
    with pytest.raises(CloudError) as caught:
        survey(path, BLOCK, DISK_MIB)
    assert caught.value.message == f"Stemcell image '{path}' contains no root.img: is it a stemcell for AWS?"


@pytest.mark.parametrize("name", ["root.img", "./root.img"])
def test_folder(tmp_path: Path, name: str) -> None:
    """So is one with a folder of the image's name: which of the two counts, should a file follow?"""
    path = written(tmp_path, gzip.compress(packed((name, None), ("root.img", ONES))))
    with pytest.raises(CloudError, match=r"contains root\.img as a folder"):
        survey(path, BLOCK, DISK_MIB)


@pytest.mark.parametrize("options", TARS, ids=" ".join)
def test_as_tar_packs_it(tmp_path: Path, options: list[str]) -> None:
    """An image is the same whichever format tar packs it in, and whether it packs the holes."""
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
    assert survey(path, BLOCK, DISK_MIB) == Survey(len(content), 8)


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there, or is a folder, says so."""
    for path, why in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(CloudError) as caught:
            survey(str(path), BLOCK, DISK_MIB)
        assert caught.value.message == f"Stemcell image '{path}' can't be read: {why}"
