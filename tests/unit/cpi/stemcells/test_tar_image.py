"""root.img in a tar that is read as a stream."""

from __future__ import annotations

import io

import pytest

from bosh_aws_cpi.cpi.stemcells.gzip_stream import GzipStream
from bosh_aws_cpi.cpi.stemcells.image_file import Survey, full_blocks, survey
from bosh_aws_cpi.cpi.stemcells.tar_image import Image, TarReader
from bosh_aws_cpi.cpi.stemcells.unusable import Unusable
from tests.crafted_tars import (
    DATA,
    END,
    IMAGE,
    ROOT,
    attribute,
    attributes,
    extension,
    header,
    member,
    packed,
    sparse,
)

TYPICAL = Image(512, 512, [(0, 512)])
MIB = 1 << 20


def reader(tar: bytes) -> TarReader:
    """Begin to read a tar."""
    return TarReader(GzipStream(io.BytesIO(packed(tar))))


def read(tar: bytes) -> Image:
    """Find an image, and read all that follows it."""
    stream = GzipStream(io.BytesIO(packed(tar)))
    found = TarReader(stream)
    image = found.find_image()
    assert image is not None
    assert stream.read(512) == DATA
    stream.skip(image.stored - 512)
    found.finish(image)
    return image


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
        member(b"x", b"18 comment=abcdef\n", b"g"),
        member(b"notes", b"x" * 513, b"7"),
        member(b"notes", b"", b"\0"),
    ],
    ids=[
        "nothing",
        "file",
        "same-name-in-folder",
        "no-data",
        "links",
        "long-name",
        "long-link",
        "pax-path",
        "pax-size",
        "global",
        "contiguous",
        "old-file",
    ],
)
@pytest.mark.parametrize(
    "end",
    [END, b"", bytes(512), bytes(10_240), END + b"something else"],
    ids=["end", "no-end", "half-end", "padded-end", "more-behind"],
)
def test_found(before: bytes, end: bytes) -> None:
    """The image is found behind other members; the tar ends with zeros or with the file."""
    assert read(before + member() + before + end) == TYPICAL


def test_named_by_extended_headers() -> None:
    """The image's name and size may be in extended headers."""
    assert read(member(b"l", ROOT + b"\0", b"L") + member(b"cut") + END) == TYPICAL
    assert read(attributes((b"path", b"./root.img")) + member(b"cut") + END) == TYPICAL
    assert read(attributes((b"size", b"512")) + header(ROOT) + DATA + END) == TYPICAL


def test_sparse() -> None:
    """The image's map may continue behind the header; another member's map is skipped."""
    first = [(0, 512), (1024, 512), (2048, 512), (3072, 512)]
    more = [(4096, 512), (8192, 0)]
    other = sparse([(0, 512)], 512, 512, more=True, name=b"rest.img")
    tar = other + extension([], more=False) + DATA + sparse(first, 8192, 5 * 512, more=True)
    assert read(tar + extension(more, more=False) + DATA * 5 + END) == Image(8192, 5 * 512, [*first, more[0]])


@pytest.mark.parametrize(
    ("keys", "content"),
    [
        ([(b"size", b"4096"), (b"map", b"1024,512,2048,512")], b""),
        (
            [
                (b"size", b"4096"),
                (b"numblocks", b"2"),
                *((b"offset", b"1024"), (b"numbytes", b"512"), (b"offset", b"2048"), (b"numbytes", b"512")),
            ],
            b"",
        ),
        (
            [(b"major", b"1"), (b"minor", b"0"), (b"realsize", b"4096")],
            b"2\n1024\n512\n2048\n512\n".ljust(512, b"\0"),
        ),
    ],
    ids=["0.1", "0.0", "1.0"],
)
def test_sparse_by_attributes(keys: list[tuple[bytes, bytes]], content: bytes) -> None:
    """The image's map may be in an extended header, or in front of its data."""
    records = [(b"GNU.sparse." + key, value) for key, value in [*keys, (b"name", ROOT)]]
    tar = attributes(*records) + member(b"GNUSparseFile.1/root.img", content + 2 * DATA) + END
    assert read(tar) == Image(4096, 1024, [(1024, 512), (2048, 512)])


