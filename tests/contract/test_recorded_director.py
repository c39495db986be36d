"""Requests that a whole Director (283.1.6) sent, replayed: the responses, and the resources afterwards.

Each flow is replayed on its own: first the test creates the VMs and disks that existed before it. Calls
that overlapped in time are replayed in the order of the recording.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.replay import Replay, director_names
from testbed.world import World
from tests.contract.recorded import NVME, attached, check, persistent, read, shortened, tags

pytestmark = pytest.mark.usefixtures("fast_clock")


@dataclass(frozen=True)
class Scene:
    """A world in which a recorded flow is replayed; resources have their recorded ids."""

    world: World
    replay: Replay

    def lay(self, vm_cid: str, address: str, disk_cid: str | None = None) -> None:
        """Launch a VM, as the recorded one was, with a disk of 10 GiB."""
        launched = self.world.ec2.run_instances(
            ImageId=self.world.image_id,
            InstanceType="m5.large",
            MinCount=1,
            MaxCount=1,
            SubnetId=self.world.subnet_id,
            PrivateIpAddress=address,
        )
        instance_id: str = launched["Instances"][0]["InstanceId"]
        self.replay.names[vm_cid] = instance_id
        if disk_cid:
            created = self.world.ec2.create_volume(
                AvailabilityZone=self.world.zone, Size=10, VolumeType="gp3"
            )
            self.replay.names[disk_cid] = created["VolumeId"]
            self.world.ec2.attach_volume(
                InstanceId=instance_id, VolumeId=created["VolumeId"], Device="/dev/sdf"
            )

    def play(self, name: str) -> None:
        """Replay a flow, with each answer of info once, and check its answers."""
        check(self.replay.play(shortened(read(name))))

    def volume(self, disk_cid: str) -> dict[str, Any]:
        """Describe a disk."""
        answer = self.world.ec2.describe_volumes(VolumeIds=[self.replay.names[disk_cid]])
        volume: dict[str, Any] = answer["Volumes"][0]
        return volume

    def instance(self, vm_cid: str) -> dict[str, Any]:
        """Describe a VM."""
        return self.world.instance(self.replay.names[vm_cid])

    def check_left(
        self,
        vms: Mapping[str, Mapping[str, str]],
        *,
        disks: Sequence[str] = (),
        snapshots: Sequence[str] = (),
    ) -> None:
        """Check that only these VMs with these disks, these free disks and these snapshots exist."""
        names = self.replay.names
        devices = {vm_cid: attached(self.world, names[vm_cid]) for vm_cid in vms}
        for vm_cid, expected in vms.items():
            assert persistent(devices[vm_cid]) == {name: names[each] for name, each in expected.items()}
        held = [volume for volumes in devices.values() for volume in volumes.values()]
        state = self.world.state()
        assert len(state.pop("interfaces")) == len(vms)
        assert state == {
            "instances": sorted(names[each] for each in vms),
            "volumes": sorted([*held, *(names[each] for each in disks)]),
            "snapshots": sorted(names[each] for each in snapshots),
            "images": [],
            "placement groups": [],
            "spot requests": [],
            "subnets": [],
        }


@pytest.fixture
def scene(cpi: Cpi, world: World) -> Scene:
    """Return a world in which the recording's AMI and subnets exist."""
    return Scene(world, Replay(cpi, director_names(world)))


def test_deploy(scene: Scene) -> None:
    """A first deployment compiles on a VM of its own, and creates two VMs with a disk each."""
    scene.play("80-director-deploy.jsonl")
    disks = {"i-086fa24a989ca9f98": "vol-b221327cdabd2df34", "i-0f0d4f4e33e33ec9c": "vol-65cad0d4c74887a1f"}
    scene.check_left({vm_cid: {"/dev/sdf": disk_cid} for vm_cid, disk_cid in disks.items()})
    for index, (vm_cid, disk_cid) in enumerate(disks.items()):
        instance = scene.instance(vm_cid)
        assert instance["PrivateIpAddress"] == f"10.0.1.{21 + index}"
        assert tags(instance)["Name"].startswith("toy/")
        assert tags(instance)["index"] == tags(scene.volume(disk_cid))["instance_index"] == str(index)


