"""Disks attached to VMs and detached from them."""

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story

UNKNOWN_VM, UNKNOWN_DISK = "i-0123456789abcdef0", "vol-0123456789abcdef0"
NVME = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
ALL_NAMES = [f"/dev/sd{letter}" for letter in "fghijklmnop"]
CHANGING = {
    "code": "OperationNotPermitted",
    "message": "Cannot attach volume vol-1 when it is in modification state: MODIFYING",
}
IN_USE = {"code": "VolumeInUse", "message": "is already attached to an instance"}
NOT_READY = {"code": "IncorrectState", "message": "Instance is not 'running'."}
NO_INSTANCE = {"code": "InvalidInstanceID.NotFound", "message": "The instance ID does not exist"}
ODD_TYPE = {"code": "InvalidInstanceType", "message": "The following supplied instance types do not exist"}


def devices(world: World, vm_cid: str) -> dict[str, str]:
    """Return a VM's volumes by device name."""
    found = world.instance(vm_cid)["BlockDeviceMappings"]
    return {device["DeviceName"]: device["Ebs"]["VolumeId"] for device in found}


@pytest.mark.parametrize(("instance_type", "is_nitro"), [("t2.micro", False), ("t3.micro", True)])
def test_paths(story: Story, cpi: Cpi, fake_aws: FakeAws, instance_type: str, *, is_nitro: bool) -> None:
    """Names are given out in order; on Nitro the guest finds the disk by its id."""
    vm_cid, disk_cid = story.lay_vm(instance_type), story.lay_disk()
    path = cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok()
    assert path == (NVME + disk_cid.replace("-", "") if is_nitro else "/dev/sdf")
    assert "DescribeInstanceTypes" not in fake_aws.actions()
    (attaching,) = [call["parameters"] for call in fake_aws.calls() if call["action"] == "AttachVolume"]
    assert attaching["Device"] == "/dev/sdf"


@pytest.mark.parametrize(
    ("instance_type", "cards"), [("r8gb.48xlarge", ["1", "0", "1"]), ("t3.micro", [None] * 3)]
)
def test_ebs_cards(story: Story, cpi: Cpi, instance_type: str, cards: list[str | None]) -> None:
    """A disk gets the EBS card with the fewest volumes, if the type has several; the root is on card 0."""
    vm_cid, disk_cids = story.lay_vm(instance_type), [story.lay_disk() for _ in cards]
    for disk_cid in disk_cids:
        cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok()
    assert [call.get("EbsCardIndex") for call in story.parameters_of("AttachVolume")] == cards
    assert story.parameters_of("DescribeInstanceTypes") == []


def test_names(story: Story, cpi: Cpi, world: World) -> None:
    """/dev/xvdf takes /dev/sdf too; a disk is attached once; when no name is left that is an error."""
    vm_cid, disk_cid = story.lay_vm("t2.micro"), story.lay_disk()

    def attach(*names: str) -> None:
        for name in names:
            world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=story.lay_disk(), Device=name)

    attach("/dev/xvdf", "/dev/sdg")
    assert cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok() == "/dev/sdh"
    assert cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok() == "/dev/sdh"
    attach(*(name for name in ALL_NAMES if name not in {"/dev/sdf", "/dev/sdg", "/dev/sdh"}))
    answer = cpi.call("attach_disk", vm_cid, story.lay_disk(), stemcell=2)
    assert answer.error["type"] == "Bosh::Clouds::CloudError"
    assert answer.error["message"].startswith(
        f"Instance has too many disks attached. '{vm_cid}' has no room for '"
    )


