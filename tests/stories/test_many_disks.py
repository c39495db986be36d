"""attach_disk on VMs that have used up the usual eleven names."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story

NVME = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
USUAL = [f"/dev/sd{letter}" for letter in "fghijklmnop"]
NITRO, XEN = "m5.large", "m4.large"
TOO_MANY = "Instance has too many disks attached"
TAKEN = {"code": "InvalidParameterValue", "message": "Attachment point is already in use", "status": 400}


@pytest.fixture
def crowded(story: Story, world: World) -> Callable[..., str]:
    """Return a function that has a VM with disks under names, which are all the usual ones by default."""

    def make(instance_type: str, *more: str) -> str:
        vm_cid = story.lay_vm(instance_type)
        for name in [*USUAL, *more]:
            world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=story.lay_disk(), Device=name)
        return vm_cid

    return make


def test_further_names(story: Story, cpi: Cpi, crowded: Callable[..., str]) -> None:
    """A Nitro type takes more disks, under names that are given out in order; the guest finds them by id."""
    vm_cid, disk_cid = crowded(NITRO, "/dev/xvdba", "/dev/xvdbc"), story.lay_disk()
    path = cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok()
    assert path == NVME + disk_cid.replace("-", "")
    (attaching,) = story.parameters_of("AttachVolume")
    assert attaching["Device"] == "/dev/xvdbb"
    assert cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok() == path
    assert len(story.parameters_of("AttachVolume")) == 1


@pytest.mark.parametrize("asks", [False, True])
def test_limit_of_the_type(
    story: Story, crowded: Callable[..., str], fake_aws: FakeAws, *, asks: bool
) -> None:
    """A type takes as many volumes as EC2 says, of which one is the root disk, or as is known without EC2."""
    vm_cid, disk_cid = crowded(NITRO), story.lay_disk()
    new = "<maximumEbsAttachments>12</maximumEbsAttachments></ebsInfo>"
    replacements = [["<maximumEbsAttachments>.*?</maximumEbsAttachments>", ""], ["</ebsInfo>", new]]
    fake_aws.rule(action="DescribeInstanceTypes", replace=replacements)
    answer = story.cpi_with(enable_describe_instance_types=asks).call(
        "attach_disk", vm_cid, disk_cid, stemcell=2
    )
    assert answer.error == (story.failure("CloudError", TOO_MANY) if asks else None)


@pytest.mark.usefixtures("fast_clock")
def test_room_that_a_detachment_makes(
    story: Story, cpi: Cpi, crowded: Callable[..., str], fake_aws: FakeAws, world: World
) -> None:
    """The room of a disk that is being detached is waited for."""
    vm_cid, disk_cid = crowded(NITRO), story.lay_disk()
    (leaving,) = [
        each["Ebs"]["VolumeId"]
        for each in world.instance(vm_cid)["BlockDeviceMappings"]
        if each["DeviceName"] == USUAL[0]
    ]
    world.ec2.detach_volume(VolumeId=leaving)
    ebs = f"<ebs><volumeId>{leaving}</volumeId><status>detaching</status></ebs>"
    item = f"<blockDeviceMapping><item><deviceName>{USUAL[0]}</deviceName>{ebs}</item>"
    fake_aws.rule(action="DescribeInstances", nth=1, replace=[["<blockDeviceMapping>", item]])
    new = "<maximumEbsAttachments>12</maximumEbsAttachments></ebsInfo>"
    replacements = [["<maximumEbsAttachments>.*?</maximumEbsAttachments>", ""], ["</ebsInfo>", new]]
    fake_aws.rule(action="DescribeInstanceTypes", replace=replacements)
    assert cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok() == NVME + disk_cid.replace("-", "")


def unseen(*names: str) -> dict[str, Any]:
    """Return what takes devices out of an instance, as EC2 shows it for some time."""
    return {"replace": [[rf"<item><deviceName>{name}</deviceName>.*?</item>", ""] for name in names]}


def test_name_that_is_not_seen_to_be_taken(story: Story, cpi: Cpi, fake_aws: FakeAws, world: World) -> None:
    """A name that EC2 says is in use, but DescribeInstances does not show, is skipped."""
    vm_cid, disk_cid = story.lay_vm(NITRO), story.lay_disk()
    for name in USUAL[:2]:
        world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=story.lay_disk(), Device=name)
    fake_aws.forget_calls()
    fake_aws.rule(action="DescribeInstances", **unseen(*USUAL[:2]))
    assert cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok() == NVME + disk_cid.replace("-", "")
    assert [call["Device"] for call in story.parameters_of("AttachVolume")] == USUAL[:3]
    (volume,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
    assert [each["Device"] for each in volume["Attachments"]] == [USUAL[2]]


def test_name_that_this_very_disk_has(story: Story, cpi: Cpi, fake_aws: FakeAws, world: World) -> None:
    """When the disk itself has the name, as after a lost answer, it is attached, and tried nowhere else."""
    vm_cid, disk_cid = story.lay_vm(XEN), story.lay_disk()
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=disk_cid, Device="/dev/sdg")
    fake_aws.forget_calls()
    fake_aws.rule(action="DescribeInstances", **unseen("/dev/sdg"))
    taken = "Invalid value '/dev/sdf' for unixDevice. Attachment point /dev/sdf is already in use"
    fake_aws.refuse("AttachVolume", "InvalidParameterValue", taken)
    assert cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok() == "/dev/sdg"
    assert len(story.parameters_of("AttachVolume")) == 1


@pytest.mark.usefixtures("fast_clock")
def test_name_that_is_released(story: Story, cpi: Cpi, fake_aws: FakeAws) -> None:
    """A name may stay in use for some seconds after a detachment: the last one is waited for."""
    vm_cid, disk_cid = story.lay_vm(XEN), story.lay_disk()
    fake_aws.rule(action="AttachVolume", error=TAKEN, times=len(USUAL) + 3)
    assert cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok() == USUAL[3]
    assert [call["Device"] for call in story.parameters_of("AttachVolume")] == [*USUAL, *USUAL[:4]]
