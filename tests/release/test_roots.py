"""Whom the installed CPI trusts: the machine's own roots, or certifi's; and what replaces both."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bosh_release import roots
from testbed.bench.forms import Form, release_form
from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, config
from testbed.tls import Authority, TlsRelay

DISK = "vol-00000000000000001"
NOWHERE = "http://127.0.0.1:1"
KEY = "aws.connection_options.ca_cert"
UNKNOWN = "unable to get local issuer certificate"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return what stands for the machine's folder; it does not exist yet."""
    folder = tmp_path / "certs"
    monkeypatch.setattr(roots, "MACHINE", str(folder))
    return folder


def test_machine_with_hashed_roots(machine: Path) -> None:
    """The machine's folder is trusted where OpenSSL finds a root in it by its hashed name."""
    machine.mkdir()
    for name in ("ca.pem", "ca-certificates.crt", "f9003eb2.0", "x.0"):
        (machine / name).touch()
    assert roots.where() == str(machine)


@pytest.mark.parametrize("names", [None, ["002c0b4f.pem", "002C0B4F.0", "002c0b4f.r0"]])
def test_machine_without_hashed_roots(machine: Path, names: list[str] | None) -> None:
    """Without such a name, as on RHEL and macOS, and without a folder, certifi's file is trusted."""
    if names is not None:
        machine.mkdir()
        for name in names:
            (machine / name).touch()
    assert roots.where() == roots.BUNDLE == str(Path(roots.__file__).with_name("cacert.pem"))


class Installed:
    """The release's package on a machine with one root.

    Attributes:
        known: The authority whose certificate is that root.
        folder: What stands for the machine's folder.
        bundle: certifi's file.
    """

    def __init__(self, folder: Path) -> None:
        """Install it with this interpreter."""
        self.known = Authority(folder, "known")
        self.form: Form = release_form(folder, self.known.path)
        self.folder = folder / "sources" / "roots"
        self.bundle = Path(self.form.program) / "certifi" / "cacert.pem"

    def cpi(self, document: dict[str, Any], **environment: str) -> Cpi:
        """Return the executable."""
        return Cpi(document, command=[*self.form.python, self.form.program], env=environment)

    def called(self, front: TlsRelay, ca_cert: str | None = None, **environment: str) -> Answer:
        """Call AWS there."""
        options = {"connection_options": {"ca_cert": ca_cert}} if ca_cert else {}
        document = config(NOWHERE, ec2_endpoint=f"https://{front.address}", max_retries=0, **options)
        return self.cpi(document, **environment).call("has_disk", DISK)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the release's package."""
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def without_folder(installed: Installed) -> Iterator[None]:
    """Let the machine have no such folder."""
    away = installed.folder.rename(installed.folder.with_name("away"))
    yield
    away.rename(installed.folder)


def test_aws_is_trusted(fake_aws: FakeAws, installed: Installed) -> None:
    """A call trusts a server whose certificate one of the machine's roots has signed."""
    with TlsRelay(fake_aws.endpoint, installed.known) as front:
        assert installed.called(front).ok() is False
        assert [call.action for call in front.calls] == ["DescribeVolumes"] * 2


def test_others_are_refused(installed: Installed, tmp_path: Path) -> None:
    """The error for a server of another authority names the machine's folder."""
    with TlsRelay(NOWHERE, Authority(tmp_path, "unknown")) as front:
        message = installed.called(front).error["message"]
        assert front.calls == []
    assert message.startswith(f"AWS could not be called with the CA certificates of '{installed.folder}': ")
    assert UNKNOWN in message


@pytest.mark.usefixtures("without_folder")
def test_machine_without_roots(fake_aws: FakeAws, installed: Installed) -> None:
    """On a machine without such a folder certifi's file is trusted, and named."""
    with TlsRelay(fake_aws.endpoint, installed.known) as front:
        message = installed.called(front).error["message"]
        assert front.calls == []
    assert message.startswith(f"AWS could not be called with the CA certificates of '{installed.bundle}': ")
    assert UNKNOWN in message


@pytest.mark.parametrize(
    ("by", "named"),
    [
        ("AWS_CA_BUNDLE", "AWS_CA_BUNDLE '{}'"),
        ("BOSH_CA_CERT_FILE", "BOSH_CA_CERT_FILE '{}'"),
        (KEY, f"the CA certificates of {KEY}"),
    ],
)
def test_own_certificates_replace_the_roots(
    by: str, named: str, fake_aws: FakeAws, installed: Installed, tmp_path: Path
) -> None:
    """An operator's own bundle is trusted in place of the machine's roots, and named."""
    own = Authority(tmp_path, "own")
    text = own.path.read_text() if by == KEY else None
    environment = {by: str(own.path)}
    if text:
        environment["BOSH_CA_CERT_FILE"] = str(installed.known.path)
    with TlsRelay(fake_aws.endpoint, own) as front:
        assert installed.called(front, text, **environment).ok() is False
    with TlsRelay(fake_aws.endpoint, installed.known) as front:
        message = installed.called(front, text, **environment).error["message"]
        assert front.calls == []
    assert UNKNOWN in message
    assert message.startswith(f"AWS could not be called with {named.format(own.path)}: ")
