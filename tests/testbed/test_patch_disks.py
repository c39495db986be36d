"""Volumes: attachments, refused requests, figures and tags."""

from typing import Any

import pytest


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


def attach(ec2: Any, volume: str, vm: str, device: str = "/dev/sdf") -> None:
    """Attach a volume."""
    ec2.attach_volume(VolumeId=volume, InstanceId=vm, Device=device)


def test_other_zone(ec2: Any, world: Any, vm: str, refused: Any) -> None:
    """A volume of another zone is not attached."""
    other = ec2.create_volume(AvailabilityZone=world.other_zone, Size=1)["VolumeId"]
    with refused("InvalidVolume.ZoneMismatch"):
        attach(ec2, other, vm)


def test_terminated_instance(ec2: Any, volume: str, vm: str, refused: Any) -> None:
    """Nothing is attached to a terminated instance."""
    ec2.terminate_instances(InstanceIds=[vm])
    with refused("IncorrectState"):
        attach(ec2, volume, vm)


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


def test_too_many_iops_for_a_snapshot(ec2: Any, world: Any, volume: str, refused: Any) -> None:
    """If CreateVolume names no size, the size of the snapshot limits the iops."""
    snapshot = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    with refused("InvalidParameterValue", "Iops to volume size ratio of 600.000000"):
        ec2.create_volume(
            AvailabilityZone=world.zone, SnapshotId=snapshot, VolumeType="gp3", Iops=6000, Throughput=125
        )
    assert world.state()["volumes"] == [volume]
