"""root.img in a tar that is read as a stream."""

from __future__ import annotations

import io

import pytest

from bosh_aws_cpi.cpi.stemcells.gzip_stream import GzipStream, Unusable
from bosh_aws_cpi.cpi.stemcells.image_file import full_blocks, survey
from bosh_aws_cpi.cpi.stemcells.tar_image import RawImage, TarReader
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

TYPICAL = RawImage(512, 512, [(0, 512)])
MIB = 1 << 20


def reader(tar: bytes) -> TarReader:
    """Begin to read a tar."""
    return TarReader(GzipStream(io.BytesIO(packed(tar))))


def read(tar: bytes) -> RawImage:
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
        header(b"folder/", kind=b"5") + header(b"fifo", kind=b"6"),
        header(b"hard", kind=b"1") + header(b"soft", kind=b"2") + header(b"device", kind=b"4"),
        member(b"././@LongLink", b"n" * 600 + b"\0", b"L") + member(ROOT),
        member(b"././@LongLink", b"n" * 600 + b"\0", b"K") + header(b"soft", kind=b"2"),
        attributes((b"path", b"n" * 600)) + member(ROOT),
        attributes((b"size", b"512")) + header(b"notes", 0) + DATA,
        member(b"x", b"18 comment=abcdef\n", b"g"),
        member(b"notes", b"x" * 513),
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
        "odd-size",
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
    """The image's map has four segments in the header, 21 in each extension; another's is skipped."""
    segments = [(number * 1024, 512) for number in range(26)]
    other = sparse([(0, 512)], 512, 512, more=True, name=b"rest.img")
    tar = other + extension([], more=False) + DATA + sparse(segments[:4], 1 << 20, 26 * 512, more=True)
    tar += extension(segments[4:25], more=True) + extension([segments[25], (1 << 20, 0)], more=False)
    assert read(tar + DATA * 26 + END) == RawImage(1 << 20, 26 * 512, segments)


def test_sparse_of_another_format() -> None:
    """A sparse header that is not in GNU's format is refused."""
    gnu = sparse([(0, 512)], 512, 512)
    block = gnu[:257] + b"ustar\x0000" + gnu[265:]
    total = sum(block[:148] + b" " * 8 + block[156:])
    tar = block[:148] + b"%06o\0 " % total + block[156:] + DATA + END
    with pytest.raises(Unusable, match="a tar header has GNU's type S, but is not in GNU's format"):
        reader(tar).find_image()


def test_old_sparse_forms() -> None:
    """The forms of holes before version 1.0, which nothing writes unless it is told to, are refused."""
    for keys in (
        [(b"size", b"4096"), (b"map", b"1024,512,2048,512"), (b"name", ROOT)],
        [(b"size", b"4096"), (b"numblocks", b"1"), (b"offset", b"1024"), (b"numbytes", b"1024")],
    ):
        tar = attributes(*((b"GNU.sparse." + key, value) for key, value in keys)) + member(ROOT, 2 * DATA)
        with pytest.raises(Unusable, match=r"contains root\.img in an old form with holes\. Pack it"):
            reader(tar + END).find_image()


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
    assert read(named + member(b"image", content) + END) == RawImage(40960, 1024, [(1024, 512), (20480, 512)])


@pytest.mark.parametrize("lines", [b"", b"0", b"2\n0\n512\n", b"1\n0\n512x\n", b"1\n\n512\n", b"-1\n"])
def test_wrong_map(lines: bytes) -> None:
    """An incomplete map in front of the data, or one without numbers, is refused."""
    keys = [(b"major", b"1"), (b"minor", b"0"), (b"realsize", b"4096"), (b"name", ROOT)]
    records = [(b"GNU.sparse." + key, value) for key, value in keys]
    with pytest.raises(Unusable, match="is truncated or damaged: "):
        reader(attributes(*records) + member(b"image", lines.ljust(512, b"\0")) + END).find_image()


def test_missing_attribute() -> None:
    """An image with holes that lacks its size is refused."""
    records = [(b"GNU.sparse.major", b"1"), (b"GNU.sparse.name", ROOT)]
    with pytest.raises(Unusable, match="an extended tar header has '' in place of a size"):
        reader(attributes(*records) + member(b"image", b"0\n".ljust(512, b"\0")) + END).find_image()


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
    with pytest.raises(Unusable, match=r"contains root\.img, but not as a file"):
        reader(header(ROOT + b"/", kind=kind) + IMAGE).find_image()


def test_others_behind_an_odd_size() -> None:
    """Members behind the image are read, even if its size is not a multiple of 512."""
    assert read(member(ROOT, DATA + b"odd") + member(b"notes") + END) == RawImage(515, 515, [(0, 515)])
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


@pytest.mark.parametrize("count", [8192, 8193])
def test_many_members(count: int) -> None:
    """Headers of more than 4 MiB are refused."""
    tar = reader(header(b"a") * (count - 1) + IMAGE)
    if count == 8192:
        assert tar.find_image() == TYPICAL
        return
    with pytest.raises(Unusable, match="its tar headers exceed 4 MiB"):
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
    path.write_bytes(packed(sparse([(0, 512), (offset, 512)], size, 1024) + DATA * 2 + END))
    block = 524_288
    assert survey(str(path), block, size // MIB) == 2
    last = bytes(block - 1024) + DATA + bytes(512)
    assert dict(full_blocks(str(path), block)) == {0: DATA.ljust(block, b"\0"), size // block - 1: last}
