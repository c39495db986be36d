"""The job's bin/cpi where a Director with `use_bpm_for_workers` starts it: in bpm's container."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from testbed.bench.forms import release_form
from testbed.bpm import DATA, DIRECTORS, TMP, Container, CpiUnderBpm, lay_packages
from testbed.executable import Cpi, config
from testbed.imds import Imds
from testbed.registry import Registry
from tests.faults.stage import Stage
from tests.faults.scenarios import SCENARIOS, WITHOUT_AWS
from tests.listing import check_methods_listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from testbed.cloud import FakeAws
    from testbed.world import World
    from tests.faults.scenario import Scenario

    Render = Callable[[str, Mapping[str, object]], str]
    UnderBpm = Callable[[Mapping[str, Any]], CpiUnderBpm]

pytestmark = pytest.mark.release

PROBE = """\
import ctypes, errno, json, os

def refusal(path):
    try:
        with open(os.path.join(path, "probe"), "w") as file:
            file.write("#!/bin/sh\\n")
        os.chmod(file.name, 0o755)
        os.execv(file.name, [file.name])
    except OSError as error:
        return errno.errorcode[error.errno]

def called(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(number, *arguments)
    return errno.errorcode.get(ctypes.get_errno(), result)

libc = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
wanted = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Uid")
print(json.dumps({
    "status": {name: status[name].split()[0] for name in wanted},
    "folders": {path: refusal(path) for path in FOLDERS},
    "calls": [called(272, 0), called(435, 0, 0), called(450, 0), called(39) > 0],
    "jobs": sorted(os.listdir("/var/vcap/jobs")),
    "root": sorted(os.listdir("/")),
    "devices": sorted(os.listdir("/dev")),
    "cwd": os.getcwd(),
    "environment": dict(os.environ),
}))
"""
WRITABLE = (
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    TMP,
    DATA,
    "/var/vcap/store/director",
    "/var/vcap/sys/log/director",
)
READ_ONLY = ("/", "/etc", "/usr/bin", "/dev", "/var/vcap", "/var/vcap/jobs/aws_cpi", "/var/vcap/packages")
WITHOUT_HOME = {name: value for name, value in DIRECTORS.items() if name != "HOME"}
BARE = {"PATH": DIRECTORS["PATH"]}
NO_ROOT = (
    "The program stemcell-copy must run as root, but this process can't become root, as in bpm's containers: set "
    "director.use_bpm_for_workers to false, or set aws.stemcell_upload to ebs_direct, or use the light stemcell "
    "of the same version"
)
SIZE = {"cpu": 1, "ram": 512, "ephemeral_disk_size": 1024}


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """Install the release's packages, with this interpreter in place of the release's."""
    folder = tmp_path_factory.mktemp("bpm")
    lib = Path(release_form(folder).program)
    lay_packages(folder / "packages", lib, root / "src/bosh_release/stemcell-copy")
    Container(folder / "vcap", folder / "packages", DIRECTORS).check()
    return folder / "packages"


@pytest.fixture(params=[DIRECTORS], ids=["environment of the Director"])
def container(packages: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Container:
    """Return a worker's container."""
    return Container(tmp_path / "vcap", packages, request.param)


@pytest.fixture
def under_bpm(container: Container, render: Render) -> UnderBpm:
    """Return a function that has the job rendered for a cpi.json, and run in the container."""
    return lambda document: CpiUnderBpm(container, render, document)


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    """Run a registry."""
    with Registry() as running:
        yield running


@pytest.fixture
def stage(
    fake_aws: FakeAws,
    world: World,
    registry: Registry,
    container: Container,
    under_bpm: UnderBpm,
) -> Stage:
    """Return a laid world, with the executable in the container."""
    return Stage(fake_aws, world, registry, container.tmp, under_bpm)


def probe(container: Container, folders: tuple[str, ...] = ()) -> dict[str, Any]:
    """Look around in a container."""
    python = "/var/vcap/packages/python-3.13/bin/python3.13"
    text = PROBE.replace("FOLDERS", repr(folders))
    with container.popen([python, "-I", "-S", "-X", "utf8", "-c", text]) as process:
        stdout, stderr = process.communicate()
    assert process.returncode == 0, stderr
    found: dict[str, Any] = json.loads(stdout)
    return found


def test_no_privileges(container: Container) -> None:
    """The process is an ordinary user's, without capabilities, and under the filter of system calls."""
    status = probe(container)["status"]
    assert {
        name: int(value, 16) for name, value in status.items() if name.startswith("Cap")
    } == dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0)
    assert (status["Uid"], status["NoNewPrivs"], status["Seccomp"]) == ("1000", "1", "2")


