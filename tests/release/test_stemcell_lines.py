"""The release on userlands of the stemcell lines' age: it compiles there, and does what it does elsewhere."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import config
from testbed.imds import Imds
from testbed.job import DIRECTORS, JOB, PYTHON, JobCpi, Render
from testbed.registry import Registry
from testbed.tls import Authority, TlsRelay
from testbed.userland import LINES, Line, Userland
from testbed.userland_vm import Vm, lay_sources
from testbed.world import World
from tests.faults.scenario import Scenario
from tests.faults.stage import Stage
from tests.release.playing import ONE_OF_EACH_METHOD, play
from tests.stories.own_vm import DISK_SIZE, loop_device, makes_loop_devices
from tests.stories.stemcell_images import MIB, PROPERTIES, SMALL, packed

pytestmark = pytest.mark.timeout(28_800 if os.environ.get("LINES_ARCH") else 7200)

CHOSEN = os.environ.get("LINES_CHOSEN", "").split()
"""The lines to test; all, if it names none."""
IS_HASTY = bool(os.environ.get("LINES_HASTY"))
"""Whether the interpreter is compiled once and with little optimisation: for a run that is over sooner."""
ARCHITECTURE = os.environ.get("LINES_ARCH", "")
"""Debian's name of another architecture than this machine's, which QEMU emulates: "arm64"."""
KEPT = os.environ.get("LINES_KEPT")
"""A folder in which userlands and compiled packages stay, for the next run, which takes them as they are."""
VERSIONS = {
    "oldest": ((2, 31), "1.1.1", "10."),
    "jammy": ((2, 36), "3.0.", "11."),
    "noble": ((2, 41), "3.5.", "13."),
    "resolute": ((2, 43), "3.", "15."),
}
"""Of glibc at least, of OpenSSL, and of GCC."""
OWN_VM = "i-0123456789abcdef0"
NOTHING = b"\xff" * DISK_SIZE
"""What is on a disk at first."""
PROGRAM = "/var/vcap/packages/bosh_aws_cpi/bin/stemcell-copy"
SUDO = ("sudo", "-n", PROGRAM)


@pytest.fixture(
    scope="session",
    params=[line for line in LINES if not CHOSEN or line.name in CHOSEN],
    ids=lambda line: line.name,
)
def userland(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Userland]:
    """Make a line's userland; some hundred MB, which do not stay."""
    line: Line = request.param
    place = Path(KEPT) / ARCHITECTURE / line.name if KEPT else tmp_path_factory.mktemp(line.name)
    yield Userland(line, place / "root", ARCHITECTURE)
    if not KEPT:
        shutil.rmtree(place)


