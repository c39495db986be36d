"""The headers of a tar: correct ones are read, and wrong ones are errors."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING, Literal

import pytest

from bosh_aws_cpi.cpi.stemcells import tar_image
from bosh_aws_cpi.cpi.stemcells.gzip_stream import Unusable
from bosh_aws_cpi.cpi.stemcells.tar_image import MAX_SIZE, Segment
from tests import crafted_tars

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (b"00000001750\0", 1000),
        (b"       1750 ", 1000),
        (b"777777777777", 8**12 - 1),
        (bytes(12), 0),
        (b"            ", 0),
        (b"\x80" + bytes(10) + b"\x05", 5),
        (b"\x80" + MAX_SIZE.to_bytes(11, "big"), MAX_SIZE),
    ],
    ids=repr,
)
def test_number(field: bytes, value: int) -> None:
    """Numbers are octal digits with blanks, or base-256; a blank field is zero."""
    assert tar_image.number(field) == value


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        (b"-0000001000\0", "has '-0000001000' in place of a size"),
        (b"00000000008\0", "has '00000000008' in place of a size"),
        (b"12\x0034567890\0", "has '12\\x0034567890' in place of a size"),
        (b"1 2 3 4 5 6 ", "has '1 2 3 4 5 6' in place of a size"),
        (b"\x80" + (MAX_SIZE + 1).to_bytes(11, "big"), f"has a size of {MAX_SIZE + 1} bytes"),
        (b"\xff" * 12, "has a size of -1 bytes"),
        (b"\xc0" + bytes(11), f"has a size of {-(1 << 94)} bytes"),
        (b"\xbf" + b"\xff" * 11, f"has a size of {(1 << 94) - 1} bytes"),
    ],
    ids=repr,
)
def test_no_number(field: bytes, shown: str) -> None:
    """The error quotes a field that is not a number, and a size that is negative or larger than any disk."""
    with pytest.raises(Unusable) as caught:
        tar_image.number(field)
    assert str(caught.value).startswith(f"is truncated or damaged: a tar header {shown}")


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_header(form: Literal[0, 1, 2]) -> None:
    """A header has a type, a size and a name, which may continue in the prefix of a ustar."""
    member = tarfile.TarInfo("root.img")
    member.size = 9 << 30 if form == tarfile.GNU_FORMAT else 7 << 30
    found = tar_image.parsed(member.tobuf(form))
    assert found is not None
    assert (found.name, found.kind, found.size) == (b"root.img", b"0", member.size)
    deep = tarfile.TarInfo("folder/" * 20 + "root.img").tobuf(tarfile.USTAR_FORMAT)
    found = tar_image.parsed(deep)
    assert found is not None
    assert found.name == b"folder/" * 20 + b"root.img"


def test_end() -> None:
    """A block of zeros ends the tar."""
    assert tar_image.parsed(bytes(512)) is None


@pytest.mark.parametrize("change", [-1, 1])
def test_checksum(change: int) -> None:
    """A wrong checksum is an error."""
    block = crafted_tars.header("\u00fc.img".encode(), 5)
    total = sum(block[:148] + b" " * 8 + block[156:])
    with pytest.raises(Unusable, match="has a wrong checksum"):
        tar_image.parsed(block[:148] + b"%06o\0 " % (total + change) + block[156:])


def test_attributes() -> None:
    """Values of records may contain line feeds and equals signs; zeros may follow the records."""
    records = [(b"path", b"root.img"), (b"comment", b"a=b\n12 c=d\n"), (b"empty", b""), (b"long", b"x" * 95)]
    content = b"".join(map(crafted_tars.attribute, records))
    assert tar_image.attributes_of(content + bytes(5)) == dict(records)
    assert tar_image.attributes_of(b"") == {}


@pytest.mark.parametrize(
    "content",
    [
        b"0 path=a\n",
        b"9 path=a\n0 path=a\n",
        b"-9 path=a\n",
        b"8 path=a\n",
        b"11 path=a\n",
        b"99 path=a\n",
        b"3 path=a\n",
        b"path=a\n",
        b"7 path\n",
        b"10 path=a\n\n",
        b"999999999 a=" + b"1" * 100,
    ],
    ids=lambda content: content[:20],
)
def test_wrong_attributes(content: bytes) -> None:
    """A record with a wrong length is refused."""
    with pytest.raises(Unusable, match="has a record of a wrong length"):
        tar_image.attributes_of(content)


@pytest.mark.parametrize("text", [b"", b"-1", b"+1", b" 1", b"1_0", b"0x1", b"1" * 21, "٣".encode()])
def test_no_decimal(text: bytes) -> None:
    """A number of an extended header consists of up to 20 digits."""
    assert tar_image.decimal(b"0012") == 12
    with pytest.raises(Unusable, match=r"an extended tar header has .* in place of a size"):
        tar_image.decimal(text)


def test_large_decimal() -> None:
    """The number must not exceed the largest disk."""
    assert tar_image.decimal(b"%d" % MAX_SIZE) == MAX_SIZE
    with pytest.raises(Unusable, match="which no disk has"):
        tar_image.decimal(b"%d" % (MAX_SIZE + 1))


@pytest.mark.parametrize(
    ("segments", "stored", "full"),
    [
        ([], 0, []),
        ([(2000, 0)], 0, []),
        ([(0, 512), (512, 512), (1999, 1), (2000, 0)], 1025, [(0, 512), (512, 512), (1999, 1)]),
    ],
)
def test_map(segments: Sequence[Segment], stored: int, full: Sequence[Segment]) -> None:
    """Segments without data, such as tar's last one, are left out."""
    assert tar_image.checked_map(segments, 2000, stored) == full


@pytest.mark.parametrize(
    ("segments", "stored", "what"),
    [
        ([(0, 512), (511, 1)], 513, "has a wrong segment of 1 bytes at 511"),
        ([(512, 512), (0, 512)], 1024, "has a wrong segment of 512 bytes at 0"),
        ([(1999, 2)], 2, "has a wrong segment of 2 bytes at 1999"),
        ([(2001, 0)], 0, "has a wrong segment of 0 bytes at 2001"),
        ([(0, 511), (512, 512)], 1023, "does not match its data"),
        ([(0, 512)], 511, "does not match its data"),
        ([], 1, "does not match its data"),
    ],
)
def test_wrong_map(segments: Sequence[Segment], stored: int, what: str) -> None:
    """Segments that overlap, leave the image, or don't match the data are refused."""
    with pytest.raises(Unusable, match=f"its sparse map {what}"):
        tar_image.checked_map(segments, 2000, stored)