def test_system_calls(container: Container) -> None:
    """Namespaces are forbidden, clone3 and what is newer than bpm's list is unknown, all else is permitted."""
    assert probe(container)["calls"] == ["EPERM", "ENOSYS", "ENOSYS", True]


def test_file_system(container: Container) -> None:
    """Only the folders of the Director and temporary ones can be written; nothing there can be executed."""
    found = probe(container, (*WRITABLE, *READ_ONLY))
    assert found["folders"] == {**dict.fromkeys(WRITABLE, "EACCES"), **dict.fromkeys(READ_ONLY, "EROFS")}
    assert found["jobs"] == ["aws_cpi", "director"]
    assert "home" not in found["root"]
    assert [name for name in found["devices"] if name.startswith(("sd", "xvd", "nvme", "loop"))] == []


def test_environment(container: Container) -> None:
    """The process has the Director's three variables, and runs in its job's folder."""
    found = probe(container)
    added = {"LC_CTYPE", "LC_ALL"}
    assert {name: value for name, value in found["environment"].items() if name not in added} == DIRECTORS
    assert found["cwd"] == "/var/vcap/jobs/director"


def test_each_verb_is_called() -> None:
    """Each verb is called in the container."""
    called = {each.verb for each in SCENARIOS} | WITHOUT_AWS
    check_methods_listed(called, "add a scenario to tests/faults/scenarios_*.py")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "_"))
def test_verb(stage: Stage, container: Container, scenario: Scenario) -> None:
    """Each request takes the same calls and changes the same as elsewhere, and warns of nothing."""
    stage.prepare(scenario)
    before = stage.painter.picture()
    stage.fake_aws.forget_calls()
    answer = stage.call()
    shown = scenario.shown(answer.ok())
    assert "WARN" not in answer.stderr
    assert stage.fake_aws.actions() == list(scenario.calls)
    if scenario.makes:
        stage.painter.name(shown, "made")
    assert stage.painter.picture() == scenario.success.of(before)
    assert [path for path in container.written if path.endswith(".log")] == []


@pytest.mark.parametrize(
    ("verb", "arguments"), [("info", []), ("ping", []), ("calculate_vm_cloud_properties", [SIZE])]
)
def test_verb_without_aws(fake_aws: FakeAws, under_bpm: UnderBpm, verb: str, arguments: list[Any]) -> None:
    """A request that takes no AWS call is answered as elsewhere, and warns of nothing."""
    document = config(fake_aws.endpoint)
    answer = under_bpm(document).call(verb, *arguments)
    assert answer.ok() == Cpi(document).call(verb, *arguments).ok()
    assert "WARN" not in answer.stderr


def test_configure_networks(fake_aws: FakeAws, under_bpm: UnderBpm) -> None:
    """The method configure_networks is refused as elsewhere."""
    answer = under_bpm(config(fake_aws.endpoint)).call("configure_networks", "i-0123456789abcdef0", {})
    assert answer.error["type"] == "Bosh::Clouds::NotSupported"


def test_current_vm(packages: Path, tmp_path: Path, fake_aws: FakeAws, render: Render) -> None:
    """The VM's own id comes from instance metadata."""
    with Imds("i-0123456789abcdef0") as imds:
        container = Container(tmp_path / "vcap", packages, {**DIRECTORS, **imds.environment})
        answer = CpiUnderBpm(container, render, config(fake_aws.endpoint)).call("current_vm_id")
    assert answer.ok() == "i-0123456789abcdef0"
