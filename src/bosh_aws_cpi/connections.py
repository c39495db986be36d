"""Rules for all connections: TLS 1.2 or later, CA certificates without a file, and answers that end.

urllib3 makes all connections, for the SDK and for requests. The rules are set on its classes, because no
setting of the SDK or of requests reaches all of them: the SDK opens more, for example to instance metadata.
"""

import math
import os
import ssl
import time
from collections.abc import Iterator
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from threading import Lock
from typing import Any, Final, Protocol

from urllib3.connection import HTTPConnection, HTTPSConnection

from bosh_aws_cpi.errors import wrong_variable
from bosh_aws_cpi.log import logger

_PART_SIZE: Final = 1 << 13
_MAX_FILE_MIB: Final = 4
"""The maximum size in MiB of a file with a token or with CA certificates; the largest are bundles."""
_original_connect: Final = HTTPSConnection.connect
_loading_lock: Final = Lock()
_certificates: Final[dict[str, str]] = {}
"""CA certificates in PEM format, by the name that replaces the path of a file."""


def install() -> None:
    """Apply the rules to all connections from now on."""
    if os.environ.pop("SSLKEYLOGFILE", None):
        logger.warning(
            "SSLKEYLOGFILE is ignored: anyone who can read that file could decrypt the CPI's connections"
        )
    HTTPConnection.response_class = _LimitedResponse
    HTTPSConnection.connect = _connect_safely  # type: ignore[assignment,method-assign]


def check_file(variable: str, path: str) -> None:
    """Check that a path in the environment is a readable file: a pipe or a device may have no end.

    A file of the kernel, such as /proc/kmsg, may have no end either; its size is 0.

    Raises:
        CloudError: The path is not a readable file, or the file is empty or too large.
    """
    if not (os.path.isfile(path) and os.access(path, os.R_OK)):  # noqa: PTH113 - pathlib's may raise
        raise wrong_variable(variable, f"names '{path}', which is not a file that can be read")
    if not 0 < os.stat(path).st_size <= _MAX_FILE_MIB << 20:  # noqa: PTH116 - the same
        raise wrong_variable(variable, f"names '{path}', which is empty, or larger than {_MAX_FILE_MIB} MiB")


def name_of(certificates: str) -> str:
    """Return a name for CA certificates, which the SDK takes as the path of their file.

    Args:
        certificates: The certificates in PEM format, in ASCII.
    """
    name = f"CA certificates {len(_certificates)}"
    _certificates[name] = certificates
    return name


def _connect_safely(connection: HTTPSConnection) -> None:
    """Connect with TLS 1.2 or later; some builds of Python, such as Debian 12's, allow older versions.

    Also load a folder of CA certificates, which the SDK takes for a file (boto/botocore issue 2731).
    """
    oldest = ssl.TLSVersion.TLSv1_2
    connection.ssl_minimum_version = oldest
    if (data := _certificates.get(connection.ca_certs or "")) is not None:
        connection.ca_certs, connection.ca_cert_data = None, data
    if (context := connection.ssl_context) is not None:  # the SDK's context, which several threads share
        context.minimum_version = max(context.minimum_version, oldest)
        if connection.ca_certs and os.path.isdir(connection.ca_certs):  # noqa: PTH112 - pathlib's may raise
            connection.ca_certs, connection.ca_cert_dir = None, connection.ca_certs
            # OpenSSL may crash when threads add a folder at the same time (openssl/openssl issue 24480).
            # urllib3 adds the folder again, without effect.
            with _loading_lock:
                context.load_verify_locations(capath=connection.ca_cert_dir)
    _original_connect(connection)


class _LimitedResponse(HTTPResponse):
    """A response, also of a proxy that opens a tunnel, that must be complete in time.

    A connection's timeout limits each read, so without this an answer of a byte now and then has no end. From
    the first byte on, the same timeout limits the whole response.
    """

    def __init__(self, sock: socket, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - http.client's
        super().__init__(sock, *arguments, **options)
        if timeout := sock.gettimeout():
            self.fp = BufferedReader(_LimitedStream(self.fp.detach(), sock, timeout))


class _LimitedStream(RawIOBase):
    """Reads one response from a connection, at most for ``timeout`` seconds after its first byte."""

    def __init__(self, raw: RawIOBase, connection: socket, timeout: float) -> None:
        self._raw = raw
        self._connection = connection
        self._timeout = timeout
        self._end = math.inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - typeshed has its type from Python 3.12 on
        left = min(self._end - time.monotonic(), self._timeout)
        if left <= 0:
            raise TimeoutError("timed out")
        self._connection.settimeout(left)
        count = self._raw.readinto(buffer)
        self._end = min(self._end, time.monotonic() + self._timeout)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(Protocol):
    """A response of requests with ``stream=True``; a protocol, because few methods load requests."""

    def iter_content(self, chunk_size: int) -> Iterator[bytes]: ...


def read(response: _Response, max_bytes: int) -> bytes | None:
    """Read the content of a response; None when it is larger than ``max_bytes``, without reading on."""
    content = b""
    for part in response.iter_content(_PART_SIZE):
        content += part
        if len(content) > max_bytes:
            return None
    return content
