"""root.img in a tar that is read as a stream, also a hostile one."""

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from bosh_aws_cpi.cpi.stemcells import tar_image
from bosh_aws_cpi.cpi.stemcells.gzip_stream import GzipStream, Unusable
from bosh_aws_cpi.cpi.stemcells.image_file import full_blocks, survey
from bosh_aws_cpi.cpi.stemcells.tar_image import MAX_SIZE, RawImage, Segment, TarReader
from tests.crafted_tars import (
    DATA,
    END,
    IMAGE,
    ROOT,
    attribute,
    attributes,
    bomb,
    extension,
    header,
    member,
    packed,
    sparse,
)

TYPICAL = RawImage(512, 512, [(0, 512)])


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
    "tar",
    [
        member(b"folder/root.img") + member() + b"",
        header(b"folder/", kind=b"5") + header(b"hard", kind=b"1") + member() + bytes(512),
        member(b"././@LongLink", b"n" * 600 + b"\0", b"L") + member(ROOT) + IMAGE,
        member(b"././@LongLink", b"n" * 600 + b"\0", b"K") + header(b"soft", kind=b"2") + IMAGE,
        member(b"././@LongLink", ROOT + b"\0", b"L") + member(b"cut") + END,
        attributes((b"path", b"n" * 600)) + member(ROOT) + IMAGE,
        attributes((b"path", b"./root.img")) + member(b"cut") + END,
        attributes((b"size", b"512")) + header(b"notes", 0) + DATA + IMAGE,
        attributes((b"size", b"512")) + header(ROOT) + DATA + END,
        member(b"x", b"18 comment=abcdef\n", b"g") + IMAGE,
        member(b"notes", b"x" * 513) + IMAGE + bytes(10_240),
        member(b"notes", b"", b"\0") + IMAGE + b"something else",
        *(member(name) + member(b"../root.img") + END for name in (b"././root.img", b"/root.img")),
    ],
)
def test_found(tar: bytes) -> None:
    """The image is found behind other members, by its name in any form; the tar may lack its end."""
    assert read(tar) == TYPICAL


def pax(*records: tuple[bytes, bytes]) -> bytes:
    """Return the extended header of an image with holes."""
    named = (b"major", b"1"), (b"name", ROOT), *records
    return attributes(*((b"GNU.sparse." + key, value) for key, value in named))


@pytest.mark.parametrize(
    ("tar", "what"),
    [
        (member(b"a") + header(ROOT + b"/", kind=b"0") + END, "but not as a file"),
        (header(ROOT, kind=b"3") + END, "but not as a file"),
        (member(ROOT, DATA + b"odd") + IMAGE, "twice"),
        (member(b"a", kind=b"M") + IMAGE, "a member of type 'M' with 512 bytes"),
        (member(b"a", kind=b"1") + IMAGE, "a member of type '1' with 512 bytes"),
        (attributes((b"path", ROOT)) + END, "its tar ends after an extended header"),
        (header(ROOT, 512, b"S") + DATA + END, "is not in GNU's format"),
        (attributes((b"GNU.sparse.map", b"1024,512"), (b"GNU.sparse.name", ROOT)) + member(b"a"), "old form"),
        (pax() + member(b"image", b"0\n".ljust(512, b"\0")), "'' in place of a size"),
        *(
            (pax((b"realsize", b"4096")) + member(b"image", lines.ljust(512, b"\0")), "truncated or damaged")
            for lines in (b"", b"0", b"2\n0\n512\n", b"1\n0\n512x\n", b"1\n\n512\n", b"-1\n")
        ),
        *(
            (member(b"x", attribute((key, b"0")), b"g") + IMAGE, "a name or size for all files")
            for key in (b"path", b"size", b"GNU.sparse.map")
        ),
    ],
)
def test_refused(tar: bytes, what: str) -> None:
    """What is not one image, or could be read in two ways, is refused."""
    with pytest.raises(Unusable, match=what):
        read(tar)


