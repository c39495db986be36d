"""The rules of all connections: TLS 1.2 or later, and a limit to the time and the size of an answer.

urllib3 makes all connections, for the SDK and for requests. The rules are set on its classes, because no
setting of the SDK or of requests reaches all of them: the SDK opens more, for example to instance metadata.
"""

import os
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from threading import Lock
from typing import Any, Final, Protocol

from urllib3.connection import HTTPConnection, HTTPSConnection

from bosh_aws_cpi.errors import wrong_variable

MOST: Final = 1 << 26
"""The most bytes of an answer: several times the longest that the CPI asks for, a page of 1000 instances."""
_PART: Final = 1 << 13
_KEY_LOG: Final = "SSLKEYLOGFILE"
_APPENDING: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
_limits: Final = [MOST]
"""The last one applies."""
_connect: Final = HTTPSConnection.connect
_loading: Final = Lock()


def install() -> None:
    """Set the rules for all connections from now on.

    A connection's timeout is then the time for a whole answer, from the end of the request to the answer's
    last byte; also for the answer of a proxy that opens a tunnel. Otherwise it would be the time for each
    read, and a slow answer could take forever. The handshake and the request need no such rule: Python
    applies the timeout to the whole handshake, and to each part of the request that it sends.

    Raises:
        CloudError: SSLKEYLOGFILE names a file that can't be written; urllib3 would write to it.
    """
    if path := os.environ.get(_KEY_LOG):
        try:
            os.close(os.open(os.path.expandvars(path), _APPENDING, 0o600))
        except OSError as error:
            what = f"names '{path}', which can't be written ({error.strerror})"
            raise wrong_variable(_KEY_LOG, what) from None
    HTTPConnection.response_class = _Answer
    HTTPSConnection.connect = _connect_safely  # type: ignore[assignment,method-assign]


def check_file(variable: str, path: str) -> None:
    """Refuse a path in the environment if no file can be read there; a pipe or a device may have no end.

    Raises:
        CloudError: It is refused.
    """
    if not (os.path.isfile(path) and os.access(path, os.R_OK)):  # noqa: PTH113 - pathlib's may raise
        raise wrong_variable(variable, f"names '{path}', which is not a file that can be read")


@contextmanager
def limited(most: int) -> Iterator[None]:
    """Read no more than so many bytes of each answer that begins within this block."""
    _limits.append(most)
    try:
        yield
    finally:
        _limits.pop()


def _connect_safely(connection: HTTPSConnection) -> None:
    """Connect with TLS 1.2 or later; some builds of Python, such as Debian 12's, allow older versions.

    The SDK takes a folder of roots for a file (boto/botocore issue 2731).
    """
    oldest = ssl.TLSVersion.TLSv1_2
    connection.ssl_minimum_version = oldest
    if (context := connection.ssl_context) is not None:  # the SDK's own, which its threads share
        context.minimum_version = max(context.minimum_version, oldest)
        if connection.ca_certs and os.path.isdir(connection.ca_certs):  # noqa: PTH112 - pathlib's may raise
            connection.ca_certs, connection.ca_cert_dir = None, connection.ca_certs
            # OpenSSL may crash when threads add a folder at the same time (openssl/openssl issue 24480). That
            # urllib3 then adds it again changes nothing.
            with _loading:
                context.load_verify_locations(capath=connection.ca_cert_dir)
    _connect(connection)


class _Answer(HTTPResponse):
    """An answer that must be complete before its connection's timeout."""

    def __init__(self, sock: socket, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - http.client's
        super().__init__(sock, *arguments, **options)
        self.fp = BufferedReader(_InTime(self.fp.detach(), sock))


class _InTime(RawIOBase):
    """The bytes of one answer.

    Args:
        raw: Reads from the connection.
        connection: The connection; its timeout is the time for the answer.
    """

    def __init__(self, raw: RawIOBase, connection: socket) -> None:
        super().__init__()
        self._raw = raw
        self._connection = connection
        timeout = connection.gettimeout()
        self._end = None if timeout is None else time.monotonic() + timeout
        self._rest = _limits[-1]

    def readable(self) -> bool:
        """True; BufferedReader requires it."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - typeshed has its type from 3.12 on
        """Read some bytes.

        Raises:
            TimeoutError: The answer is not complete in time.
            OSError: It is too long.
        """
        if self._end is not None:
            left = self._end - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._connection.settimeout(left)
        count = self._raw.readinto(buffer)
        self._rest -= count or 0
        if self._rest < 0:
            raise OSError("the answer is too long")
        return count

    def close(self) -> None:
        """Close it; the connection stays open."""
        self._raw.close()
        super().close()


class _Readable(Protocol):
    """An answer of requests, read with ``stream=True``; requests itself is loaded by few methods."""

    def iter_content(self, chunk_size: int) -> Iterator[bytes]: ...


def read(answer: _Readable, most: int) -> bytes | None:
    """The content of an answer; None when it has more bytes than that, of which no more are read."""
    content = b""
    for part in answer.iter_content(_PART):
        content += part
        if len(content) > most:
            return None
    return content
