"""Volumes: attachments, refused requests, figures and tags."""

from typing import Any

import pytest

UNKNOWN_VOLUME = "vol-0123456789abcdef0"
UNKNOWN_INSTANCE = "i-0123456789abcdef0"
UNKNOWN_KEY = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-000000000000"


@pytest.fixture
def volume(ec2: Any, world: Any) -> str:
    """Create a volume."""
    answer = ec2.create_volume(AvailabilityZone=world.zone, Size=10, VolumeType="gp3")
    volume_id: str = answer["VolumeId"]
    return volume_id


@pytest.fixture
def vm(run: Any) -> str:
    """Launch an instance."""
    instance_id: str = run()["InstanceId"]
    return instance_id


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"VolumeType": "gp9", "Size": 10}, "UnknownVolumeType"),
        ({"VolumeType": "gp3", "Size": 65_537}, "InvalidParameterValue"),
        ({"VolumeType": "gp2", "Size": 16_385}, "InvalidParameterValue"),
        ({"VolumeType": "standard", "Size": 1025}, "InvalidParameterValue"),
    ],
)
def test_unknown_volumes(ec2: Any, world: Any, refused: Any, given: dict[str, Any], code: str) -> None:
    """A volume of an unknown type, or over its limit, is refused, and not created."""
    before = ec2.describe_volumes()["Volumes"]
    with refused(code):
        ec2.create_volume(AvailabilityZone=world.zone, **given)
    assert ec2.describe_volumes()["Volumes"] == before


def attach(ec2: Any, volume: str, vm: str, device: str = "/dev/sdf") -> None:
    """Attach a volume."""
    ec2.attach_volume(VolumeId=volume, InstanceId=vm, Device=device)


def test_attached_twice(ec2: Any, volume: str, vm: str, run: Any, refused: Any) -> None:
    """A volume in use is neither attached again, nor deleted."""
    attach(ec2, volume, vm)
    with refused("VolumeInUse", volume):
        attach(ec2, volume, run()["InstanceId"])
    with refused("VolumeInUse", volume):
        ec2.delete_volume(VolumeId=volume)


def test_other_zone(ec2: Any, world: Any, vm: str, refused: Any) -> None:
    """A volume of another zone is not attached."""
    other = ec2.create_volume(AvailabilityZone=world.other_zone, Size=1)["VolumeId"]
    with refused("InvalidVolume.ZoneMismatch"):
        attach(ec2, other, vm)


def test_device_name_in_use(ec2: Any, world: Any, volume: str, vm: str, refused: Any) -> None:
    """A device name in use is refused."""
    attach(ec2, volume, vm)
    other = ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    message = "Invalid value '/dev/sdf' for unixDevice. Attachment point /dev/sdf is already in use"
    with refused("InvalidParameterValue", message):
        attach(ec2, other, vm)


def test_bad_device_name(ec2: Any, volume: str, vm: str, refused: Any) -> None:
    """A device name that EC2 does not have is refused."""
    with refused("InvalidParameterValue", "/dev/xvdea is not a valid EBS device name."):
        attach(ec2, volume, vm, "/dev/xvdea")


def test_terminated_instance(ec2: Any, volume: str, vm: str, refused: Any) -> None:
    """Nothing is attached to a terminated instance."""
    ec2.terminate_instances(InstanceIds=[vm])
    with refused("IncorrectState"):
        attach(ec2, volume, vm)


def test_detach_available(ec2: Any, volume: str, vm: str, refused: Any) -> None:
    """An available volume is not detached."""
    with refused("IncorrectState", "'available'"):
        ec2.detach_volume(VolumeId=volume, InstanceId=vm)


