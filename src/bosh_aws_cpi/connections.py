"""The rules of all connections: TLS 1.2 or later, and certificates that are in no file.

urllib3 makes all connections, for the SDK and for requests. The rules are set on its class, because no
setting of the SDK or of requests reaches all of them: the SDK opens more, for example to instance metadata.
"""

import os
import ssl
from collections.abc import Iterator
from threading import Lock
from typing import Final, Protocol

from urllib3.connection import HTTPSConnection

from bosh_aws_cpi.errors import wrong_variable
from bosh_aws_cpi.log import logger

_PART: Final = 1 << 13
_connect: Final = HTTPSConnection.connect
_loading: Final = Lock()
_certificates: Final[dict[str, str]] = {}
"""CA certificates in PEM format, by the name that stands for them in place of a file's path."""


def install() -> None:
    """Set the rules for all connections from now on."""
    if os.environ.pop("SSLKEYLOGFILE", None):
        logger.warning(
            "SSLKEYLOGFILE is ignored: anyone who can read that file could decrypt the CPI's connections"
        )
    HTTPSConnection.connect = _connect_safely  # type: ignore[assignment,method-assign]


def check_file(variable: str, path: str) -> None:
    """Refuse a path in the environment if no file can be read there; a pipe or a device may have no end.

    Raises:
        CloudError: It is refused.
    """
    if not (os.path.isfile(path) and os.access(path, os.R_OK)):  # noqa: PTH113 - pathlib's may raise
        raise wrong_variable(variable, f"names '{path}', which is not a file that can be read")


def name_of(certificates: str) -> str:
    """Return a name for CA certificates, which the SDK takes as the path of their file.

    Args:
        certificates: In PEM format, and in ASCII.
    """
    name = f"CA certificates {len(_certificates)}"
    _certificates[name] = certificates
    return name


def _connect_safely(connection: HTTPSConnection) -> None:
    """Connect with TLS 1.2 or later; some builds of Python, such as Debian 12's, allow older versions.

    The SDK takes a folder of roots for a file (boto/botocore issue 2731).
    """
    oldest = ssl.TLSVersion.TLSv1_2
    connection.ssl_minimum_version = oldest
    if (data := _certificates.get(connection.ca_certs or "")) is not None:
        connection.ca_certs, connection.ca_cert_data = None, data
    if (context := connection.ssl_context) is not None:  # the SDK's own, which its threads share
        context.minimum_version = max(context.minimum_version, oldest)
        if connection.ca_certs and os.path.isdir(connection.ca_certs):  # noqa: PTH112 - pathlib's may raise
            connection.ca_certs, connection.ca_cert_dir = None, connection.ca_certs
            # OpenSSL may crash when threads add a folder at the same time (openssl/openssl issue 24480). That
            # urllib3 then adds it again changes nothing.
            with _loading:
                context.load_verify_locations(capath=connection.ca_cert_dir)
    _connect(connection)


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
