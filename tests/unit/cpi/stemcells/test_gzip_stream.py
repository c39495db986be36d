"""A gzip file, unpacked as a stream."""

from __future__ import annotations

import gzip
import io
import random
import zlib

import pytest
from isal import isal_zlib

from bosh_aws_cpi.cpi.stemcells import gzip_stream
from bosh_aws_cpi.cpi.stemcells.gzip_stream import GzipStream, Unusable

MIB = 1 << 20
DATA = random.Random(1).randbytes(MIB) + bytes(3 * MIB)  # noqa: S311 - the same each time
WHOLE = gzip.compress(DATA, 1)


@pytest.fixture(autouse=True, params=[isal_zlib, zlib], ids=["isal", "zlib"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpack with each of the two libraries: the second serves machines without a wheel of the first."""
    monkeypatch.setattr(gzip_stream, "zlib", request.param)


def stream(*parts: bytes) -> GzipStream:
    """Begin to unpack a file."""
    return GzipStream(io.BytesIO(b"".join(parts)))


def whole(*parts: bytes) -> bytes:
    """Unpack a file to its end."""
    unpacked = stream(*parts)
    return b"".join(iter(unpacked.some, b""))


@pytest.mark.parametrize("length", [1000, MIB, 4 * MIB])
def test_read(length: int) -> None:
    """The parts have at most a MiB, and all together the requested length."""
    unpacked = stream(WHOLE)
    parts = list(unpacked.parts(length))
    assert b"".join(parts) == DATA[:length]
    assert max(map(len, parts)) <= MIB
    assert unpacked.position == length


def test_skip() -> None:
    """Skipped bytes count as unpacked."""
    unpacked = stream(WHOLE)
    unpacked.skip(MIB - 10)
    assert unpacked.read(20) == DATA[MIB - 10 : MIB + 10]
    assert unpacked.position == MIB + 10
    with pytest.raises(Unusable, match="its tar ends too early"):
        unpacked.skip(3 * MIB)


def test_too_early() -> None:
    """`read` fails at an early end."""
    with pytest.raises(Unusable, match="its tar ends too early"):
        stream(WHOLE).read(len(DATA) + 1)


@pytest.mark.parametrize("zeros", [0, 1, MIB])
def test_joined(zeros: int) -> None:
    """Consecutive gzip streams are read as one, with zeros between and behind them."""
    files = gzip.compress(b"ab"), bytes(zeros), gzip.compress(b""), gzip.compress(b"c"), bytes(zeros)
    assert whole(*files) == b"abc"


def test_named() -> None:
    """A gzip header with a file name is accepted."""
    file = io.BytesIO()
    with gzip.GzipFile("image.tar", "wb", fileobj=file) as packer:
        packer.write(b"abc")
    assert stream(file.getvalue()).read(3) == b"abc"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is truncated or damaged: it is empty"),
        (b"\x1f", "is not a gzipped tar"),
        (b"PK\x03\x04", "is not a gzipped tar"),
        (WHOLE[:5], "is truncated or damaged: its gzip stream ends too early"),
        (WHOLE[:-1], "is truncated or damaged: its gzip stream ends too early"),
        (WHOLE[:-1] + b"x", "is truncated or damaged: its gzip stream is invalid"),
        (WHOLE[:-5] + b"x" + WHOLE[-4:], "is truncated or damaged: its gzip stream is invalid"),
        (WHOLE[:3] + b"\xff" + WHOLE[4:], "is truncated or damaged: its gzip stream is invalid"),
        (WHOLE + b"x", "is truncated or damaged: something else follows its gzip stream"),
        (WHOLE + b"\x1f", "is truncated or damaged: its gzip stream ends too early"),
        (WHOLE + WHOLE[:100], "is truncated or damaged: its gzip stream ends too early"),
    ],
    ids=[
        "empty",
        "first-byte",
        "zip",
        "header-cut-off",
        "trailer-cut-off",
        "length",
        "checksum",
        "flags",
        "byte-behind",
        "start-behind",
        "second-cut-off",
    ],
)
def test_damaged(content: bytes, what: str) -> None:
    """The error for a damaged file says what is wrong with it."""
    with pytest.raises(Unusable, match=what):
        whole(content)


def test_few_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of very many gzip streams is refused."""
    monkeypatch.setattr(gzip_stream, "_MAX_STREAMS", 3)
    one = gzip.compress(b"a")
    assert whole(one * 3) == b"aaa"
    with pytest.raises(Unusable, match="it has more than 3 gzip streams"):
        whole(one * 4)


@pytest.mark.parametrize(
    "idle",
    [bytes(5 * MIB), gzip.compress(b"") * (5 * MIB // 20), b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 5 * MIB],
    ids=["zeros", "empty", "name"],
)
def test_idle(idle: bytes) -> None:
    """A file of which a large part unpacks to nothing is refused; a small part is accepted."""
    assert stream(WHOLE, idle[: 20 * 1000]).read(len(DATA)) == DATA
    with pytest.raises(Unusable, match="4 MiB of its gzip stream unpack to almost nothing"):
        whole(WHOLE, idle, WHOLE)


def test_incompressible() -> None:
    """Incompressible data does not count as such a part."""
    data = random.Random(2).randbytes(12 * MIB)  # noqa: S311 - the same each time
    for level in (0, 1):
        assert whole(gzip.compress(data, level)) == data