def test_detach_from_another(ec2: Any, world: Any, volume: str, vm: str, run: Any, refused: Any) -> None:
    """A volume is detached from its own instance only."""
    attach(ec2, volume, vm)
    other = run()["InstanceId"]
    attach(ec2, ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"], other)
    with refused("InvalidAttachment.NotFound"):
        ec2.detach_volume(VolumeId=volume, InstanceId=other)
    ec2.detach_volume(VolumeId=volume)
    states = [v["State"] for v in ec2.describe_volumes(VolumeIds=[volume])["Volumes"]]
    assert states == ["available"]
    assert "/dev/sdf" in {m["DeviceName"] for m in world.instance(other)["BlockDeviceMappings"]}


def test_unknown_volume(ec2: Any, vm: str, refused: Any) -> None:
    """Every call refuses an unknown volume with InvalidVolume.NotFound."""
    for call in (ec2.delete_volume, ec2.detach_volume):
        with refused("InvalidVolume.NotFound", UNKNOWN_VOLUME):
            call(VolumeId=UNKNOWN_VOLUME)
    with refused("InvalidVolume.NotFound"):
        attach(ec2, UNKNOWN_VOLUME, vm)
    with refused("InvalidVolume.NotFound", f"The volume '{UNKNOWN_VOLUME}' does not exist."):
        ec2.describe_volumes(VolumeIds=[UNKNOWN_VOLUME])


def test_malformed_ids(ec2: Any, refused: Any) -> None:
    """Malformed ids have other error codes than unknown ones."""
    message = "Value (vol-x) for parameter volumes is invalid. Expected: 'vol-...'."
    with refused("InvalidParameterValue", message):
        ec2.describe_volumes(VolumeIds=["vol-x"])
    with refused("InvalidParameterValue", "volumeId"):
        ec2.delete_volume(VolumeId="vol-x")
    with refused("InvalidParameterValue", "volumeId"):
        attach(ec2, "vol-x", UNKNOWN_INSTANCE)
    with refused("InvalidInstanceID.Malformed", "i-x"):
        ec2.modify_instance_attribute(InstanceId="i-x", SourceDestCheck={"Value": False})
    with refused("InvalidInstanceID.Malformed", "i-x"):
        ec2.describe_instances(InstanceIds=["i-x"])
    with refused("InvalidInstanceID.Malformed", "i-x"):
        ec2.terminate_instances(InstanceIds=["i-x"])
    with refused("InvalidInstanceID.NotFound", UNKNOWN_INSTANCE):
        ec2.describe_instances(InstanceIds=[UNKNOWN_INSTANCE])


def test_performance_of_types(ec2: Any, volume: str) -> None:
    """A volume has the default iops and throughput of its type."""
    found = ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]
    assert (found["Iops"], found["Throughput"]) == (3000, 125)


TOO_MANY_IOPS = pytest.mark.parametrize(
    ("figures", "code", "message"),
    [
        (
            {"VolumeType": "gp3", "Size": 20, "Iops": 99_999},
            "InvalidParameterValue",
            "Volume iops of 99999 is too high; maximum is 80000.",
        ),
        (
            {"VolumeType": "gp3", "Size": 10, "Iops": 16_000},
            "InvalidParameterValue",
            "Iops to volume size ratio of 1600.000000 is too high; maximum is 500",
        ),
        (
            {"VolumeType": "io1", "Size": 2000, "Iops": 64_001},
            "InvalidParameterValue",
            "Volume iops of 64001 is too high; maximum is 64000.",
        ),
        (
            {"VolumeType": "io2", "Size": 4, "Iops": 4001},
            "InvalidParameterCombination",
            "1000:1 IOPS:GB ratio",
        ),
    ],
    ids=["gp3", "ratio", "most", "io2"],
)


@TOO_MANY_IOPS
def test_too_many_iops(
    ec2: Any, world: Any, refused: Any, figures: dict[str, Any], code: str, message: str
) -> None:
    """CreateVolume refuses more iops than the volume's type or size allows."""
    with refused(code, message):
        ec2.create_volume(AvailabilityZone=world.zone, **figures)
    assert world.state() == world.empty


