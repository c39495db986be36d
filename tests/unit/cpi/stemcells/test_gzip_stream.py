"""A gzip file, unpacked as a stream."""

import gzip
import io
import random
import zlib

import pytest
from isal import isal_zlib

from bosh_aws_cpi.cpi.stemcells import gzip_stream
from bosh_aws_cpi.cpi.stemcells.gzip_stream import GzipStream, Unusable

MIB, HALF = 1 << 20, 1 << 19
DATA = random.Random(1).randbytes(MIB) + bytes(3 * MIB)  # noqa: S311 - the same each time
WHOLE = gzip.compress(DATA, 1)
EMPTY = gzip.compress(b"")


@pytest.fixture(autouse=True, params=[isal_zlib, zlib], ids=["isal", "zlib"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpack with each of the two libraries: the second serves machines without a wheel of the first."""
    monkeypatch.setattr(gzip_stream, "zlib", request.param)


def stream(*parts: bytes) -> GzipStream:
    """Begin to unpack a file."""
    return GzipStream(io.BytesIO(b"".join(parts)))


def whole(*parts: bytes) -> bytes:
    """Unpack a file to its end."""
    return b"".join(iter(stream(*parts).some, b""))


def test_read() -> None:
    """The parts have at most a MiB; skipped bytes count; an early end is an error."""
    unpacked = stream(WHOLE)
    unpacked.skip(MIB - 10)
    parts = list(unpacked.parts(2 * MIB))
    assert b"".join(parts) == DATA[MIB - 10 :][: 2 * MIB]
    assert max(map(len, parts)) <= MIB
    assert unpacked.position == 3 * MIB - 10
    with pytest.raises(Unusable, match="its tar ends too early"):
        unpacked.read(MIB + 11)


@pytest.mark.parametrize("zeros", [0, 1, MIB])
def test_joined(zeros: int) -> None:
    """Consecutive gzip streams are read as one, with zeros between and behind them."""
    assert whole(gzip.compress(b"ab"), bytes(zeros), EMPTY, gzip.compress(b"c"), bytes(zeros)) == b"abc"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "it is empty"),
        (b"PK\x03\x04", "is not a gzipped tar"),
        (WHOLE[:5], "its gzip stream ends too early"),
        (WHOLE[:-1], "its gzip stream ends too early"),
        (WHOLE[:-1] + b"x", "its gzip stream is invalid"),
        (WHOLE[:-5] + b"x" + WHOLE[-4:], "its gzip stream is invalid"),
        (WHOLE + b"x", "something else follows its gzip stream"),
        (WHOLE + b"\x1f", "its gzip stream ends too early"),
        (WHOLE + WHOLE[:100], "its gzip stream ends too early"),
    ],
    ids=["empty", "zip", "header", "trailer", "length", "checksum", "byte behind", "start behind", "second"],
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
    "idle", [bytes(HALF), EMPTY * (HALF // 20), b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * HALF], ids=len
)
def test_idle(monkeypatch: pytest.MonkeyPatch, idle: bytes) -> None:
    """A file of which a large part unpacks to nothing is refused; a small part is accepted."""
    monkeypatch.setattr(gzip_stream, "_MAX_IDLE", MIB // 4)
    assert stream(WHOLE, idle[: 20 * 1000]).read(len(DATA)) == DATA
    with pytest.raises(Unusable, match="unpack to almost nothing"):
        whole(WHOLE, idle, WHOLE)


def test_incompressible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Incompressible data does not count as unpacking to nothing."""
    monkeypatch.setattr(gzip_stream, "_MAX_IDLE", MIB // 4)
    data = DATA[:MIB]
    for level in (0, 1):
        assert whole(gzip.compress(data, level)) == data
