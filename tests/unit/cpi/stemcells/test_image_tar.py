"""root.img in a gzipped tar: what is read, and which limits hold."""

from __future__ import annotations

import gzip
import io
import random
from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.cpi.stemcells.image_file import Survey, chunks, full_blocks, survey
from bosh_aws_cpi.errors import CloudError
from tests.crafted_tars import (
    DATA,
    END,
    IMAGE,
    ROOT,
    attributes,
    extension,
    header,
    member,
    packed,
    sparse,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MIB = 1 << 20
DISK_MIB = 16
RANDOM = random.Random(1).randbytes(MIB)  # noqa: S311 - the same each time
LARGE = packed(member(ROOT, RANDOM + bytes(3 * MIB)) + END)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[bytes], bytes]:
    """Return a function that surveys and reads the image in a file."""

    def look(content: bytes) -> bytes:
        path = tmp_path / "image"
        path.write_bytes(content)
        survey(str(path), MIB, DISK_MIB)
        return b"".join(chunks(str(path)))

    return look


@pytest.mark.parametrize(
    "before",
    [
        b"",
        member(b"notes"),
        member(b"folder/root.img"),
        header(b"label", kind=b"V") + header(b"folder/", kind=b"5") + header(b"fifo", kind=b"6"),
        header(b"hard", kind=b"1") + header(b"soft", kind=b"2") + header(b"device", kind=b"4"),
        member(b"././@LongLink", b"n" * 600 + b"\0", b"L") + member(ROOT),
        member(b"././@LongLink", b"n" * 600 + b"\0", b"K") + header(b"soft", kind=b"2"),
        attributes((b"path", b"n" * 600)) + member(ROOT),
        attributes((b"size", b"512")) + header(b"notes", 0) + DATA,
        member(b"x", b"18 comment=abcdef\n", b"g") + member(b"notes"),
        member(b"notes", b"x" * 513, b"7"),
        member(b"notes", b"", b"\0"),
    ],
    ids=range(12),
)
@pytest.mark.parametrize("end", [END, b"", bytes(512), bytes(10_240), END + b"something else"])
def test_found(read: Callable[[bytes], bytes], before: bytes, end: bytes) -> None:
    """The image is found behind whatever a tar may contain, and its end is the tar's or the file's."""
    assert read(packed(before + member() + before + end)) == DATA


@pytest.mark.parametrize(
    "name", [b"root.img", b"./root.img", b"././root.img", b"/root.img", b".//./root.img"]
)
def test_names(read: Callable[[bytes], bytes], name: bytes) -> None:
    """Each name that tar unpacks to root.img is the image's; so two of them are two images."""
    assert read(packed(member(name) + member(b"../root.img") + END)) == DATA
    assert read(packed(attributes((b"path", name)) + member(b"cut") + END)) == DATA
    assert read(packed(member(b"l", name + b"\0", b"L") + member(b"cut") + END)) == DATA
    with pytest.raises(CloudError, match=r"contains root\.img twice"):
        read(packed(member(ROOT, DATA + b"odd") + member(name) + END))


def test_sparse(read: Callable[[bytes], bytes]) -> None:
    """The map of its holes may go on behind the header; that of another member is skipped."""
    first = [(0, 512), (1024, 512), (2048, 512), (3072, 512)]
    more = [(4096, 512), (8192, 0)]
    other = sparse([(0, 512)], 512, 512, more=True, name=b"rest.img")
    tar = other + extension([], more=False) + DATA + sparse(first, 8192, 5 * 512, more=True)
    content = (DATA + bytes(512)) * 5
    assert read(packed(tar + extension(more, more=False) + DATA * 5 + END)) == content.ljust(8192, b"\0")


@pytest.mark.parametrize("lines", [b"", b"0", b"2\n0\n512\n", b"1\n0\n512x\n", b"1\n\n512\n", b"1\n512\n0"])
def test_wrong_map(read: Callable[[bytes], bytes], lines: bytes) -> None:
    """A map in front of the data is complete, and consists of numbers."""
    keys = [(b"major", b"1"), (b"minor", b"0"), (b"realsize", b"4096"), (b"name", ROOT)]
    records = [(b"GNU.sparse." + key, value) for key, value in keys]
    with pytest.raises(CloudError, match="is truncated or damaged: "):
        read(packed(attributes(*records) + member(b"image", lines.ljust(512, b"\0")) + END))


@pytest.mark.parametrize("segments", [b"512,512,0,512", b"0,1024,512,512", b"0,-512", b"4096,512"])
def test_wrong_segments(read: Callable[[bytes], bytes], segments: bytes) -> None:
    """The data between the holes is in order, and inside the image."""
    records = [(b"GNU.sparse.size", b"4096"), (b"GNU.sparse.map", segments), (b"GNU.sparse.name", ROOT)]
    with pytest.raises(CloudError, match=r"its sparse map has a wrong segment of -?[0-9]+ bytes at "):
        read(packed(attributes(*records) + member(b"image", DATA * 3) + END))