HEADERS = "its tar headers exceed 4 MiB"
MAP = attributes(
    (b"GNU.sparse.major", b"1"), (b"GNU.sparse.name", ROOT), (b"GNU.sparse.realsize", b"1048576")
) + header(b"image", 64 << 30)


@pytest.mark.parametrize(
    ("start", "pattern", "what"),
    [
        (header(b"l", 16 << 30, b"L"), bytes(512), HEADERS),
        (header(b"x", 16 << 30, b"x"), b"8 a=bcd\n", HEADERS),
        (sparse([(0, 8)], 8, 0, name=b"a") + header(b"l", 16 << 30, b"L"), bytes(512), HEADERS),
        (sparse([], 1 << 20, 512, more=True), extension([(0, 0)] * 21, more=True), HEADERS),
        (MAP + b"999999999999\n".ljust(512, b"1"), b"0\n0\n", "its sparse map has more than 262144 segments"),
        (MAP + b"262144\n".ljust(512, b"1"), b"1" * 512, HEADERS),
        (MAP, b"1" * 512, "an extended tar header has '11111111111111111111' in place of a size"),
    ],
    ids=["name", "attributes", "behind-a-map", "extensions", "segments", "no-segments", "no-number"],
)
def test_no_end(start: bytes, pattern: bytes, what: str) -> None:
    """Headers and maps that don't end are refused after 4 MiB at most."""
    stream = GzipStream(io.BytesIO(bomb(start, pattern, 5)))
    with pytest.raises(Unusable, match=what):
        TarReader(stream).find_image()
    assert stream.position <= 4 << 20


