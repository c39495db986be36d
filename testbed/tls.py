"""A TLS server on the loopback interface, with its own certificate authority."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from testbed.loopback import _Handler
from testbed.proxy import Relay

HOST = "127.0.0.1"
_CRITICAL, _NOT_CRITICAL = True, False
_LIFETIME = timedelta(days=1)


class Authority:
    """A certificate authority with its own key."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = (
            self._builder(name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), _CRITICAL)
            .add_extension(usage, _CRITICAL)
        )
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def certify(self) -> Path:
        """Write a certificate for the loopback address, with its key; returns the file."""
        key = ec.generate_private_key(ec.SECP256R1())
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))])
        certificate = (
            self._builder(HOST, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), _CRITICAL)
            .add_extension(address, _NOT_CRITICAL)
            .sign(self._key, hashes.SHA256())
        )
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = self._folder / f"{self._name}-server.pem"
        path.write_bytes(private + _pem(certificate))
        return path

    def _builder(self, subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        issuer_key = self._key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(_named(subject))
            .issuer_name(_named(self._name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + _LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), _NOT_CRITICAL)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), _NOT_CRITICAL)
        )


class _KeepingHandler(_Handler):
    """Keeps a connection open between requests, as AWS does: a handshake is for many."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True


class TlsRelay(Relay):
    """Passes requests that come over TLS on to one server, and records them."""

    def __init__(self, upstream: str, authority: Authority, certificate: Path | None = None) -> None:
        """Begin to relay to this server, with a new certificate of this authority, or with a given one."""
        super().__init__(upstream)
        self._server.RequestHandlerClass = _KeepingHandler
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate or authority.certify())
        context.sni_callback = self._count
        self.handshakes = 0
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    @property
    def address(self) -> str:
        """Host and port, without a scheme."""
        return f"{HOST}:{self._server.server_port}"

    def _count(self, *_: object) -> None:
        self.handshakes += 1


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
