"""What is measured: the executable in its two forms, and the two yardsticks, as command lines."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import certifi

from bosh_release import blobs, install, roots
from testbed.bench.figures import BARE, ISOLATED, PIP, PLAIN, PLAIN_OF_RELEASE, RELEASE
from testbed.cloud import ROOT
from testbed.tls import Authority, TlsRelay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from testbed.cloud import FakeAws

HERE = Path(__file__).parent
OF_PLAIN = ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3")
"""What the plain script imports; all of it runs on any interpreter."""
TEMPLATE = ROOT / "jobs/aws_cpi/templates/cpi.erb"


@dataclass(frozen=True)
class Form:
    """A program that is started many times.

    Attributes:
        name: In the tables.
        python: The interpreter and its options.
        program: What it runs; nothing for the bare interpreter.
        starts_itself: Whether the program is started by its own first line, and not by `python`.
        trusts_front: Whether its own certificate authorities include that of `Front`.
    """

    name: str
    python: tuple[str, ...]
    program: str = ""
    starts_itself: bool = False
    trusts_front: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether it is an interpreter without a program."""
        return not self.program

    def command(self, config_path: Path) -> list[str]:
        """Return the command line that answers a request."""
        if self.is_bare:
            return [*self.python, "-c", "pass"]
        return [*(() if self.starts_itself else self.python), self.program, str(config_path)]

    def under(self, tool: Sequence[str], config_path: Path) -> list[str]:
        """Return the command line that answers a request under a tool, which gets no script to start."""
        return [*tool, *replace(self, starts_itself=False).command(config_path)]

    def counting(self, file: Path, config_path: Path) -> list[str]:
        """Return the command line that also writes how many modules were loaded."""
        nothing = file.with_name("nothing.py")
        nothing.touch()
        program = self.program or str(nothing)
        return [*self.python, str(HERE / "loaded.py"), str(file), program, str(config_path)]


def bare_forms(python: Path | None = None) -> list[Form]:
    """Return the interpreter without a program: that of the release, if it is another one, and this one."""
    return [Form(ISOLATED, (str(python or sys.executable), "-I", "-S")), Form(BARE, (sys.executable,))]


def plain_form(script: str = "plain.py") -> Form:
    """Return a plain boto3 script."""
    return Form(PLAIN, (sys.executable,), str(HERE / script))


def plain_form_on(python: Path, scratch: Path) -> Form:
    """Return the plain boto3 script on another interpreter, with the packages of this one beside it."""
    folder = scratch / "plain"
    folder.mkdir()
    for name in OF_PLAIN:
        found = importlib.util.find_spec(name)
        assert found is not None and found.origin is not None  # noqa: S101, PT018 - they are installed
        place = Path(found.origin)
        place = place.parent if found.submodule_search_locations else place
        (folder / place.name).symlink_to(place)
    shutil.copy(HERE / "plain.py", folder)
    return Form(PLAIN_OF_RELEASE, (str(python),), str(folder / "plain.py"))


def pip_form() -> Form:
    """Return the console script that pip has installed beside this interpreter."""
    script = Path(sys.executable).parent / "cpi"
    return Form(PIP, (sys.executable,), str(script), starts_itself=True)


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


def release_form_on(python: Path, scratch: Path, authority: Path | None = None) -> Form:
    """Install the executable with the interpreter and the wheels that the release has; see `release_form`."""
    sources, lib = scratch / "sources", scratch / "lib"
    for place in (ROOT / "src", ROOT / "blobs"):
        shutil.copytree(place, sources, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    if authority:
        trust(sources, authority)
    installer = [str(python), "-I", "-S", "-B", "bosh_release/install.py", str(lib), kind()]
    subprocess.run(installer, check=True, cwd=sources)
    return Form(
        RELEASE, (str(python), *flags(TEMPLATE.read_text())), str(lib), trusts_front=authority is not None
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
    """The stand-in over TLS, whose own authority each form trusts.

    Attributes:
        authority: The file of its certificate.
        bundle: The file with the usual authorities and this one, for programs without a bundle like it.
    """

    def __init__(self, fake_aws: FakeAws, folder: Path) -> None:
        """Write the bundle into the folder."""
        own = Authority(folder, "front")
        super().__init__(fake_aws.endpoint, own)
        self.authority = own.path
        self.bundle = folder / "bundle.pem"
        self.bundle.write_bytes(Path(certifi.where()).read_bytes() + own.path.read_bytes())


def version(python: Path) -> str:
    """Return the version of an interpreter, "Python 3.13.18"."""
    asked = [str(python), "--version"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


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
