"""BATS, with_release_stemcell_spec.rb: disks that change their size."""

from testbed.world import World
from tests.e2e.bats.director import Director, Instance, recorded


def size(world: World, disk_cid: str | None) -> int:
    """Return a disk's size in GiB."""
    (volume,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
    found: int = volume["Size"]
    return found


def test_should_migrate_disk_contents(director: Director, batlight: Instance, world: World) -> None:
    """A disk grows by a copy, grows in place, and shrinks by a copy; its contents stay."""
    director.deploy(batlight)
    vm_cid = batlight.vm.cid
    director.contents.write(vm_cid, "foobar")

    director.methods.clear()
    director.stop(batlight)
    first = director.copy_disk(batlight, 4096)
    flow = ("vol-b221327cdabd2df34", "vol-e07137357bdcfac27")
    assert director.methods == recorded("82-director-disk-grow-by-copy.jsonl", *flow)
    assert director.contents.read(vm_cid) == "foobar"
    assert (size(world, first), size(world, batlight.disk)) == (2, 4)
    director.start(batlight)

    director.methods.clear()
    director.stop(batlight)
    second = director.resize_disk(batlight, 8192)
    assert director.methods == recorded("83-director-update-disk.jsonl", "vol-b221327cdabd2df34")
    assert batlight.disk == second
    assert size(world, second) == 8
    assert director.contents.read(vm_cid) == "foobar"

    assert director.copy_disk(batlight, 1024) == second
    assert size(world, batlight.disk) == 1
    assert director.contents.read(vm_cid) == "foobar"
    assert director.machine(batlight).disk_hints.keys() == {batlight.disk}


def test_update_disk(director: Director, batlight: Instance, world: World) -> None:
    """With `director.enable_cpi_update_disk`, an encrypted copy replaces the disk, which stays."""
    director.deploy(batlight)
    old = batlight.disk
    director.contents.write(batlight.vm.cid, "foobar")
    director.methods.clear()
    director.update_disk(batlight, 4096, {"type": "gp3", "encrypted": True})
    assert director.methods == ["detach_disk", "update_disk", "attach_disk", "set_disk_metadata"]
    (volume,) = world.ec2.describe_volumes(VolumeIds=[batlight.disk])["Volumes"]
    assert (volume["Encrypted"], volume["Size"]) == (True, 4)
    assert old in world.state()["volumes"]  # a person deletes it
    assert director.contents.read(batlight.vm.cid) == "foobar"
