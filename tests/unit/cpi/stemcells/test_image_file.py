"""Tars that the program refuses and tarfile does not, and the image in each form that tar itself writes."""

import gzip
import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from bosh_aws_cpi.cpi.stemcells.image_file import check_image, chunks, full_blocks
from bosh_aws_cpi.errors import CloudError

BLOCK = 4096
DISK_MIB = 2
WIDE = 5 * BLOCK
"""A block in which data begins, and over whose end it goes."""
TAR = shutil.which("tar") or "tar"
IS_GNU_TAR = b"GNU tar" in subprocess.run([TAR, "--version"], capture_output=True, check=True).stdout
TARS = [["--format=ustar"]]
"""Options of tar: without the option for holes, holes are zeros."""
if IS_GNU_TAR:
    TARS += [["--format=v7"], ["--format=gnu", "-S"], ["--format=posix", "-S"]]


def tar_of(*members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return a tar of members, each with its content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size, member.type = len(content), kind
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def cut_off_holes() -> bytes:
    """Return a header that announces another one with holes, behind which there is none."""
    header = bytearray(tar_of(("root.img", b""), kind=tarfile.GNUTYPE_SPARSE)[:512])
    header[482] = 8  # anything but 0
    header[152] += 1  # the eights of the checksum
    return bytes(header)


def written(folder: Path, tar: bytes) -> str:
    """Write a gzipped tar."""
    path = folder / "image"
    path.write_bytes(gzip.compress(tar, 1))
    return str(path)


def header(size: int, name: str = "root.img", **pax: str) -> bytes:
    """Return the headers of a member, the image, of this size."""
    member = tarfile.TarInfo(name)
    member.size, member.pax_headers = size, {f"GNU.sparse.{key}": value for key, value in pax.items()}
    return member.tobuf(tarfile.PAX_FORMAT)


IMAGE, LARGE = ("root.img", b"1" * BLOCK), ("a", bytes(257 << 20))
HOLES = {"major": "1", "minor": "0", "name": "root.img", "realsize": str(10 << 30)}
TOO_LARGE = r"needs 3 MiB, .* only 2 MiB: set the cloud property disk to 1024"


@pytest.mark.parametrize(
    ("tar", "what"),
    [
        (tar_of(IMAGE, ("./root.img", b"")), "contains root.img twice"),
        (tar_of(("root.img", b""), kind=tarfile.SYMTYPE), "but not as a file"),
        (tar_of(LARGE, IMAGE), "contains more than 256 MiB beside"),
        (tar_of(IMAGE, LARGE), "contains more than 256 MiB beside"),
        (tar_of(IMAGE) + LARGE[1], "contains more than 256 MiB beside"),
        (tar_of(IMAGE)[:512] + b"1" * 512, "is truncated or damaged"),
        (header(0, comment="1")[:-512] * 600 + tar_of(IMAGE), "damaged: maximum recursion depth exceeded"),
        (header(0, "a" * 101)[:-512] * 600 + tar_of(IMAGE), "damaged: maximum recursion depth exceeded"),
        (header(0, comment="1" * (17 << 20)) + tar_of(IMAGE), "damaged: headers have .* more than 16 MiB"),
        (tar_of(("a", b""))[:512] + header(-1536, "b"), "damaged: a member begins before the end of the one"),
        (cut_off_holes(), "is truncated or damaged"),
        (header((DISK_MIB << 20) + 1), TOO_LARGE),
        (header(9 << 30, **HOLES) + b"1\n0\n1024\n".ljust(512, b"\0"), "Pack it with --format=gnu"),
    ],
    ids=[
        *("twice", "link", "before", "after", "behind", "short"),
        *("headers", "names", "large header", "negative", "cut-off holes", "large", "holes"),
    ],
)
def test_refused(tmp_path: Path, tar: bytes, what: str) -> None:
    """One file root.img, which fits the disk, with little beside it, is all that a tar may contain.

    Nor may tar have packed holes and more than 8 GiB of data in its newest form, which tarfile misreads.
    """
    with pytest.raises(CloudError, match=what):
        check_image(written(tmp_path, tar), BLOCK, DISK_MIB)


def test_tar_cut_off(tmp_path: Path) -> None:
    """A tar that was cut off before it was packed is an error to its reader."""
    path = written(tmp_path, tar_of(("root.img", os.urandom(100_000)))[:50_000])
    with pytest.raises(CloudError, match="is truncated or damaged"):
        list(chunks(path))


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
    found = dict(full_blocks(path, WIDE))
    read = b"".join(found.get(index, bytes(WIDE)) for index in range(max(found) + 1))
    assert read.ljust(len(content), b"\0") == content
    assert check_image(path, WIDE, DISK_MIB) == len(found) == 5
