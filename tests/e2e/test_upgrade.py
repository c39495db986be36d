"""From the release before this one to this one, and back: each works with what the other created."""

from __future__ import annotations

import filecmp
import re
import sys
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from testbed.environment import free_port
from testbed.executable import Cpi, config
from tests.e2e import agents, former
from tests.e2e.life import FRESH, GONE, NEW_DISK, NEW_VM, Life
from tests.e2e.publication import ROOT
from tests.permutations import vm_arguments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from testbed.bosh_cli import Bosh, Run
    from testbed.cloud import FakeAws
    from testbed.environment import Environment
    from testbed.hypervisor import Hypervisor
    from testbed.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3600)]

CPI = "bosh_aws_cpi"


@pytest.fixture(scope="module")
def source(folder: Path) -> Path:
    """Return the source of the release before."""
    return former.write_source(folder / "former")


@pytest.fixture(scope="module")
def before(bosh: Bosh, source: Path) -> Path:
    """Return the release before."""
    return former.build(bosh, source)


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
    """create-env upgrades an environment of the release before, goes back, and delete-env ends it.

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
    assert compiled(run) == [f"{CPI}/{ours[CPI]}"], "over what the release before has installed"
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


@pytest.mark.parametrize("upgrade", [True, False], ids=["upgrade", "back"])
def test_things_of_the_other_release(
    *,
    upgrade: bool,
    source: Path,
    fake_aws: FakeAws,
    world: World,
    hypervisor: Hypervisor,
    tmp_path: Path,
) -> None:
    """Each release uses and deletes resources that the other one created, without recreating a VM."""
    port = free_port()
    document = config(fake_aws.endpoint, agent={"mbus": agents.mbus(port), "ntp": []})
    older = Cpi(
        document,
        env={"PYTHONPATH": str(source / "src")},
        command=[sys.executable, "-B", "-m", "bosh_aws_cpi"],
    )
    first, then = (older, Cpi(document)) if upgrade else (Cpi(document), older)

    def call(cpi: Cpi, method: str, *arguments: Any) -> Any:
        return cpi.call(method, *arguments, api_version=3, stemcell=3).ok()

    vm_cid = call(first, "create_vm", *vm_arguments(world, agents.environment(tmp_path)))[0]
    (machine,) = hypervisor.settle()
    disk_cid = call(first, "create_disk", 1024, {"type": "gp3"}, vm_cid)
    hint = call(first, "attach_disk", vm_cid, disk_cid)
    agents.finished(port, "add_persistent_disk", disk_cid, hint)
    agents.finished(port, "mount_disk", disk_cid)
    snapshot_cid = call(first, "snapshot_disk", disk_cid, {"deployment": "d", "job": "j", "index": "0"})

    assert call(then, "has_vm", vm_cid)
    assert call(then, "has_disk", disk_cid)
    assert call(then, "get_disks", vm_cid) == call(first, "get_disks", vm_cid)
    call(then, "set_vm_metadata", vm_cid, {"deployment": "d", "job": "j", "index": "0", "name": "j/0"})
    call(then, "reboot_vm", vm_cid)
    agents.finished(port, "unmount_disk", disk_cid)
    agents.finished(port, "remove_persistent_disk", disk_cid)
    call(then, "detach_disk", vm_cid, disk_cid)
    assert call(then, "attach_disk", vm_cid, disk_cid) == hint
    agents.finished(port, "add_persistent_disk", disk_cid, hint)
    agents.finished(port, "mount_disk", disk_cid)
    assert list(machine.mounts.values()) == [disk_cid]
    call(then, "delete_snapshot", snapshot_cid)
    call(then, "delete_vm", vm_cid)
    assert hypervisor.settle() == []
    call(then, "delete_disk", disk_cid)
    assert world.state() == world.empty


def test_without_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the commit of the release before, this release with another package stands in for it."""
    monkeypatch.setattr(former, "COMMIT", "0" * 40)
    monkeypatch.setattr(former, "SOURCES", ("jobs", "src"))
    source = former.write_source(tmp_path / "former")
    module = "src/bosh_aws_cpi/__init__.py"
    assert (source / module).read_text().startswith((ROOT / module).read_text())
    compared = filecmp.dircmp(ROOT / "src", source / "src")
    assert (compared.left_only, compared.right_only) == ([], [])
    assert filecmp.dircmp(ROOT / "src" / "bosh_aws_cpi", source / "src" / "bosh_aws_cpi").diff_files == [
        "__init__.py"
    ]
