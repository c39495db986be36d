"""Resources that EC2 does not find: for a moment, although it has shown them, or because they are gone."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story

pytestmark = pytest.mark.usefixtures("fast_clock")

UNKNOWN_VM, UNKNOWN_DISK = "i-0123456789abcdef0", "vol-0123456789abcdef0"
CODES = {
    "i-": "InvalidInstanceID.NotFound",
    "vol-": "InvalidVolume.NotFound",
    "snap-": "InvalidSnapshot.NotFound",
    "ami-": "InvalidAMIID.NotFound",
}


class Things(NamedTuple):
    """A VM, a disk that it has, one that nobody has, a snapshot, and a stemcell.

    Attributes:
        vm: The VM.
        held: The VM's disk.
        free: The other disk.
        snapshot: The snapshot.
        stemcell: The stemcell's AMI.
    """

    vm: str
    held: str
    free: str
    snapshot: str
    stemcell: str


def not_found(kind: str) -> dict[str, Any]:
    """EC2's error for a resource of this kind that it does not find."""
    return {"code": CODES[kind], "message": "It does not exist", "status": 400}


@pytest.fixture
def things(story: Story, world: World, fake_aws: FakeAws) -> Things:
    """Have what the table names."""
    vm_cid, held, free = story.lay_vm(), story.lay_disk(), story.lay_disk()
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=held, Device="/dev/sdf")
    snapshot = world.ec2.create_snapshot(VolumeId=free)["SnapshotId"]
    stemcell = world.ec2.copy_image(Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1")
    fake_aws.forget_calls()
    return Things(vm_cid, held, free, snapshot, stemcell["ImageId"])


METADATA = {"deployment": "cf"}
CALLS: list[tuple[Callable[[Things], list[Any]], str, str]] = [
    (lambda there: ["has_vm", there.vm], "DescribeInstances", "i-"),
    (lambda there: ["delete_vm", there.vm], "TerminateInstances", "i-"),
    (lambda there: ["delete_vm", there.vm], "DescribeInstances", "i-"),
    (lambda there: ["reboot_vm", there.vm], "DescribeInstances", "i-"),
    (lambda there: ["reboot_vm", there.vm], "RebootInstances", "i-"),
    (lambda there: ["get_disks", there.vm], "DescribeInstances", "i-"),
    (lambda there: ["set_vm_metadata", there.vm, METADATA], "DescribeInstances", "i-"),
    (lambda there: ["set_vm_metadata", there.vm, METADATA], "CreateTags", "i-"),
    (lambda there: ["attach_disk", there.vm, there.free], "AttachVolume", "i-"),
    (lambda there: ["attach_disk", there.vm, there.free], "AttachVolume", "vol-"),
    (lambda there: ["detach_disk", there.vm, there.held], "DetachVolume", "i-"),
    (lambda there: ["detach_disk", there.vm, there.held], "DescribeVolumes", "vol-"),
    (lambda there: ["has_disk", there.free], "DescribeVolumes", "vol-"),
    (lambda there: ["delete_disk", there.free], "DeleteVolume", "vol-"),
    (lambda there: ["set_disk_metadata", there.free, METADATA], "CreateTags", "vol-"),
    (lambda there: ["snapshot_disk", there.free, {}], "DescribeVolumes", "vol-"),
    (lambda there: ["snapshot_disk", there.free, {}], "CreateSnapshot", "vol-"),
    (lambda there: ["resize_disk", there.free, 2048], "ModifyVolume", "vol-"),
    (lambda there: ["update_disk", there.free, 1024, {"encrypted": True}], "CopyVolumes", "vol-"),
    (lambda there: ["delete_stemcell", there.stemcell], "DeregisterImage", "ami-"),
    (lambda there: ["delete_snapshot", there.snapshot], "DeleteSnapshot", "snap-"),
]


@pytest.mark.parametrize(("words", "action", "kind"), CALLS)
def test_for_a_moment(
    cpi: Cpi,
    things: Things,
    world: World,
    fake_aws: FakeAws,
    words: Callable[[Things], list[Any]],
    action: str,
    kind: str,
) -> None:
    """What EC2 does not find once is there all the same: the call does to it what it always does."""
    fake_aws.rule(action=action, nth=1, error=not_found(kind))
    method, *arguments = words(things)
    result = cpi.call(method, *arguments, stemcell=2).ok()
    assert [call["status"] for call in fake_aws.calls() if call["action"] == action][:2] == [400, 200]
    if method.startswith("has_"):
        assert result is True
    state = world.state()
    assert (things.vm in state["instances"]) == (method != "delete_vm")
    assert (things.free in state["volumes"]) == (method != "delete_disk")
    assert (things.snapshot in state["snapshots"]) == (method != "delete_snapshot")
    assert (things.stemcell in state["images"]) == (method != "delete_stemcell")


@pytest.mark.parametrize(
    ("words", "kind", "calls"),
    [
        (["delete_vm", UNKNOWN_VM], "VM", ["TerminateInstances", *["DescribeInstances"] * 2]),
        (["get_disks", UNKNOWN_VM], "VM", ["DescribeInstances"] * 2),
        (["delete_disk", UNKNOWN_DISK], "Disk", ["DeleteVolume", *["DescribeVolumes"] * 2]),
        (["set_disk_metadata", UNKNOWN_DISK, METADATA], "Disk", ["CreateTags", *["DescribeVolumes"] * 2]),
    ],
)
def test_gone(cpi: Cpi, fake_aws: FakeAws, words: list[Any], kind: str, calls: list[str]) -> None:
    """What EC2 does not show either, when it is asked again, is gone: that takes no minutes."""
    method, *arguments = words
    error = cpi.call(method, *arguments, stemcell=2).error
    assert error["type"] == f"Bosh::Clouds::{kind}NotFound"
    assert fake_aws.actions() == calls


def test_found_by_nothing_but_the_look(cpi: Cpi, things: Things, world: World, fake_aws: FakeAws) -> None:
    """A VM that EC2 shows all the time, and never finds, is not reported as gone until it is terminated."""
    fake_aws.rule(action="TerminateInstances", times=None, error=not_found("i-"))
    answer = cpi.call("delete_vm", things.vm, stemcell=2).error
    assert answer["type"] == "Bosh::Clouds::CloudError"
    assert things.vm in answer["message"]
    assert things.vm in world.state()["instances"]
    fake_aws.clear_rules()
    world.ec2.terminate_instances(InstanceIds=[things.vm])
    fake_aws.rule(action="TerminateInstances", times=None, error=not_found("i-"))
    assert cpi.call("delete_vm", things.vm, stemcell=2).ok() is None


def test_disk_that_leaves_the_vm(cpi: Cpi, things: Things, fake_aws: FakeAws) -> None:
    """A volume that is gone by the time of the tags does not keep the VM's tags waiting."""
    error = not_found("vol-")
    for name in ("ResourceId.1", "ResourceId.3"):  # alone, and with the VM and its root volume
        fake_aws.rule(action="CreateTags", where={name: things.held}, times=None, error=error)
    fake_aws.rule(
        action="DescribeInstances",
        nth=2,
        replace=[[rf"<volumeId>{things.held}</volumeId>", f"<volumeId>{UNKNOWN_DISK}</volumeId>"]],
    )
    answer = cpi.call("set_vm_metadata", things.vm, METADATA)
    assert answer.ok() is None
    assert fake_aws.actions().count("CreateTags") == 4
    assert f"Could not tag {things.held}" in answer.stderr
