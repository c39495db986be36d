"""BATS, with_release_stemcell_deployment_spec.rb: what happens to a job's VM, its agent and its disk."""

from testbed.world import World
from tests.contract.recorded import tags
from tests.e2e.bats.contents import STORE
from tests.e2e.bats.director import Director, Instance, recorded


def test_should_recreate_a_job(director: Director, batlight: Instance, world: World) -> None:
    """A recreated job has another VM with the same address and disk, whose data survive; all are tagged."""
    director.deploy(batlight)
    assert director.methods == recorded(
        "80-director-deploy.jsonl", "i-086fa24a989ca9f98", "vol-b221327cdabd2df34"
    )
    old = batlight.vm
    director.contents.write(old.cid, "foobar")
    director.methods.clear()

    director.recreate(batlight)
    flow = ("i-49bc02919dbf63d20", "i-e75571ae627ef2943", "vol-b221327cdabd2df34")
    assert director.methods == recorded("81-director-recreate.jsonl", *flow)
    new = batlight.vm
    assert new.cid != old.cid
    assert director.contents.read(new.cid) == "foobar"
    assert world.instance(new.cid)["PrivateIpAddress"] == "10.0.1.28"
    state = world.state()
    assert (state["instances"], len(state["interfaces"])) == ([new.cid], 1)
    machine = director.machine(batlight)
    assert machine.settings["agent_id"] == new.agent_id
    assert machine.mounts == {STORE: batlight.disk}
    assert new.ask("get_state")["job_state"] == "running"

    (snapshot_cid,) = director.snapshots[str(batlight.disk)]
    (snapshot,) = world.ec2.describe_snapshots(SnapshotIds=[snapshot_cid])["Snapshots"]
    (volume,) = world.ec2.describe_volumes(VolumeIds=[batlight.disk])["Volumes"]
    vm = {"Name": "batlight", "deployment": "bat", "job": "batlight", "id": batlight.uuid}
    assert tags(world.instance(new.cid)).items() >= vm.items()
    assert tags(volume).items() >= {"deployment": "bat", "instance_id": batlight.uuid}.items()
    assert tags(snapshot).items() >= {"deployment": "bat", "agent_id": old.agent_id}.items()


def test_should_stop_and_start_a_job(director: Director, batlight: Instance, world: World) -> None:
    """A stopped job keeps its VM; with `--hard` only the disk stays, and the next VM gets it back.

    On a VM with Xen, the disk has another kind of path.
    """
    batlight.properties = {"instance_type": "m4.large"}
    director.deploy(batlight)
    old = batlight.vm
    director.contents.write(old.cid, "foobar")
    director.methods.clear()

    director.stop(batlight)
    assert old.ask("get_state")["job_state"] == "stopped"
    director.start(batlight)
    assert old.ask("get_state")["job_state"] == "running"
    assert director.methods == ["snapshot_disk"]
    assert director.machine(batlight).running

    director.methods.clear()
    director.stop(batlight)
    director.detach(batlight)
    assert director.methods == ["snapshot_disk", "detach_disk", "delete_vm"]
    assert world.state() == {
        **world.empty,
        "volumes": [batlight.disk],
        "snapshots": sorted(director.snapshots[str(batlight.disk)]),
    }

    director.methods.clear()
    director.attach(batlight)
    assert director.methods == ["create_vm", "set_vm_metadata", "attach_disk", "set_disk_metadata"]
    assert director.contents.read(batlight.vm.cid) == "foobar"
    assert director.machine(batlight).disk_hints == {batlight.disk: "/dev/sdf"}


def test_delete_deployment(director: Director, batlight: Instance, world: World) -> None:
    """The disk is attached when its VM is deleted; it stays until it is cleaned up, with its snapshots.

    The AMI of a light stemcell stays, too: it is its publisher's.
    """
    director.upload_stemcell()
    director.deploy(batlight)
    orphan = str(batlight.disk)
    director.methods.clear()
    director.delete(batlight)
    assert director.methods == ["snapshot_disk", "delete_vm"]
    assert world.state() == {**world.empty, "volumes": [orphan], "snapshots": director.snapshots[orphan]}

    for snapshot_cid in director.snapshots[orphan]:
        director.call("delete_snapshot", snapshot_cid)
    director.call("delete_disk", orphan)
    director.delete_stemcell()
    assert world.state() == world.empty
    assert world.ec2.describe_images(ImageIds=[world.image_id])["Images"]