@pytest.mark.usefixtures("fast_clock")
def test_patience(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A VM that is not ready, a disk that is held or changes, and states on the way are waited for."""
    vm_cid, disk_cid = story.lay_vm("m9g.metal-24xl"), story.lay_disk()
    fake_aws.rule(action="AttachVolume", nth=1, error=NOT_READY)
    fake_aws.rule(action="AttachVolume", nth=2, error=IN_USE)
    fake_aws.rule(action="AttachVolume", nth=3, error=CHANGING)
    fake_aws.rule(action="DescribeVolumes", nth=2, replace=[[">attached<", ">attaching<"]])
    fake_aws.rule(action="DescribeInstanceTypes", error=ODD_TYPE)
    answer = cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2)
    assert answer.ok() == "/dev/sdf"
    assert "m9g.metal-24xl" in answer.stderr
    assert fake_aws.actions().count("AttachVolume") == 4
    assert fake_aws.actions().count("DescribeVolumes") == 3
    assert devices(world, vm_cid)["/dev/sdf"] == disk_cid

    fake_aws.clear_rules()
    detaching = ["<attachmentSet/>", attachment(vm_cid)]
    fake_aws.rule(action="DescribeVolumes", nth=1, replace=[detaching])
    fake_aws.forget_calls()
    assert cpi.call("detach_disk", vm_cid, disk_cid, stemcell=2).ok() is None
    assert fake_aws.actions() == ["DetachVolume", "DescribeVolumes", "DescribeVolumes"]
    assert "/dev/sdf" not in devices(world, vm_cid)


def attachment(vm_cid: str) -> str:
    """Write a volume's attachments with one that is on its way out."""
    inner = f"<instanceId>{vm_cid}</instanceId><device>/dev/sdf</device><status>detaching</status>"
    return f"<attachmentSet><item>{inner}</item></attachmentSet>"


def test_unknown_vm(story: Story, cpi: Cpi) -> None:
    """A VM that EC2 does not know is VMNotFound; no disk is attached to it."""
    disk_cid = story.lay_disk()
    attached = cpi.call("attach_disk", UNKNOWN_VM, disk_cid, stemcell=2)
    assert attached.error == story.failure("VMNotFound", f"VM `{UNKNOWN_VM}' not found")
    detached = cpi.call("detach_disk", UNKNOWN_VM, disk_cid, stemcell=2)
    message = f"Disk `{disk_cid}' is not attached to instance `{UNKNOWN_VM}'"
    assert detached.error == story.failure("DiskNotAttached", message, ok_to_retry=True)


def test_unknown_vm_with_disk(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A disk that EC2 shows as attached is not reported as detached, even if EC2 denies the VM."""
    vm_cid, disk_cid = story.lay_vm(), story.lay_disk()
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=disk_cid, Device="/dev/sdf")
    for action in ("DetachVolume", "DescribeInstances"):
        fake_aws.rule(action=action, error=NO_INSTANCE)
    answer = cpi.call("detach_disk", vm_cid, disk_cid, stemcell=2)
    assert answer.error == story.failure("VMNotFound", f"VM `{vm_cid}' not found")


def test_unknown_disk(story: Story, cpi: Cpi, fake_aws: FakeAws) -> None:
    """A disk that EC2 does not know can't be attached, and is detached already, also from an unknown VM."""
    vm_cid = story.lay_vm()
    attached = cpi.call("attach_disk", vm_cid, UNKNOWN_DISK, stemcell=2)
    assert attached.error == story.failure("DiskNotFound", f"Disk '{UNKNOWN_DISK}' not found")
    assert cpi.call("detach_disk", vm_cid, UNKNOWN_DISK, stemcell=2).ok() is None
    fake_aws.rule(action="DetachVolume", error=NO_INSTANCE)
    assert cpi.call("detach_disk", UNKNOWN_VM, UNKNOWN_DISK, stemcell=2).ok() is None


def test_not_attached(story: Story, cpi: Cpi, world: World) -> None:
    """A disk that is attached nowhere, or elsewhere, is DiskNotAttached, and stays as it is."""
    vm_cid, other, disk_cid = story.lay_vm(), story.lay_vm(), story.lay_disk()
    message = f"Disk `{disk_cid}' is not attached to instance `{vm_cid}'"
    expected = story.failure("DiskNotAttached", message, ok_to_retry=True)
    assert cpi.call("detach_disk", vm_cid, disk_cid, stemcell=2).error == expected
    world.ec2.attach_volume(InstanceId=other, VolumeId=disk_cid, Device="/dev/sdf")
    assert cpi.call("detach_disk", vm_cid, disk_cid, stemcell=2).error == expected
    assert devices(world, other)["/dev/sdf"] == disk_cid


def test_disk_that_is_leaving(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A disk that is being detached is attached again, once it is free, under a name that is free."""
    vm_cid, disk_cid = story.lay_vm("t2.micro"), story.lay_disk()
    ebs = f"<ebs><volumeId>{disk_cid}</volumeId><status>detaching</status></ebs>"
    shown = f"<item><deviceName>/dev/sdf</deviceName>{ebs}</item></blockDeviceMapping>"
    fake_aws.rule(action="DescribeInstances", nth=1, replace=[["</blockDeviceMapping>", shown]])
    fake_aws.rule(action="AttachVolume", nth=1, error=IN_USE)
    assert cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok() == "/dev/sdg"
    assert fake_aws.actions().count("AttachVolume") == 2
    assert devices(world, vm_cid)["/dev/sdg"] == disk_cid


def test_vm_that_is_shutting_down(story: Story, cpi: Cpi, fake_aws: FakeAws) -> None:
    """A VM that is shutting down still exists: a disk can't be attached to it, but it is no unknown VM."""
    vm_cid = story.lay_vm()
    shutting_down = "<instanceState><code>32</code><name>shutting-down</name></instanceState>"
    fake_aws.rule(action="DescribeInstances", replace=[["<instanceState>.*?</instanceState>", shutting_down]])
    message = f"VM '{vm_cid}' is shutting-down: no disk can be attached to it"
    assert cpi.call("attach_disk", vm_cid, story.lay_disk(), stemcell=2).error == story.failure(
        "CloudError", message
    )