@pytest.mark.parametrize("count", [1000, 1001])
def test_many_members(read: Callable[[bytes], bytes], count: int) -> None:
    """A tar with the image alone has few members."""
    tar = packed(member(b"a") * (count - 1) + IMAGE)
    if count == 1000:
        assert read(tar) == DATA
        return
    with pytest.raises(CloudError, match="contains more than 1000 files"):
        read(tar)


@pytest.mark.parametrize("size", [255, 257])
def test_much_beside_it(read: Callable[[bytes], bytes], size: int) -> None:
    """It contains little else: members before and behind the image, and what follows them, count together."""
    part = header(b"a", size * MIB // 2) + bytes(size * MIB // 2)
    tar = packed(part + member() + part + END)
    if size < 256:
        assert read(tar) == DATA
        return
    with pytest.raises(CloudError, match=r"contains more than 256 MiB beside root\.img"):
        read(tar)


def test_holes_take_no_time(tmp_path: Path) -> None:
    """An image of 60 TiB whose holes are not packed is read as fast as its data; its blocks are in place."""
    path = tmp_path / "image"
    size, offset = 60 << 40, (60 << 40) - 1024
    keys = [(b"size", b"%d" % size), (b"map", b"0,512,%d,512" % offset), (b"name", ROOT)]
    records = [(b"GNU.sparse." + key, value) for key, value in keys]
    path.write_bytes(packed(attributes(*records) + member(b"image", DATA * 2) + END))
    block = 524_288
    assert survey(str(path), block, size // MIB) == Survey(size, 2)
    last = bytes(block - 1024) + DATA + bytes(512)
    assert dict(full_blocks(str(path), block)) == {0: DATA.ljust(block, b"\0"), size // block - 1: last}


@pytest.mark.parametrize("zeros", [0, 1, MIB // 2])
def test_joined_streams(read: Callable[[bytes], bytes], zeros: int) -> None:
    """Gzip streams that follow each other are one, also with zeros between and behind them."""
    parts = (gzip.compress(part) for part in (IMAGE[:100], b"", IMAGE[100:900], IMAGE[900:]))
    assert read(bytes(zeros).join([*parts, b""])) == DATA


def test_named_stream(read: Callable[[bytes], bytes]) -> None:
    """A gzip stream may name the file that it was."""
    file = io.BytesIO()
    with gzip.GzipFile("image.tar", "wb", fileobj=file) as packer:
        packer.write(IMAGE)
    assert read(file.getvalue()) == DATA


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is truncated or damaged: it is empty"),
        (b"\x1f", "is not a gzipped tar"),
        (b"PK\x03\x04", "is not a gzipped tar"),
        (LARGE[:5], "is truncated or damaged: its gzip stream ends too early"),
        (LARGE[:-1], "is truncated or damaged: its gzip stream ends too early"),
        (
            LARGE[:-1] + b"x",
            r"is truncated or damaged: its gzip stream is invalid \(incorrect length check\)",
        ),
        (LARGE[:-5] + b"x" + LARGE[-4:], r"its gzip stream is invalid \(incorrect data check\)"),
        (LARGE[:3] + b"\xff" + LARGE[4:], r"its gzip stream is invalid \(unknown header flags set\)"),
        (LARGE + b"x", "is truncated or damaged: something else follows its gzip stream"),
        (LARGE + b"\x1f", "is truncated or damaged: its gzip stream ends too early"),
        (LARGE + LARGE[:100], "is truncated or damaged: its gzip stream ends too early"),
    ],
    ids=range(11),
)
def test_damaged_stream(read: Callable[[bytes], bytes], content: bytes, what: str) -> None:
    """A damaged gzip file is an error that says what is wrong with it."""
    with pytest.raises(CloudError, match=what):
        read(content)


@pytest.mark.parametrize(
    "idle",
    [bytes(5 * MIB), gzip.compress(b"") * (5 * MIB // 20), b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 5 * MIB],
    ids=["zeros", "empty", "name"],
)
def test_idle_stream(read: Callable[[bytes], bytes], idle: bytes) -> None:
    """A large part of a gzip file may not unpack to nothing; a small part does no harm."""
    assert read(packed(IMAGE) + packed(b"") * 1000) == DATA
    with pytest.raises(CloudError, match="4 MiB of its gzip stream unpack to almost nothing"):
        read(LARGE + idle + LARGE)


@pytest.mark.parametrize("level", [0, 1])
def test_incompressible(read: Callable[[bytes], bytes], level: int) -> None:
    """Data that can't be packed is no such part, however much of it there is."""
    data = RANDOM * 12
    assert read(gzip.compress(member(ROOT, data) + END, level)) == data
