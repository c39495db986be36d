"""Rules for all connections: TLS 1.2 or later, and CA certificates without a file.

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

_CHUNK: Final = 1 << 13
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
    HTTPSConnection.connect = _connect_safely  # type: ignore[assignment,method-assign]


def check_file(variable: str, path: str) -> None:
    """Check that a path in the environment is a readable file: a pipe or a device may have no end.

    Raises:
        CloudError: The path is not a readable file.
    """
    if not (os.path.isfile(path) and os.access(path, os.R_OK)):  # noqa: PTH113 - pathlib's may raise
        raise wrong_variable(variable, f"names '{path}', which is not a file that can be read")


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


class _Response(Protocol):
    """A response of requests with ``stream=True``; a protocol, because few methods load requests."""

    def iter_content(self, chunk_size: int) -> Iterator[bytes]: ...


def read(response: _Response, max_bytes: int) -> bytes | None:
    """Read the content of a response; None when it is larger than ``max_bytes``, without reading on."""
    content = b""
    for part in response.iter_content(_CHUNK):
        content += part
        if len(content) > max_bytes:
            return None
    return content
