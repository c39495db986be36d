"""What the end-to-end tests share: the release, installed by the real CLI, and real agents."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed.bosh_cli import TOOLS, Bosh, Run
from testbed.cloud import FakeAws
from testbed.environment import JOB, Environment, write_stemcell
from testbed.hypervisor import Hypervisor
from testbed.world import World
from tests.e2e.compilation import Compilation, compile_release, hasty_path, pack, stemcell
from tests.e2e.publication import Pipeline, checked


@dataclass(frozen=True)
class Installation:
    """The first environment: created with the compiled release, looked at, and deleted.

    Attributes:
        created: The run that made it.
        deleted: The run that deleted it.
        settings: What the VM's agent booted with.
        expected: What it has to boot with, but for what each VM has of its own.
        actions: What the VM's agent was asked for.
        instance: What EC2 knew of the VM.
        secrets: What nobody may find in a log.
        state: The CLI's record.
        vcap: What was on the VM below /var/vcap: the job and its packages.
    """

    created: Run
    deleted: Run
    settings: dict[str, Any]
    expected: dict[str, Any]
    actions: list[str]
    instance: dict[str, Any]
    secrets: dict[str, str]
    state: dict[str, Any]
    vcap: Path


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder for all that outlives a test; the logs in it stay."""
    path = tmp_path_factory.mktemp("e2e")
    yield path
    for each in path.glob("*/*"):
        if each.is_dir():
            shutil.rmtree(each)
        elif each.suffix != ".log":
            each.unlink()


@pytest.fixture(scope="session")
def bosh(folder: Path) -> Bosh:
    """Return the CLI of the operator who compiles the release."""
    assert (TOOLS / "bosh").exists(), "the tools are not built: run `make e2e`"
    return Bosh(folder / "home of an operator")


@pytest.fixture(scope="session")
def pipeline(folder: Path) -> Pipeline:
    """Publish the working copy as the pipeline does, with a remote, a blobstore and a key of its own."""
    assert (TOOLS / "bosh").exists(), "the tools are not built: run `make e2e`"
    assert shutil.which("ssh-keygen"), "ssh-keygen is missing: apt-get install openssh-client"
    made = Pipeline(folder / "pipeline")
    made.build_candidate()
    checked(made.publish())
    made.push()
    return made


@pytest.fixture(scope="session")
def release(pipeline: Pipeline) -> Path:
    """Return the tarball of the final release of this working copy."""
    return pipeline.tarball


@pytest.fixture(scope="session")
def hypervisor(server: FakeAws, folder: Path) -> Iterator[Hypervisor]:
    """Have machines for the instances."""
    machines = folder / "machines"
    machines.mkdir()
    with Hypervisor(server, TOOLS / "bosh-agent", machines) as running:
        yield running


@pytest.fixture(scope="session")
def compilation(server: FakeAws, bosh: Bosh, release: Path, folder: Path) -> Compilation:
    """Compile the release with the CLI: no other test compiles the interpreter."""
    server.reset()
    place = folder / "compilation"
    place.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("E2E_HASTY"):
            patch.setenv("PATH", hasty_path(place / "compiler"))
        made = compile_release(bosh, place, release, server, server.lay())
    bosh.save()
    return made


@pytest.fixture(scope="session")
def compiled(compilation: Compilation, bosh: Bosh, release: Path, folder: Path) -> Path:
    """Return the release with what was compiled, for the VMs that have its job."""
    bosh.restore()
    return pack(release, bosh.installation(compilation.state), folder / "compiled.tgz")


@pytest.fixture(scope="session")
def installation(server: FakeAws, hypervisor: Hypervisor, compiled: Path, folder: Path) -> Installation:
    """Create the first environment, in the shape of bosh-deployment's aws/cpi.yml, and delete it.

    The operator has nothing compiled: this one has the compiled release, and so has the job on the VM.
    """
    server.reset()
    world = server.lay()
    place = folder / "first"
    place.mkdir()
    environment = Environment(Bosh(folder / "home of another operator"), place, compiled, server, world)
    environment.stemcell = stemcell(place, world.image_id)
    environment.jobs = [JOB]
    created = environment.create()
    created.ok()
    (machine,) = hypervisor.settle()
    settings, state = machine.settings, environment.state
    actions = machine.actions
    instance = world.instance(machine.instance_id)
    vcap = folder / "vcap"
    for part in ("data", "jobs", "packages"):
        shutil.copytree(machine.folder / part, vcap / part, symlinks=True)
    deleted = environment.delete()
    deleted.ok()
    return Installation(
        created=created,
        deleted=deleted,
        settings=settings,
        expected=environment.agent_settings,
        actions=actions,
        instance=instance,
        secrets=environment.secrets,
        state=state,
        vcap=vcap,
    )


@pytest.fixture
def environment(
    compilation: Compilation, bosh: Bosh, release: Path, fake_aws: FakeAws, world: World, tmp_path: Path
) -> Environment:
    """Return an environment of which nothing is there yet but the compiled packages, on stemcell 1.1."""
    bosh.restore()
    described = Environment(bosh, tmp_path, release, fake_aws, world)
    described.stemcell = write_stemcell(tmp_path, world.image_id, "1.1", 3)
    described.continue_installation(compilation.state)
    return described


@pytest.fixture
def disk_of(world: World) -> Callable[[Environment], dict[str, Any]]:
    """Return a function that describes the one disk that the CLI's record knows."""

    def describe(environment: Environment) -> dict[str, Any]:
        (disk,) = environment.state["disks"]
        answer = world.ec2.describe_volumes(VolumeIds=[disk["cid"]])
        (volume,) = answer["Volumes"]
        found: dict[str, Any] = volume
        return found

    return describe