def test_much_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows the end of the tar is limited like the other members."""
    monkeypatch.setattr(tar_image, "MAX_OTHER_MIB", 1)
    with pytest.raises(Unusable, match="contains more than 1 MiB beside"):
        read(IMAGE + bytes(2 << 20))


def test_no_image() -> None:
    """Without an image in the tar the result is None; what follows the end does not count."""
    for tar in (member(b"notes") + END, END + member(), b""):
        assert TarReader(GzipStream(io.BytesIO(packed(tar)))).find_image() is None


def test_sparse() -> None:
    """GNU's map has four segments in the header, 21 in each extension; another file's is skipped."""
    segments = [(number * 1024, 512) for number in range(26)]
    other = sparse([(0, 512)], 512, 512, more=True, name=b"rest.img")
    tar = other + extension([], more=False) + DATA + sparse(segments[:4], 1 << 20, 26 * 512, more=True)
    tar += extension(segments[4:25], more=True) + extension([segments[25], (1 << 20, 0)], more=False)
    assert read(tar + DATA * 26 + END) == RawImage(1 << 20, 26 * 512, segments)


@pytest.mark.parametrize("is_last", [True, False])
def test_sparse_with_a_size(*, is_last: bool) -> None:
    """In pax, the size with holes is not that of the data, which may have a record before or behind it."""
    size = attribute((b"size", b"1536"))
    records = b"".join(
        attribute((b"GNU.sparse." + key, value))
        for key, value in ((b"major", b"1"), (b"name", ROOT), (b"realsize", b"40960"))
    )
    content = b"2\n1024\n512\n20480\n512\n".ljust(512, b"\0") + 2 * DATA
    tar = member(b"x", records + size if is_last else size + records, b"x") + member(b"image", content) + END
    assert read(tar) == RawImage(40960, 1024, [(1024, 512), (20480, 512)])


def test_holes_take_no_time(tmp_path: Path) -> None:
    """An image of 60 TiB whose holes are not packed is read as fast as its data; its blocks are in place."""
    path = tmp_path / "image"
    size, offset = 60 << 40, (60 << 40) - 1024
    path.write_bytes(packed(sparse([(0, 512), (offset, 512)], size, 1024) + DATA * 2 + END))
    block = 524_288
    assert survey(str(path), block, size >> 20) == 2
    last = bytes(block - 1024) + DATA + bytes(512)
    assert dict(full_blocks(str(path), block)) == {0: DATA.ljust(block, b"\0"), size // block - 1: last}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (b"00000001750\0", 1000),
        (b"       1750 ", 1000),
        (b"777777777777", 8**12 - 1),
        (bytes(12), 0),
        (b"\x80" + bytes(10) + b"\x05", 5),
        (b"\x80" + MAX_SIZE.to_bytes(11, "big"), MAX_SIZE),
        (b"00000000008\0", "has '00000000008' in place of a size"),
        (b"12\x0034567890\0", r"has '12\\x0034567890' in place of a size"),
        (b"\x80" + (MAX_SIZE + 1).to_bytes(11, "big"), f"has a size of {MAX_SIZE + 1} bytes"),
        (b"\xff" * 12, "has a size of -1 bytes"),
        (b"\xc0" + bytes(11), f"has a size of {-(1 << 94)} bytes"),
        (b"\xbf" + b"\xff" * 11, f"has a size of {(1 << 94) - 1} bytes"),
    ],
    ids=repr,
)
def test_number(field: bytes, value: int | str) -> None:
    """Numbers are octal digits with blanks, or base-256, not negative, and no larger than any disk."""
    if isinstance(value, int):
        assert tar_image.number(field) == value
    else:
        with pytest.raises(Unusable, match=value):
            tar_image.number(field)


@pytest.mark.parametrize("text", [b"", b"-1", b" 1", b"1_0", b"1" * 21, "٣".encode(), b"%d" % (MAX_SIZE + 1)])
def test_decimal(text: bytes) -> None:
    """A number of an extended header consists of up to 20 digits."""
    assert tar_image.decimal(b"%020d" % MAX_SIZE) == MAX_SIZE
    with pytest.raises(Unusable, match=r"in place of a size|which no disk has"):
        tar_image.decimal(text)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT])
def test_header(form: Literal[0, 1]) -> None:
    """A header has a type, a size and a name, which continues in the prefix of a ustar alone."""
    name = "folder/" * (20 if form == tarfile.USTAR_FORMAT else 2) + "root.img"
    entry = tarfile.TarInfo(name)
    entry.size = 7 << 30
    block = entry.tobuf(form)
    found = tar_image.parsed(block)
    assert found is not None
    assert (found.name, found.kind, found.size) == (name.encode(), b"0", 7 << 30)
    with pytest.raises(Unusable, match="wrong checksum"):
        tar_image.parsed(block[:344] + b"\x01" + block[345:])


@pytest.mark.parametrize("length", [b"0", b"-9", b"8", b"11", b"99", b"3", b"", b"999999999"])
def test_attributes(length: bytes) -> None:
    """Values may contain line feeds and equals signs; a record of a wrong length is refused."""
    records = [(b"path", b"root.img"), (b"comment", b"a=b\n12 c=d\n"), (b"empty", b""), (b"long", b"x" * 95)]
    content = b"".join(map(attribute, records))
    assert tar_image.attributes_of(content + bytes(5)) == dict(records)
    with pytest.raises(Unusable, match="has a record of a wrong length"):
        tar_image.attributes_of(content + length + b" path=a\n")


@pytest.mark.parametrize(
    ("segments", "stored", "ends"),
    [
        ([(2000, 0)], 0, []),
        ([(0, 512), (512, 512), (1999, 1), (2000, 0)], 1025, [(0, 512), (512, 512), (1999, 1)]),
        ([(0, 512), (511, 1)], 513, "wrong segment of 1 bytes at 511"),
        ([(1999, 2)], 2, "wrong segment of 2 bytes at 1999"),
        ([(2001, 0)], 0, "wrong segment of 0 bytes at 2001"),
        ([(0, 511), (512, 512)], 1023, "does not match its data"),
        ([(0, 512)], 511, "does not match its data"),
    ],
)
def test_map(segments: Sequence[Segment], stored: int, ends: Sequence[Segment] | str) -> None:
    """Segments without data are left out; those that overlap, leave the image or lack data are refused."""
    if isinstance(ends, str):
        with pytest.raises(Unusable, match=ends):
            tar_image.checked_map(segments, 2000, stored)
    else:
        assert tar_image.checked_map(segments, 2000, stored) == ends