@pytest.fixture(scope="session")
def packages(userland: Userland, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the release's packages there."""
    folder = userland.root.with_name("packages")
    if not folder.exists():
        if IS_HASTY:
            userland.hurry_compiler()
        # Beside it, because nothing can be renamed into another file system.
        unfinished = userland.root.with_name("unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        vm = Vm(tmp_path_factory.mktemp("compiling"), unfinished, {}, userland)
        vm.compile()
        vm.packages.rename(folder)
    return folder


@pytest.fixture
def vm(userland: Userland, packages: Path, tmp_path: Path) -> Vm:
    """Return a VM with the packages."""
    return Vm(tmp_path / "vcap", packages, DIRECTORS, userland)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[str]:
    """Have a disk that is no other's."""
    assert makes_loop_devices(), "the tests of stemcell-copy need loop devices, which this machine forbids"
    with loop_device(tmp_path) as device:
        yield device


@pytest.fixture
def vm_with_disk(vm: Vm, disk: str, render: Render) -> Vm:
    """Return a VM with a disk, and with the job started, so that vcap may run stemcell-copy as root."""
    with_disk = replace(vm, disk=disk)
    with_disk.start_job(render("bin/cpi_ctl", {}))
    return with_disk


def call(vm: Vm, *command: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
    """Run a program as vcap; returns its exit status, stdout and stderr."""
    with vm.popen(command) as process:
        stdout, stderr = process.communicate(stdin)
    return process.returncode, stdout, stderr.decode()


def test_versions(userland: Userland) -> None:
    """The userland has the libraries, the compiler and the programs that stand for the line's."""
    glibc, openssl, gcc = VERSIONS[userland.line.name]
    assert ARCHITECTURE in {"", userland.said("dpkg", "--print-architecture").strip()}
    found = re.findall(r"\d+", userland.said("ldd", "--version").splitlines()[0])[-2:]
    assert tuple(map(int, found)) >= glibc
    (library,) = [*userland.root.glob("usr/lib/*-linux-gnu/libcrypto.so.?*")]
    assert re.search(rb"OpenSSL " + re.escape(openssl.encode()), library.read_bytes())
    assert userland.said("gcc", "-dumpfullversion").startswith(gcc)
    for program in ("dd", "cp", "sha256sum", "mktemp", "realpath", "uname", "wc", "nproc"):
        assert ("uutils" in userland.said(program, "--version")) is userland.line.is_rust, program
    assert userland.said("sudo", "--version").startswith("sudo-rs") is userland.line.is_rust


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
def test_info(vm: Vm, fake_aws: FakeAws, render: Render, shell: str) -> None:
    """The job's script starts the CPI by each of the line's shells; nothing is written."""
    JobCpi(vm, render, config(fake_aws.endpoint))
    request = b'{"method": "info", "arguments": [], "context": {"director_uuid": "me"}}'
    status, stdout, stderr = call(vm, shell, f"{JOB}/bin/cpi", stdin=request)
    assert (status, b'"error":null' in stdout, " WARNING: " in stderr) == (0, True, False)
    assert vm.written == []


@pytest.mark.parametrize("scenario", ONE_OF_EACH_METHOD, ids=lambda scenario: scenario.method)
def test_method(
    vm: Vm, fake_aws: FakeAws, world: World, registry: Registry, render: Render, scenario: Scenario
) -> None:
    """Each method takes the same calls and changes the same as elsewhere."""
    play(Stage(fake_aws, world, registry, vm.tmp, lambda document: JobCpi(vm, render, document)), scenario)


def test_tls(vm: Vm, fake_aws: FakeAws, render: Render, tmp_path: Path) -> None:
    """AWS is reached over TLS if its certificate is one of the job's authority's, and by no other."""
    own, other = Authority(tmp_path, "own"), Authority(tmp_path, "other")
    with TlsRelay(fake_aws.endpoint, own) as front:

        def has_vm(trusted: Authority) -> Any:
            options = {"ca_cert": trusted.path.read_text()}
            document = config(fake_aws.endpoint, ec2_endpoint=front.address, connection_options=options)
            return JobCpi(vm, render, {**document}).call("has_vm", OWN_VM)

        assert has_vm(own).ok() is False
        assert "certificate verify failed" in has_vm(other).error["message"]


def test_no_other_source(userland: Userland, tmp_path: Path) -> None:
    """The interpreter is not compiled from a source with another SHA-256, and the script says so."""
    vm = Vm(tmp_path / "vcap", tmp_path / "packages", {}, userland)
    folder = vm.vcap / "data/compile" / PYTHON
    lay_sources(PYTHON, folder)
    (source,) = (folder / "python").iterdir()
    source.write_bytes(b"another")
    words = f"cd /var/vcap/data/compile/{PYTHON} && BOSH_INSTALL_TARGET=/var/vcap/none exec bash packaging"
    done = vm.run_as_root("sh", "-c", words)
    assert done.returncode == 1
    *_, said = done.stderr.decode().splitlines()
    assert said.startswith(f"{PYTHON}: the source is not the file whose SHA-256 is in ")


@pytest.mark.parametrize("size", [0, 1, 511, MIB - 1, MIB, MIB + 1, 3 * MIB + 513, DISK_SIZE])
def test_copy(vm_with_disk: Vm, disk: str, tmp_path: Path, size: int) -> None:
    """The user vcap has an image of any size written to a disk; the rest is left as it was."""
    image = (SMALL * 2)[:size]
    assert call(vm_with_disk, *SUDO, disk, stdin=image) == (0, b"", "")
    assert (tmp_path / "disk").read_bytes() == image + NOTHING[size:]


def test_copy_of_too_much(vm_with_disk: Vm, disk: str) -> None:
    """An image for which there is no room is a failure with the system's words."""
    status, _, said = call(vm_with_disk, *SUDO, disk, stdin=bytes(DISK_SIZE + 1))
    assert status != 0
    assert "No space left on device" in said


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("/dev/no-such-device", "no such device: /dev/no-such-device"),
        ("--help", "no such device: --help"),
        ("/dev/null", "not a block device: /dev/null"),
        ("/etc/passwd", "DEVICE must be below /dev: /etc/passwd"),
    ],
)
def test_copy_is_refused(vm_with_disk: Vm, device: str, reason: str) -> None:
    """A path that is not a disk is refused in the same words."""
    status, stdout, said = call(vm_with_disk, *SUDO, device, stdin=SMALL)
    assert (status, stdout) == (1, b"")
    assert said.splitlines()[-1] == f"stemcell-copy: {reason}"


def test_sudo_allows_nothing_else(vm_with_disk: Vm, disk: str, render: Render) -> None:
    """The job's rule lets vcap run only this program as root, and only until the job is stopped."""
    assert call(vm_with_disk, "sudo", "-n", "/bin/true")[0] != 0
    vm_with_disk.start_job(render("bin/cpi_ctl", {}))
    assert call(vm_with_disk, *SUDO, disk)[0] == 0
    stopped = vm_with_disk.run_as_root(f"{JOB}/bin/cpi_ctl", "stop")
    assert (stopped.returncode, stopped.stderr) == (0, b"")
    assert call(vm_with_disk, *SUDO, disk)[0] != 0


def test_stemcell(
    vm_with_disk: Vm, world: World, fake_aws: FakeAws, registry: Registry, render: Render, tmp_path: Path
) -> None:
    """A heavy stemcell is made through a volume: by the CPI as vcap, sudo, stemcell-copy and the disk."""
    image = vm_with_disk.tmp / "image"
    image.write_bytes(packed())
    with Imds(Stage(fake_aws, world, registry, vm_with_disk.tmp).vm()) as imds:
        own_vm = replace(vm_with_disk, environment={**DIRECTORS, **imds.environment})
        cpi = JobCpi(own_vm, render, config(fake_aws.endpoint, stemcell_upload="volume"))
        ami_id = cpi.call("create_stemcell", str(image), dict(PROPERTIES)).ok()
    assert world.state()["images"] == [ami_id]
    assert (tmp_path / "disk").read_bytes() == SMALL + NOTHING[len(SMALL) :]
