"""From one build of the release to another, and back, with a disk that stays."""

import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.bosh_cli import Bosh, Run
from testbed.environment import Environment
from testbed.hypervisor import Hypervisor
from testbed.world import World
from tests.e2e.life import FRESH, GONE, NEW_DISK, NEW_VM, Life
from tests.e2e.publication import copy_sources

pytestmark = pytest.mark.timeout(3600)

CPI = "bosh_aws_cpi"


@pytest.fixture(scope="module")
def before(bosh: Bosh, folder: Path) -> Path:
    """Return this release with another package of the CPI, and the same interpreter."""
    source, tarball = folder / "before", folder / "before.tgz"
    copy_sources(("LICENSE", "NOTICE", "blobs", "config", "jobs", "packages", "src"), source)
    with (source / "src" / "bosh_aws_cpi" / "__init__.py").open("a") as module:
        module.write("\n# The build before.\n")
    bosh.run("create-release", "--force", "--version", "0.9.0", "--dir", source, "--tarball", tarball).ok()
    return tarball


def packages(release: Path) -> dict[str, str]:
    """Return the fingerprints of a release's packages."""
    with tarfile.open(release) as archive:
        file = archive.extractfile("release.MF")
        assert file
        return {package["name"]: package["fingerprint"] for package in yaml.safe_load(file)["packages"]}


def compiled(run: Run) -> list[str]:
    """Return the packages that a run compiled, with their fingerprints.

    The debug log has them (bosh-cli, installation/pkg/compiler.go). The output also names those that the CLI
    only looked up.
    """
    return re.findall(r" DEBUG - Compiling package '(\S+)'$", run.log, re.MULTILINE)


def tags(world: World, vm_cid: str) -> set[str]:
    """Return the names of a VM's tags."""
    return {tag["Key"] for tag in world.instance(vm_cid)["Tags"]}


def test_environment(
    environment: Environment,
    bosh: Bosh,
    before: Path,
    hypervisor: Hypervisor,
    world: World,
    disk_of: Callable[[Environment], dict[str, Any]],
) -> None:
    """create-env upgrades an environment to another build, goes back, and delete-env ends it.

    The persistent disk stays the same, or its content moves to a larger one.
    """
    release = environment.release
    ours, theirs = packages(release), packages(before)
    assert [name for name in ours if ours[name] != theirs[name]] == [CPI], "an interpreter would be compiled"
    life = Life(environment, hypervisor, world, disk_of)
    bosh.forget(CPI)

    environment.release = before
    run, machine, disk = life.create(*FRESH)
    assert compiled(run) == [f"{CPI}/{theirs[CPI]}"]
    director = environment.state["director_id"]

    environment.release = release
    run, upgraded, same = life.create(*NEW_VM)
    assert compiled(run) == [f"{CPI}/{ours[CPI]}"], "over what the build before has installed"
    assert upgraded is not machine
    assert same["VolumeId"] == disk["VolumeId"]
    assert tags(world, upgraded.instance_id) >= tags(world, machine.instance_id)

    environment.release = before
    environment.disk_size = 40_960
    run, restored, larger = life.create(*NEW_VM, *NEW_DISK)
    assert compiled(run) == []
    assert restored.migrations == [(disk["VolumeId"], larger["VolumeId"])]
    assert environment.state["director_id"] == director

    environment.release = release
    assert life.delete().methods == GONE