def test_disk_grows_in_place(scene: Scene) -> None:
    """The Director detaches each disk, lets the CPI resize it, and attaches it again."""
    vms = {"i-5598502d46d96ab4a": "vol-b221327cdabd2df34", "i-bbcbd2e1724e6f468": "vol-e41dd15858b96be74"}
    for number, (vm_cid, disk_cid) in enumerate(vms.items()):
        scene.lay(vm_cid, f"10.0.1.{21 + number}", disk_cid)
    scene.play("83-director-update-disk.jsonl")
    scene.check_left(
        {vm_cid: {"/dev/sdf": disk_cid} for vm_cid, disk_cid in vms.items()},
        snapshots=["snap-9e7f411bb3200f3f5", "snap-069706437a1b87ad8"],
    )
    assert [scene.volume(disk_cid)["Size"] for disk_cid in vms.values()] == [20, 20]


def test_disk_gets_encrypted(scene: Scene, fake_aws: FakeAws) -> None:
    """If update_disk is not permitted to copy, the Director attaches the disk again and copies the data."""
    fake_aws.refuse("CopyVolumes", "UnauthorizedOperation", "You are not authorized.", 403)
    vms = {
        "i-5598502d46d96ab4a": ("vol-659577ee65817776c", "vol-ce78eb5e27aa6a3e9"),
        "i-bbcbd2e1724e6f468": ("vol-f2dff16087bc08ecf", "vol-1c8bb0aae10d84d67"),
    }
    for number, (vm_cid, (old, _)) in enumerate(vms.items()):
        scene.lay(vm_cid, f"10.0.1.{21 + number}", old)
    scene.play("84-director-update-disk-not-supported.jsonl")
    scene.check_left(
        {vm_cid: {"/dev/sdg": new} for vm_cid, (_, new) in vms.items()},
        disks=[old for old, _ in vms.values()],
        snapshots=["snap-52f59273498fdf673", "snap-fad9f4e5cc99b9260"],
    )
    volumes = [scene.volume(new) for _, new in vms.values()]
    assert [(volume["Encrypted"], volume["VolumeType"]) for volume in volumes] == [(True, "gp2")] * 2


def test_cloud_check(scene: Scene) -> None:
    """Cloud-check finds a VM that was terminated, and recreates it with its disk and address."""
    lost, other = "i-2d87eaa1d9954f513", "i-d9031cd7e1519acff"
    scene.lay(lost, "10.0.1.24", "vol-116f4abf34ac4b5ca")
    scene.lay(other, "10.0.1.23", "vol-b221327cdabd2df34")
    scene.world.ec2.terminate_instances(InstanceIds=[scene.replay.names[lost]])
    scene.play("86-director-cloud-check.jsonl")
    scene.check_left(
        {
            "i-0e394b59af779203f": {"/dev/sdf": "vol-116f4abf34ac4b5ca"},
            other: {"/dev/sdf": "vol-b221327cdabd2df34"},
        }
    )
    assert scene.instance("i-0e394b59af779203f")["PrivateIpAddress"] == "10.0.1.24"


def test_dynamic_disks(scene: Scene, fake_aws: FakeAws) -> None:
    """Dynamic disks get their name as a tag, and `provide` attaches one without the stemcell's version.

    The recorder's CPI attached the disk there, and then failed. Its AWS accepted 4000 iops for 3 GiB, and
    EBS does not: here the disk has 8 GiB.
    """
    vm_cid = "i-8304cfb3d102c894c"
    scene.lay(vm_cid, "10.0.1.21")
    flow = shortened(read("87-director-dynamic-disks.jsonl"))
    (small,) = [line["request"] for line in flow if line["request"]["arguments"][:1] == [3000]]
    small["arguments"][0] = 8 * 1024
    steps = scene.replay.play(flow)
    (provide,) = [step for step in steps if step.recorded["error"]]
    check([step for step in steps if step is not provide])
    assert provide.method == "attach_disk"
    assert "vm" not in provide.request["context"]
    assert provide.answer.ok() == NVME + provide.request["arguments"][1].replace("-", "")
    assert not any("Unknown properties" in step.answer.stderr for step in steps)
    created = [call["parameters"] for call in fake_aws.calls() if call["action"] == "CreateVolume"]
    named = [name for asked in created for name in ("dd1", "dd2") if name in asked.values()]
    assert named == ["dd1", "dd2"]
    scene.check_left({vm_cid: {}})
