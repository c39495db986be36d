"""When certificates expire: only as much of X.509 as that takes, which Python's library can't read. Pure."""

import binascii
from collections.abc import Iterator
from datetime import UTC, datetime
from ssl import PEM_cert_to_DER_cert
from typing import Final

_LONG: Final = 0x80
"""A length byte from here on says how many bytes of the length follow."""
_VERSION: Final = 0xA0
"""The tag of the version, which comes first and may be absent."""
_UTC_TIME: Final = 0x17
"""The tag of a time with two digits for the year, until 2049."""
_END: Final = "-----END CERTIFICATE-----"


def expiry_of(pem: object) -> datetime | None:
    """When the last of some certificates expires (RFC 5280, section 4.1: Validity); None if none can be read.

    Args:
        pem: Certificates in PEM, or any other JSON value.
    """
    if not isinstance(pem, str):
        return None
    blocks = [block.strip() + _END for block in pem.split(_END)[:-1]]
    return max(filter(None, map(_expiry_of_one, blocks)), default=None)


def _expiry_of_one(pem: str) -> datetime | None:
    try:
        (_, certificate), *_ = _parts(PEM_cert_to_DER_cert(pem[pem.find("-----BEGIN") :]))
        (_, signed), *_ = _parts(certificate)
        fields = [content for tag, content in _parts(signed) if tag != _VERSION]
        _, (tag, end) = _parts(fields[3])  # after serial number, algorithm and issuer: begin and end
        return _time(tag, end.decode("ascii"))
    except (ValueError, IndexError, binascii.Error):
        return None


def _parts(der: bytes) -> Iterator[tuple[int, bytes]]:
    """The tags and contents of the values that follow one another in DER (X.690)."""
    position = 0
    while position < len(der):
        tag, length, begin = der[position], der[position + 1], position + 2
        if length >= _LONG:
            more = length - _LONG
            length, begin = int.from_bytes(der[begin : begin + more], "big"), begin + more
        position = begin + length
        yield tag, der[begin:position]


def _time(tag: int, text: str) -> datetime:
    century = ("19" if text >= "50" else "20") if tag == _UTC_TIME else ""
    return datetime.strptime(century + text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
