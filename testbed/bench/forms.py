"""What is measured: the executable in its two forms, and the yardsticks, as command lines."""

import hashlib
import importlib.metadata
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import certifi

from bosh_release import blobs, install, roots
from testbed.bench.rows import PIP, RELEASE
from testbed.cloud import ROOT, FakeAws
from testbed.tls import Authority, TlsRelay

TEMPLATE = ROOT / "jobs/aws_cpi/templates/cpi.erb"


@dataclass(frozen=True)
class Form:
    """A program that is started many times.

    Attributes:
        name: In the table.
        python: The interpreter and its options.
        program: What it runs; nothing for the interpreter alone.
        trusts_front: Whether its own certificate authorities include that of `Front`.
    """

    name: str
    python: tuple[str, ...]
    program: str = ""
    trusts_front: bool = False

    def command(self, config_path: Path) -> list[str]:
        """Return the command line that answers a request."""
        return [*self.python, *([self.program, str(config_path)] if self.program else ["-c", "pass"])]


def yardsticks(method: str) -> dict[str, Form]:
    """Return what each form of the executable is compared with: a boto3 script, or the interpreter alone."""
    if method == "info":
        isolated = Form("python -I -S", (sys.executable, "-I", "-S"))
        return {PIP: Form("python", (sys.executable,)), RELEASE: isolated}
    script = Form("boto3 script", (sys.executable,), str(Path(__file__).with_name("plain.py")))
    return {PIP: script, RELEASE: script}


def pip_form() -> Form:
    """Return the console script that pip has installed beside this interpreter."""
    script = Path(sys.executable).parent / "cpi"
    return Form(PIP, (sys.executable,), str(script))


def release_form(scratch: Path, authority: Path | None = None) -> Form:
    """Install the executable as the release's package does, and return it as bin/cpi starts it.

    Only the interpreter is another one: that of this environment, with its own wheels.

    Args:
        scratch: Where it is installed.
        authority: The certificate that it trusts in place of the machine's roots.
    """
    lib = scratch / "lib"
    sources = laid_sources(scratch / "sources", list(blobs.read_lock(blobs.LOCK.read_text())))
    if authority:
        trust(sources, authority)
    install.install(sources, lib, kind())
    return Form(
        RELEASE, (sys.executable, *flags(TEMPLATE.read_text())), str(lib), trusts_front=authority is not None
    )


def trust(sources: Path, authority: Path) -> None:
    """Have the package take a folder with this certificate, `roots` in its sources, for the machine's."""
    folder = sources / "roots"
    folder.mkdir()
    asked = ["openssl", "x509", "-noout", "-hash", "-in", str(authority)]
    name = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    shutil.copy(authority, folder / f"{name}.0")
    module = sources / "bosh_release" / install.ROOTS
    module.write_text(module.read_text().replace(roots.MACHINE, str(folder)))


class Front(TlsRelay):
    """The stand-in over TLS, whose own authority each form trusts."""

    def __init__(self, fake_aws: FakeAws, folder: Path) -> None:
        own = Authority(folder, "front")
        super().__init__(fake_aws.endpoint, own)
        self.authority = own.path
        self.bundle = folder / "bundle.pem"
        self.bundle.write_bytes(Path(certifi.where()).read_bytes() + own.path.read_bytes())


def flags(template: str) -> list[str]:
    """Read the interpreter's options from the template of bin/cpi."""
    found = re.search(
        r'^exec "\S+/python3\.\d+" (.*?)"\$BOSH_PACKAGES_DIR', template, re.DOTALL | re.MULTILINE
    )
    if not found:
        message = f"{TEMPLATE} starts no interpreter"
        raise ValueError(message)
    return found[1].replace("\\\n", " ").split()


def kind() -> str:
    """Return this kind of machine, as the release's packages call it."""
    return f"{platform.system()}-{platform.machine()}"


def laid_sources(folder: Path, requirements: Sequence[str]) -> Path:
    """Lay out the sources of the release's package, with wheels of the packages that are installed here."""
    root = ROOT / "src"
    shutil.copytree(
        root / "bosh_aws_cpi", folder / "bosh_aws_cpi", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(root / "bosh_release", folder / "bosh_release", ignore=shutil.ignore_patterns("*.sha256"))
    wheels = [_wheel(name, folder / "wheels" / kind()) for name in requirements]
    lines = [
        f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.relative_to(folder)}\n" for each in wheels
    ]
    (folder / install.HASHES).write_text("".join(lines))
    return folder


def _wheel(name: str, folder: Path) -> Path:
    """Pack an installed distribution as a wheel, without files that the installation added."""
    distribution = importlib.metadata.distribution(name)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{distribution.version}-installed.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in distribution.files or []:
            is_installers = "__pycache__" in file.parts or ".." in file.parts
            if not is_installers:
                archive.write(str(file.locate()), str(file))
    return path
