"""Unpacks a gzip file (RFC 1952) as a stream, with bounded memory and bounded work.

The standard library's ``gzip`` reads a header's file name and the zeros behind a stream byte by byte, and
accepts any number of empty streams. A file of a few MiB, or one with a hole, could so occupy it for hours.
"""

from collections.abc import Iterator
from typing import IO, Final

try:  # more than twice as fast
    from isal import isal_zlib as zlib
except ImportError:  # no wheel for this machine
    import zlib  # type: ignore[no-redef]

_INPUT: Final = 1 << 17
_CHUNK: Final = 1 << 20
_MAX_IDLE: Final = 4 << 20
"""How many bytes of a file may unpack to less than half their size. Packing adds less than one percent to
data that can't be packed (RFC 1951), so valid files have hardly any."""
_MAX_STREAMS: Final = 1 << 18
"""bgzip writes a stream for each 64 KiB: this is enough for 16 GiB."""
_GZIP: Final = zlib.MAX_WBITS | 16


class Unusable(Exception):
    """A stemcell's image can't be used; `image_file` adds its path.

    Args:
        what: Completes "Stemcell image '…' …".
        remedy: What the operator can do, without a full stop.
    """

    def __init__(self, what: str, remedy: str = "Download the stemcell again") -> None:
        super().__init__(f"{what}. {remedy}")


def damaged(what: str) -> Unusable:
    """The error for an archive that breaks its format's rules.

    Args:
        what: The broken rule, and where.
    """
    return Unusable(f"is truncated or damaged: {what}")


class GzipStream:
    """A gzip file's unpacked bytes. Like gzip, it joins consecutive streams and skips zeros behind them.

    Args:
        file: The gzip file, opened without a buffer.

    Raises:
        Unusable: It is empty, or not a gzip file.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.position = 0
        """The number of bytes unpacked."""
        self._file = file
        self._idle = 0
        self._position_then = 0  # when the file was last read
        self._read_then = 0  # bytes
        self._packed = b""
        self._streams = 1
        self._stream = zlib.decompressobj(_GZIP)
        if not self._refill():
            raise damaged("it is empty")
        if not self._packed.startswith(b"\x1f\x8b"):
            raise Unusable("is not a gzipped tar")

    def read(self, length: int) -> bytes:
        """Read exactly so many bytes.

        Raises:
            Unusable: The file ends before, or is damaged.
        """
        return b"".join(self.parts(length))

    def skip(self, length: int) -> None:
        """Read so many bytes, without keeping them.

        Raises:
            Unusable: The file ends before, or is damaged.
        """
        for _ in self.parts(length):
            pass

    def parts(self, length: int) -> Iterator[bytes]:
        """Read exactly so many bytes, in parts of at most a MiB.

        Raises:
            Unusable: The file ends before, or is damaged.
        """
        while length:
            part = self.some(min(length, _CHUNK))
            if not part:
                raise damaged("its tar ends too early")
            yield part
            length -= len(part)

    def some(self, most: int = _CHUNK) -> bytes:
        """Read at least one byte, or none at the end.

        Raises:
            Unusable: The file is damaged.
        """
        while not self._stream.eof or self._next_stream():
            try:
                data = self._stream.decompress(self._packed, most)
            except zlib.error:  # type: ignore[misc]  # isal's types call the class an exception
                raise damaged("its gzip stream is invalid") from None
            self._packed = self._stream.unconsumed_tail
            if data:
                self.position += len(data)
                return data
            if not self._stream.eof and not self._refill():
                raise damaged("its gzip stream ends too early")
        return b""

    def _next_stream(self) -> bool:
        """Begin the stream that follows, if there is one."""
        following = self._stream.unused_data.lstrip(b"\0")
        while not following:
            if not self._refill():
                return False
            following = self._packed.lstrip(b"\0")
        if not following.startswith(b"\x1f"):
            raise damaged("something else follows its gzip stream")
        self._streams += 1
        if self._streams > _MAX_STREAMS:
            raise damaged(f"it has more than {_MAX_STREAMS} gzip streams")
        self._packed = following
        self._stream = zlib.decompressobj(_GZIP)
        return True

    def _refill(self) -> bool:
        """Read more of the file; False at its end."""
        if self.position - self._position_then < self._read_then // 2:
            self._idle += self._read_then
        if self._idle > _MAX_IDLE:
            raise damaged(f"{_MAX_IDLE >> 20} MiB of its gzip stream unpack to almost nothing")
        self._packed = self._file.read(_INPUT)
        self._position_then, self._read_then = self.position, len(self._packed)
        return bool(self._packed)
