"""BATS, persistent_disks_spec.rb: several disks of one instance, and a disk that is attached by hand."""

import pytest

from testbed.world import World
from tests.e2e.agents import AgentError
from tests.e2e.bats.director import Director, Instance


def test_attaches_multiple_disks(director: Director, batlight: Instance, world: World) -> None:
    """The agent finds each of several disks by its path, links each to its name, and starts with them."""
    director.deploy(batlight, size=0)
    vm = batlight.vm
    disks = {name: director.create_disk(batlight, mib) for name, mib in {"one": 5120, "two": 4096}.items()}
    paths = {disk_cid: director.attach_disk(batlight, disk_cid) for disk_cid in disks.values()}
    known = director.contents.paths(vm.cid)
    assert {known[path]: path for path in paths.values()} == paths
    assert director.machine(batlight).disk_hints == paths
    volumes = world.ec2.describe_volumes(VolumeIds=list(paths))["Volumes"]
    assert {each["VolumeId"]: each["Size"] for each in volumes} == {disks["one"]: 5, disks["two"]: 4}

    links = [{"name": name, "cid": disk_cid} for name, disk_cid in disks.items()]
    assert vm.ask("update_settings", {"disk_associations": links}) == "ok"
    with pytest.raises(AgentError, match="vol-00000000000000000"):
        vm.ask("update_settings", {"disk_associations": [{"name": "no", "cid": "vol-00000000000000000"}]})
    director.reboot_vm(batlight)
    assert sorted(vm.ask("list_disk")) == sorted(paths)


def test_can_attach_the_disk_to_a_stopped_instance(
    director: Director, batlight: Instance, world: World
) -> None:
    """The disk of a deleted deployment takes the place of a stopped instance's own, with its data."""
    director.deploy(batlight)
    saved = str(batlight.disk)
    director.contents.write(batlight.vm.cid, "foobar")
    director.delete(batlight)

    again = Instance(batlight.networks)
    director.deploy(again)
    own = again.disk
    assert director.contents.read(again.vm.cid) is None
    director.stop(again)
    director.methods.clear()
    assert director.replace_disk(again, saved) == own
    assert director.methods == ["detach_disk", "attach_disk", "set_disk_metadata"]
    director.start(again)
    assert again.vm.ask("list_disk") == [saved]
    assert director.contents.read(again.vm.cid) == "foobar"
    volumes = world.ec2.describe_volumes(VolumeIds=[own, saved])["Volumes"]
    assert {each["VolumeId"]: each["State"] for each in volumes} == {own: "available", saved: "in-use"}
