"""When a certificate expires, read from PEM."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from bosh_aws_cpi.tools.diagnosis import certificates

NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "default.nats-ca.bosh-internal")])
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)


def certificate(end: datetime, *, is_rsa: bool = False) -> str:
    """Return a certificate."""
    key = (
        rsa.generate_private_key(public_exponent=65537, key_size=2048)
        if is_rsa
        else ec.generate_private_key(ec.SECP256R1())
    )
    builder = x509.CertificateBuilder(NAME, NAME, key.public_key(), 1 << 150, BEGIN, end)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize("is_rsa", [True, False])
@pytest.mark.parametrize(
    "end",
    [
        datetime(2027, 3, 23, 20, 56, 11, tzinfo=UTC),
        datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC),  # the last UTCTime (RFC 5280, section 4.1.2.5)
        datetime(2050, 1, 1, tzinfo=UTC),
    ],
)
def test_expiry(end: datetime, *, is_rsa: bool) -> None:
    """The expiry is read from certificates with any kind of key."""
    assert certificates.expiry_of(certificate(end, is_rsa=is_rsa)) == end


def test_last_of_several() -> None:
    """Of several certificates, as while an authority is rotated, the last expiry counts."""
    first, second = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    assert certificates.expiry_of(f"old\n{certificate(second)}new\n{certificate(first)}") == second


WHOLE = certificate(datetime(2027, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "pem",
    [
        None,
        7,
        "",
        "((nats_ca.certificate))",
        WHOLE.replace("\n", "")[:200],
        WHOLE[:120] + WHOLE[200:],
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n",
    ],
)
def test_unreadable(pem: object) -> None:
    """Other text has no expiry."""
    assert certificates.expiry_of(pem) is None