@pytest.mark.parametrize(("volume_type", "least"), [("io1", 4), ("io2", 4), ("st1", 125), ("sc1", 125)])
def test_too_small(ec2: Any, world: Any, refused: Any, volume_type: str, least: int) -> None:
    """No volume is created below the smallest size of its type, and none becomes one."""
    figures = {"VolumeType": volume_type, **({"Iops": 100} if volume_type.startswith("io") else {})}
    with refused("InvalidParameterValue", f"must be at least {least} GiB in size"):
        ec2.create_volume(AvailabilityZone=world.zone, Size=least - 1, **figures)
    small = ec2.create_volume(AvailabilityZone=world.zone, Size=least - 1, VolumeType="gp3")["VolumeId"]
    with refused("InvalidParameterValue", f"must be at least {least} GiB in size"):
        ec2.modify_volume(VolumeId=small, **figures)
    created = ec2.create_volume(AvailabilityZone=world.zone, Size=least, **figures)
    assert (created["VolumeType"], created["Size"]) == (volume_type, least)


def test_too_many_iops_for_a_snapshot(ec2: Any, world: Any, volume: str, refused: Any) -> None:
    """If CreateVolume names no size, the size of the snapshot limits the iops."""
    snapshot = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    with refused("InvalidParameterValue", "Iops to volume size ratio of 600.000000"):
        ec2.create_volume(
            AvailabilityZone=world.zone, SnapshotId=snapshot, VolumeType="gp3", Iops=6000, Throughput=125
        )
    assert world.state()["volumes"] == [volume]


@TOO_MANY_IOPS
def test_launch_with_too_many_iops(
    world: Any, run: Any, refused: Any, figures: dict[str, Any], code: str, message: str
) -> None:
    """RunInstances refuses block devices with more iops than their type or size allows."""
    wanted = {**figures, "VolumeSize": figures["Size"]}
    del wanted["Size"]
    with refused(code, message):
        run(BlockDeviceMappings=[{"DeviceName": "/dev/sdb", "Ebs": wanted}])
    assert world.state() == world.empty


@TOO_MANY_IOPS
def test_change_to_too_many_iops(
    ec2: Any, world: Any, refused: Any, figures: dict[str, Any], code: str, message: str
) -> None:
    """ModifyVolume refuses more iops than the new type or size allows."""
    created = ec2.create_volume(AvailabilityZone=world.zone, Size=1, VolumeType="gp3")["VolumeId"]
    with refused(code, message):
        ec2.modify_volume(VolumeId=created, **figures)
    (volume,) = ec2.describe_volumes(VolumeIds=[created])["Volumes"]
    assert (volume["Size"], volume["VolumeType"], volume["Iops"]) == (1, "gp3", 3000)


def test_unknown_key(ec2: Any, world: Any, refused: Any) -> None:
    """CreateVolume succeeds with an unknown KMS key, and then the volume disappears."""
    volume = ec2.create_volume(AvailabilityZone=world.zone, Size=1, Encrypted=True, KmsKeyId=UNKNOWN_KEY)
    with refused("InvalidVolume.NotFound", volume["VolumeId"]):
        ec2.describe_volumes(VolumeIds=[volume["VolumeId"]])
    assert world.state() == world.empty


def test_tags_at_creation(ec2: Any, world: Any) -> None:
    """CreateVolume and CreateNetworkInterface tag the resources that they create."""
    tags = [{"Key": "a", "Value": "b"}]
    made = ec2.create_volume(
        AvailabilityZone=world.zone,
        Size=1,
        TagSpecifications=[{"ResourceType": "volume", "Tags": tags}],
    )
    eni = ec2.create_network_interface(
        SubnetId=world.subnet_id,
        TagSpecifications=[{"ResourceType": "network-interface", "Tags": tags}],
    )["NetworkInterface"]["NetworkInterfaceId"]
    assert ec2.describe_volumes(VolumeIds=[made["VolumeId"]])["Volumes"][0]["Tags"] == tags
    found = ec2.describe_network_interfaces(NetworkInterfaceIds=[eni])["NetworkInterfaces"][0]
    assert found["TagSet"] == tags


def test_unknown_zone(ec2: Any, refused: Any) -> None:
    """CreateVolume refuses an unknown zone."""
    with refused("InvalidZone.NotFound"):
        ec2.create_volume(AvailabilityZone="us-east-1z", Size=1)
