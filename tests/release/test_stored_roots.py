"""The roots that the installed CPI trusts: those of certifi, a file each; what they refuse stays refused."""

from __future__ import annotations

import functools
import runpy
import shutil
import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from bosh_release import install
from testbed.bench.forms import release_form
from testbed.executable import Answer, Cpi, config
from testbed.registry import PASSWORD, USER, Registry
from testbed.tls import HOST, Authority, TlsRelay

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.bench.forms import Form
    from testbed.cloud import FakeAws

pytestmark = pytest.mark.release

BUNDLE = Path(certifi.where())
SCRIPT = Path(install.__file__).with_name(install.ROOTS)
DISK, VM = "vol-00000000000000001", "i-00000000000000001"
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Form:
    """Install the release's package with this interpreter."""
    return release_form(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def known(tmp_path: Path) -> Authority:
    """Return an authority that calls trust."""
    return Authority(tmp_path, "known")


@pytest.fixture
def form(installed: Form, known: Authority, tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that installs once more, with one more root, and returns the command line.

    Its arguments: the folder's name, and whether certifi stays as pip installs it.
    """

    def command(name: str = "lib", *, is_plain: bool = False) -> list[str]:
        lib = tmp_path / name
        lib.mkdir()
        for entry in Path(installed.program).iterdir():
            if entry.name != "certifi":
                (lib / entry.name).symlink_to(entry)
        shutil.copytree(BUNDLE.parent, lib / "certifi", ignore=shutil.ignore_patterns("__pycache__"))
        with (lib / "certifi" / BUNDLE.name).open("a") as bundle:
            bundle.write(known.path.read_text())
        if not is_plain:
            stored(lib)
        return [*installed.python, str(lib)]

    return command


def stored(lib: Path) -> str:
    """Store the roots as the package does; returns what is said."""
    command = [sys.executable, "-I", "-S", "-B", str(SCRIPT), str(lib)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, env={})
    assert ended.stdout == ""
    return ended.stderr


def laid(lib: Path, *roots: Path) -> Path:
    """Lay a certifi with these roots, and store them; returns the folder of roots."""
    (lib / "certifi").mkdir(parents=True)
    (lib / "certifi" / BUNDLE.name).write_text("".join(root.read_text() for root in roots))
    assert stored(lib) == ""
    return lib / "certifi" / "roots"


def verdict(trusted: ssl.SSLContext, server: Path) -> str:
    """Shake hands with a server that has this certificate and key; returns the client's error."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(server)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusted.wrap_bio(to_client, to_server, server_hostname=HOST)
    peer = serving.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, peer, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
    return ""


@functools.cache
def key_like(kind: type[object]) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey:
    """Return a key that signs as a root's key of this kind does; it is slow to make."""
    if issubclass(kind, rsa.RSAPublicKey):
        return rsa.generate_private_key(65537, 2048)
    return ec.generate_private_key(ec.SECP256R1())


def in_the_name_of(root: x509.Certificate, path: Path) -> Path:
    """Write a server's certificate that claims to be of this root, and its key."""
    key = key_like(type(root.public_key()))
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(root.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    return path


@pytest.mark.filterwarnings("ignore:Parsed a serial number")  # a root's is no positive number
def test_every_root_is_found(tmp_path: Path) -> None:
    """OpenSSL finds each root of certifi's file in the folder, and nothing more is there."""
    roots = x509.load_pem_x509_certificates(BUNDLE.read_bytes())
    folder = laid(tmp_path / "lib", BUNDLE)
    trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusted.check_hostname = False
    trusted.load_verify_locations(capath=folder)
    said = [verdict(trusted, in_the_name_of(root, tmp_path / "server.pem")) for root in roots]
    assert said == ["certificate signature failure"] * len(roots)  # not that an issuer is unknown
    expected = sorted(root.public_bytes(Encoding.DER) for root in roots)
    assert sorted(trusted.get_ca_certs(binary_form=True)) == expected
    kept = [ssl.PEM_cert_to_DER_cert(file.read_text()) for file in folder.iterdir()]
    assert sorted(kept) == expected


def test_roots_of_one_name(tmp_path: Path) -> None:
    """Roots with the same subject are all trusted, each for what it has signed."""
    authorities = []
    for number in range(3):
        place = tmp_path / str(number)
        place.mkdir()
        authorities.append(Authority(place, "one"))
    folder = laid(tmp_path / "lib", *(each.path for each in authorities))
    assert sorted(file.suffix for file in folder.iterdir()) == [".0", ".1", ".2"]
    for authority in authorities:
        trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusted.load_verify_locations(capath=folder)
        assert verdict(trusted, authority.certify()) == ""


def test_openssl_that_does_not_find_them(tmp_path: Path, known: Authority) -> None:
    """If OpenSSL does not find each root, as in a path with a colon, certifi stays, and it is said."""
    place = tmp_path / "a:b" / "certifi"
    place.mkdir(parents=True)
    (place / BUNDLE.name).write_text(known.path.read_text())
    (place / "core.py").touch()
    said = stored(tmp_path / "a:b")
    assert said == "bosh_aws_cpi: OpenSSL does not find each root in a folder; calls read one file\n"
    assert sorted(file.name for file in place.iterdir()) == [BUNDLE.name, "core.py"]


def test_aws_is_trusted(fake_aws: FakeAws, known: Authority, form: Callable[..., list[str]]) -> None:
    """A call trusts a server whose certificate one of the roots has signed."""
    with TlsRelay(fake_aws.endpoint, known) as front:
        assert called(form(), front).ok() is False
        assert [call.action for call in front.calls] == ["DescribeVolumes"]


def test_registry_is_trusted(
    fake_aws: FakeAws, registry: Registry, known: Authority, form: Callable[..., list[str]]
) -> None:
    """The registry's server is trusted for the same roots."""
    registry.documents[VM] = "{}"
    with TlsRelay(registry.url, known) as front:
        section = {"endpoint": f"https://{front.address}", "user": USER, "password": PASSWORD}
        cpi = Cpi(config(fake_aws.endpoint, registry=section), command=form())
        cpi.call("detach_disk", VM, DISK, stemcell=1)
        assert [request.path for request in front.requests] == [f"/instances/{VM}/settings"]


@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        ("unknown authority", "unable to get local issuer certificate"),
        ("other host", "hostname '127.0.0.1' doesn't ma"),
        ("expired", "certificate has expired"),
        ("forged", "certificate signature failure"),
    ],
)
def test_refusals_stay(
    flaw: str, reason: str, known: Authority, form: Callable[..., list[str]], tmp_path: Path
) -> None:
    """What certifi's file does not vouch for is refused, with the same error as with that file."""
    root = x509.load_pem_x509_certificate(known.path.read_bytes())
    certificate = {
        "unknown authority": lambda: Authority(tmp_path, "unknown").certify(),
        "other host": lambda: known.certify("127.0.0.2"),
        "expired": lambda: known.certify(is_expired=True),
        "forged": lambda: in_the_name_of(root, tmp_path / "server.pem"),
    }[flaw]()
    with TlsRelay(NOWHERE, known, certificate) as front:
        answers = [called(form("plain", is_plain=True), front), called(form(), front)]
        assert front.calls == []
    assert answers[0].error == answers[1].error
    assert reason in answers[1].error["message"]


@pytest.mark.parametrize("damage", ["no folder", "file missing", "file truncated", "file of another root"])
def test_damaged_folder(
    damage: str, known: Authority, form: Callable[..., list[str]], tmp_path: Path
) -> None:
    """A server whose root is missing in the folder is refused: certifi's file is not read in its place."""
    command = form()
    roots = tmp_path / "lib" / "certifi" / "roots"
    text = known.path.read_text()
    (file,) = (each for each in roots.iterdir() if each.read_text() == text)
    if damage == "no folder":
        shutil.rmtree(roots)
    elif damage == "file missing":
        file.unlink()
    elif damage == "file truncated":
        file.write_text(text[: len(text) // 2])
    else:
        file.write_text(Authority(tmp_path, "another").path.read_text())
    with TlsRelay(NOWHERE, known) as front:
        answer = called(command, front)
        assert front.calls == []
    assert "unable to get local issuer certificate" in answer.error["message"]


def test_own_certificates_replace_the_roots(
    fake_aws: FakeAws, known: Authority, form: Callable[..., list[str]], tmp_path: Path
) -> None:
    """An operator's own bundle is trusted in place of the roots."""
    own = Authority(tmp_path, "own")
    command = form()
    with TlsRelay(fake_aws.endpoint, own) as front:
        assert called(command, front, BOSH_CA_CERT_FILE=str(own.path)).ok() is False
    with TlsRelay(fake_aws.endpoint, known) as front:
        answer = called(command, front, BOSH_CA_CERT_FILE=str(own.path))
        assert front.calls == []
    assert "unable to get local issuer certificate" in answer.error["message"]


def test_folder_that_is_a_list_to_openssl(
    fake_aws: FakeAws, known: Authority, form: Callable[..., list[str]], tmp_path: Path
) -> None:
    """OpenSSL splits a folder's path at colons: a package that is moved to such a path reads the file."""
    command = form()
    (tmp_path / "lib").rename(tmp_path / "a:b")
    with TlsRelay(fake_aws.endpoint, known) as front:
        assert called([*command[:-1], str(tmp_path / "a:b")], front).ok() is False


def test_one_thread_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A context is given the folder while no other thread gives it to one; OpenSSL might crash."""
    given = []

    def load(*arguments: object) -> None:
        given.append((module["_loading"].locked(), *arguments))

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", load)
    module = runpy.run_path(str(SCRIPT), run_name="certifi")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(module["where"]())
    context.load_verify_locations("own.pem", cadata="own")
    assert given == [(True, context, None, module["FOLDER"], None), (True, context, "own.pem", None, "own")]


def called(command: list[str], front: TlsRelay, **environment: str) -> Answer:
    """Call AWS there."""
    document = config(NOWHERE, ec2_endpoint=f"https://{front.address}", max_retries=0)
    return Cpi(document, command=command, env=environment).call("has_disk", DISK)
