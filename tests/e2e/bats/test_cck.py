"""BATS, cck_spec.rb: what `bosh cloud-check` finds, and its resolutions."""

import pytest

from testbed.world import World
from tests.e2e.bats.contents import STORE
from tests.e2e.bats.director import Director, Instance, recorded

CLOUD_CHECK = recorded(
    "86-director-cloud-check.jsonl", "i-2d87eaa1d9954f513", "vol-116f4abf34ac4b5ca", "i-0e394b59af779203f"
)[2:]
"""Without the first of two scans."""


@pytest.mark.parametrize("problem", ["unresponsive_agent", "missing_vm"])
def test_recreate_vm(director: Director, batlight: Instance, world: World, problem: str) -> None:
    """A VM whose agent is silent, or that is gone, is replaced; the disk and its data stay."""
    director.deploy(batlight)
    old, disk = batlight.vm, batlight.disk
    director.contents.write(old.cid, "foobar")
    director.methods.clear()
    director.machine(batlight).end()
    if problem == "missing_vm":
        world.ec2.terminate_instances(InstanceIds=[old.cid])
    assert list(director.scan(batlight)) == [problem]

    director.recreate_vm(batlight)
    assert director.methods == CLOUD_CHECK
    assert list(director.scan(batlight)) == []
    new = batlight.vm
    assert new.cid != old.cid
    assert world.state()["instances"] == [new.cid]
    assert director.machine(batlight).mounts == {STORE: disk}
    assert director.contents.read(new.cid) == "foobar"


def test_reboot_vm(director: Director, batlight: Instance) -> None:
    """A rebooted VM is the same one, whose agent mounts its disk again by the path that it was told."""
    director.deploy(batlight)
    director.contents.write(batlight.vm.cid, "foobar")
    machine = director.machine(batlight)
    machine.end()
    assert list(director.scan(batlight)) == ["unresponsive_agent"]
    director.reboot_vm(batlight)
    assert list(director.scan(batlight)) == []
    assert director.machine(batlight) is not machine
    assert batlight.vm.ask("get_state")["agent_id"] == batlight.vm.agent_id
    assert director.contents.read(batlight.vm.cid) == "foobar"


def test_mount_info_mismatch(director: Director, batlight: Instance, world: World) -> None:
    """A disk that somebody detached is attached again, with its data."""
    director.deploy(batlight)
    disk, vm_cid = str(batlight.disk), batlight.vm.cid
    director.contents.write(vm_cid, "foobar")
    batlight.vm.ask("unmount_disk", disk)
    batlight.vm.ask("remove_persistent_disk", disk)  # only a real platform notices it by itself
    world.ec2.detach_volume(VolumeId=disk)
    assert list(director.scan(batlight)) == ["mount_info_mismatch"]

    director.methods.clear()
    director.mount(batlight, disk)
    assert director.methods == ["attach_disk", "set_disk_metadata"]
    assert list(director.scan(batlight)) == []
    assert director.contents.read(vm_cid) == "foobar"