@pytest.mark.parametrize("is_last", [True, False])
def test_sparse_with_a_size(is_last: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Its size with holes is not the size of its data, which has a record of its own beyond 8 GiB.

    GNU tar and bsdtar write that record last.
    """
    keys = [(b"major", b"1"), (b"minor", b"0"), (b"name", ROOT), (b"realsize", b"40960")]
    records = [(b"GNU.sparse." + key, value) for key, value in keys]
    size = (b"size", b"1536")
    content = b"2\n1024\n512\n20480\n512\n".ljust(512, b"\0") + 2 * DATA
    named = attributes(*records, size) if is_last else attributes(size, *records)
    assert read(named + member(b"image", content) + END) == Image(40960, 1024, [(1024, 512), (20480, 512)])


@pytest.mark.parametrize("lines", [b"", b"0", b"2\n0\n512\n", b"1\n0\n512x\n", b"1\n\n512\n", b"-1\n"])
def test_wrong_map(lines: bytes) -> None:
    """An incomplete map in front of the data, or one without numbers, is refused."""
    keys = [(b"major", b"1"), (b"minor", b"0"), (b"realsize", b"4096"), (b"name", ROOT)]
    records = [(b"GNU.sparse." + key, value) for key, value in keys]
    with pytest.raises(Unusable, match="is truncated or damaged: "):
        reader(attributes(*records) + member(b"image", lines.ljust(512, b"\0")) + END).find_image()


@pytest.mark.parametrize("missing", [b"size", b"map"])
def test_missing_attribute(missing: bytes) -> None:
    """An image with holes that lacks its size or map is refused."""
    keys = {b"size": b"512", b"map": b"0,512", b"name": ROOT}
    del keys[missing]
    records = [(b"GNU.sparse." + key, value) for key, value in keys.items()]
    with pytest.raises(Unusable, match="is truncated or damaged: "):
        reader(attributes(*records) + IMAGE).find_image()


@pytest.mark.parametrize(
    "name", [b"root.img", b"./root.img", b"././root.img", b"/root.img", b".//./root.img"]
)
def test_names(name: bytes) -> None:
    """Each name that tar unpacks to root.img is the image's; two such members are refused."""
    assert read(member(name) + member(b"../root.img") + END) == TYPICAL
    with pytest.raises(Unusable, match=r"contains root\.img twice"):
        read(member() + member(name) + END)


@pytest.mark.parametrize("kind", [b"0", b"\0"])
def test_old_folder(kind: bytes) -> None:
    """In old tars a name with a slash at its end is a folder."""
    with pytest.raises(Unusable, match=r"contains root\.img as a folder"):
        reader(header(ROOT + b"/", kind=kind) + IMAGE).find_image()


def test_others_behind_an_odd_size() -> None:
    """Members behind the image are read, even if its size is not a multiple of 512."""
    assert read(member(ROOT, DATA + b"odd") + member(b"notes") + END) == Image(515, 515, [(0, 515)])
    with pytest.raises(Unusable, match=r"contains root\.img twice"):
        read(member(ROOT, DATA + b"odd") + IMAGE)


@pytest.mark.parametrize("key", [b"path", b"size", b"GNU.sparse.map", b"GNU.sparse.name"])
def test_global_header(key: bytes) -> None:
    """A global header with a name or size is refused."""
    with pytest.raises(Unusable, match="a global tar header has a name or size for all files"):
        reader(member(b"x", attribute((key, b"0")), b"g") + IMAGE).find_image()


def test_no_image() -> None:
    """Without an image in the tar the result is None."""
    assert reader(member(b"notes") + END).find_image() is None
    assert reader(END + member()).find_image() is None
    assert reader(b"").find_image() is None


@pytest.mark.parametrize("count", [1000, 1001])
def test_many_members(count: int) -> None:
    """More than 1000 members are refused."""
    tar = reader(member(b"a") * (count - 1) + IMAGE)
    if count == 1000:
        assert tar.find_image() == TYPICAL
        return
    with pytest.raises(Unusable, match="contains more than 1000 files"):
        tar.find_image()


@pytest.mark.parametrize("size", [255, 256])
def test_much_beside_it(size: int) -> None:
    """More than 256 MiB beside the image are refused; members before and behind it count together."""
    half = header(b"a", size * MIB // 2)
    tar = half + bytes(size * MIB // 2)
    if size < 256:
        assert read(tar + member() + tar + END) == TYPICAL
        return
    with pytest.raises(Unusable, match=r"contains more than 256 MiB beside root\.img"):
        read(tar + member() + tar + END)


def test_holes_take_no_time(tmp_path_factory: pytest.TempPathFactory) -> None:
    """An image of 60 TiB whose holes are not packed is read as fast as its data; its blocks are in place."""
    path = tmp_path_factory.mktemp("image") / "image"
    size, offset = 60 << 40, (60 << 40) - 1024
    keys = [(b"size", b"%d" % size), (b"map", b"0,512,%d,512" % offset), (b"name", ROOT)]
    records = [(b"GNU.sparse." + key, value) for key, value in keys]
    path.write_bytes(packed(attributes(*records) + member(b"image", DATA * 2) + END))
    block = 524_288
    assert survey(str(path), block, size // MIB) == Survey(size, 2)
    last = bytes(block - 1024) + DATA + bytes(512)
    assert dict(full_blocks(str(path), block)) == {0: DATA.ljust(block, b"\0"), size // block - 1: last}
