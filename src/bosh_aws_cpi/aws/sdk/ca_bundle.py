"""The CA certificates of a CPI config, in a file: the SDK reads them only from files."""

import ssl
from contextlib import suppress
from hashlib import sha256
from typing import Final

from bosh_aws_cpi.aws.sdk import private_files
from bosh_aws_cpi.errors import CloudError

KEY: Final = "aws.connection_options.ca_cert"


def file_of(certificates: str) -> str:
    """Return the path of a file with these certificates; calls with the same certificates share it.

    Args:
        certificates: In PEM format.

    Raises:
        CloudError: They are no certificates, or there is no private directory for the file.
    """
    try:
        # Python takes ASCII only; bundles have comments between the certificates.
        ssl.create_default_context(cadata=certificates.encode("ascii", "ignore").decode())
    except (ssl.SSLError, ValueError) as error:
        raise CloudError(f"{KEY} holds no CA certificates in PEM format: {error}") from None
    content = certificates.encode()
    folder = private_files.folder()
    if folder is None:
        what = f"{KEY} needs a directory that only this user can access"
        raise CloudError(f"{what}: make HOME or TMPDIR writable for the CPI's user")
    path = folder / f"ca-{sha256(content).hexdigest()[:16]}.pem"
    with suppress(OSError):
        if private_files.read_own(path) == content:
            return str(path)
    try:
        private_files.write(path, content)
    except OSError as error:
        raise CloudError(f"{KEY} can't be written to '{path}': {error.strerror}") from error
    return str(path)
