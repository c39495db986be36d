"""Whom the release's calls trust; in the installed folder it is certifi, which the SDK and requests ask."""

import os
import re

MACHINE = "/etc/ssl/certs"
BUNDLE = f"{__file__.rpartition('/')[0]}/cacert.pem"


def where() -> str:
    """Return the machine's folder of roots; certifi's file if none there has the name that OpenSSL looks for.

    OpenSSL says nothing of an empty or missing folder, and would then trust nobody.
    """
    try:
        names = os.listdir(MACHINE)  # noqa: PTH208 - each call that uses AWS asks
    except OSError:
        names = []
    return MACHINE if any(re.fullmatch(r"[0-9a-f]{8}\.0", name) for name in names) else BUNDLE
