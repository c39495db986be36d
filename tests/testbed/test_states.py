"""What a rule's `states` do: a resource that isn't ready yet looks so, and can't be used."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.world import World


@pytest.fixture
def make(world: World) -> Callable[[], str]:
    """Return a function that creates a volume of 10 GiB."""

    def create() -> str:
        whole = {"AvailabilityZone": world.zone, "Size": 10, "VolumeType": "gp3"}
        volume_id: str = world.ec2.create_volume(**whole)["VolumeId"]
        return volume_id

    return create


@pytest.fixture
def volume(make: Callable[[], str]) -> str:
    """Create a volume."""
    return make()


def copied(ec2: Any, source: str) -> str:
    """Copy a volume."""
    (answer,) = ec2.copy_volumes(SourceVolumeId=source)["Volumes"]
    volume_id: str = answer["VolumeId"]
    return volume_id


def progress(ec2: Any, volume_id: str) -> int | None:
    """Read how far a volume is initialized."""
    (status,) = ec2.describe_volume_status(VolumeIds=[volume_id])["VolumeStatuses"]
    found: int | None = status.get("InitializationStatusDetails", {}).get("Progress")
    return found


def test_modified_volume(ec2: Any, world: World, volume: str, fake_aws: FakeAws, refused: Any) -> None:
    """A volume is attached once its modification is optimizing."""
    launched = ec2.run_instances(ImageId=world.image_id, MinCount=1, MaxCount=1, SubnetId=world.subnet_id)
    where = {"InstanceId": launched["Instances"][0]["InstanceId"], "VolumeId": volume, "Device": "/dev/sdf"}
    fake_aws.rule(action="ModifyVolume", states=["modifying", "optimizing"])
    ec2.modify_volume(VolumeId=volume, Size=20)
    with refused("OperationNotPermitted", "modification state: MODIFYING"):
        ec2.attach_volume(**where)
    for _ in range(2):
        ec2.describe_volumes_modifications(VolumeIds=[volume])
    ec2.attach_volume(**where)


def test_copy(ec2: Any, volume: str, fake_aws: FakeAws, refused: Any) -> None:
    """A copy is initialized step by step; until then neither it nor its source is copied."""
    assert progress(ec2, volume) is None
    fake_aws.rule(action="CopyVolumes", states=["0", "50", "100"])
    copy = copied(ec2, volume)
    with refused("ConcurrentCopyVolumeLimitExceeded"):
        copied(ec2, volume)
    with refused("IncorrectState"):
        copied(ec2, copy)
    assert [progress(ec2, copy) for _ in range(4)] == [0, 50, 100, 100]
    assert copied(ec2, volume)
    assert copied(ec2, copy)


def test_most_copies(ec2: Any, make: Callable[[], str], fake_aws: FakeAws, refused: Any) -> None:
    """A sixth copy is refused while five are not initialized, and not once one of them is."""
    fake_aws.rule(action="CopyVolumes", states=["99", "100"])
    copies = [copied(ec2, make()) for _ in range(5)]
    sixth = make()
    with refused("CopyVolumesLimitExceeded"):
        copied(ec2, sixth)
    assert [progress(ec2, copies[0]) for _ in range(2)] == [99, 100]
    assert copied(ec2, sixth)


def modification(ec2: Any, volume: str) -> dict[str, Any]:
    """Describe the last modification."""
    (last,) = ec2.describe_volumes_modifications(VolumeIds=[volume])["VolumesModifications"]
    described: dict[str, Any] = last
    return described


def size(ec2: Any, volume: str) -> int:
    """Read a volume's size."""
    shown: int = ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]["Size"]
    return shown


def test_modification(ec2: Any, volume: str, fake_aws: FakeAws, refused: Any) -> None:
    """A volume has its new size in the state "optimizing", and can be modified again once completed."""
    with refused("InvalidVolumeModification.NotFound"):
        modification(ec2, volume)
    fake_aws.rule(action="ModifyVolume", times=1, states=["modifying", "optimizing", "completed"])
    ec2.modify_volume(VolumeId=volume, Size=20)
    seen = []
    for _ in range(3):
        with refused("IncorrectModificationState", volume):
            ec2.modify_volume(VolumeId=volume, Size=30)
        last = modification(ec2, volume)
        seen.append((last["ModificationState"], last["Progress"], "EndTime" in last, size(ec2, volume)))
    assert seen == [("modifying", 0, False, 10), ("optimizing", 50, False, 20), ("completed", 100, True, 20)]
    with refused("InvalidParameterValue", "smaller"):
        ec2.modify_volume(VolumeId=volume, Size=10)
    ec2.modify_volume(VolumeId=volume, Size=30)
    assert size(ec2, volume) == 30


def shown(ec2: Any, snapshot: str) -> dict[str, Any]:
    """Describe a snapshot."""
    described: dict[str, Any] = ec2.describe_snapshots(SnapshotIds=[snapshot])["Snapshots"][0]
    return described


def test_snapshot(ec2: Any, world: World, volume: str, fake_aws: FakeAws, refused: Any) -> None:
    """No volume or image is created from a snapshot before it is completed."""
    fake_aws.rule(action="CreateSnapshot", times=1, states=["pending", "pending", "completed"])
    snapshot = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    device = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot}}
    seen = [shown(ec2, snapshot) for _ in range(2)]
    assert [(each["State"], each["Progress"]) for each in seen] == [("pending", "0%")] * 2
    with refused("IncorrectState", "pending"):
        ec2.create_volume(AvailabilityZone=world.zone, SnapshotId=snapshot)
    with refused("IncorrectState", "pending"):
        ec2.register_image(Name="image", RootDeviceName="/dev/xvda", BlockDeviceMappings=[device])
    assert shown(ec2, snapshot)["State"] == "completed"
    assert ec2.create_volume(AvailabilityZone=world.zone, SnapshotId=snapshot)["Size"] == 10


def test_image(ec2: Any, world: World, fake_aws: FakeAws) -> None:
    """A pending copy of an image shows no snapshot, and a failed one the reason."""
    fake_aws.rule(action="CopyImage", times=1, states=["pending", "available", "failed: no such key"])
    copy_id = ec2.copy_image(Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1")["ImageId"]
    pending, available, failed = (ec2.describe_images(ImageIds=[copy_id])["Images"][0] for _ in range(3))
    assert (pending["State"], available["State"], failed["State"]) == ("pending", "available", "failed")
    assert [len(each["BlockDeviceMappings"]) for each in (pending, available)] == [1, 2]
    assert failed["StateReason"] == {"Code": "Client.InternalError", "Message": "no such key"}


def test_subnet(ec2: Any, world: World, fake_aws: FakeAws) -> None:
    """A new subnet is pending at first; it is no default subnet, and has its tags at once."""
    fake_aws.rule(action="CreateSubnet", states=["pending", "available"])
    tags = [{"ResourceType": "subnet", "Tags": [{"Key": "a", "Value": "b"}]}]
    subnet = ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.7/24", TagSpecifications=tags)["Subnet"]
    assert (subnet["CidrBlock"], subnet["State"], subnet["DefaultForAz"]) == ("10.0.9.0/24", "pending", False)
    by_tag = [{"Name": "tag:a", "Values": ["b"]}]
    states = [ec2.describe_subnets(Filters=by_tag)["Subnets"][0]["State"] for _ in range(2)]
    assert states == ["pending", "available"]
