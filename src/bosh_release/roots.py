"""Replaces certifi in the release, so that the SDK and requests use the machine's CA certificates."""

import os
import re

MACHINE = "/etc/ssl/certs"
BUNDLE = f"{__file__.rpartition('/')[0]}/cacert.pem"


def where() -> str:
    """Return the machine's folder of CA certificates; certifi's file if OpenSSL finds none in the folder.

    With an empty or missing folder OpenSSL reports no error, and trusts no server.
    """
    try:
        names = os.listdir(MACHINE)  # noqa: PTH208 - every call that uses AWS runs this
    except OSError:
        names = []
    return MACHINE if any(re.fullmatch(r"[0-9a-f]{8}\.0", name) for name in names) else BUNDLE
