"""Snapshots: size, key, states and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from testbed.cloud import FakeAws

KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
TAGS = [{"Key": "a", "Value": "b"}]


@pytest.fixture
def volume(ec2: Any, world: Any) -> str:
    """Create a volume."""
    volume_id: str = ec2.create_volume(AvailabilityZone=world.zone, Size=3)["VolumeId"]
    return volume_id


def shown(ec2: Any, snapshot: str) -> dict[str, Any]:
    """Describe a snapshot."""
    described: dict[str, Any] = ec2.describe_snapshots(SnapshotIds=[snapshot])["Snapshots"][0]
    return described


def test_made(ec2: Any, volume: str) -> None:
    """A new snapshot is pending, and keeps its description, its tags and its size."""
    answer = ec2.create_snapshot(
        VolumeId=volume,
        Description="d",
        TagSpecifications=[{"ResourceType": "snapshot", "Tags": TAGS}],
    )
    ec2.modify_volume(VolumeId=volume, Size=20)
    found = shown(ec2, answer["SnapshotId"])
    assert (answer["State"], found["State"], found["Progress"]) == ("pending", "completed", "100%")
    assert (found["Description"], found["Tags"], found["VolumeSize"]) == ("d", TAGS, 3)


def test_smaller_volume(ec2: Any, world: Any, volume: str, refused: Any) -> None:
    """No volume can be smaller than the snapshot that it is created from; without a size it has the same."""
    snapshot = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    with refused("InvalidParameterValue", f"snapshot '{snapshot}', expect size >= 3GB"):
        ec2.create_volume(AvailabilityZone=world.zone, SnapshotId=snapshot, Size=2)
    assert ec2.create_volume(AvailabilityZone=world.zone, SnapshotId=snapshot)["Size"] == 3


def test_states(fake_aws: FakeAws, ec2: Any, world: Any, volume: str, refused: Any) -> None:
    """A rule can keep a snapshot pending; no volume or image can be created from it until it is completed."""
    fake_aws.rule(action="CreateSnapshot", times=1, states=["pending", "pending", "completed"])
    snapshot = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    assert (shown(ec2, snapshot)["State"], shown(ec2, snapshot)["Progress"]) == ("pending", "0%")
    with refused("IncorrectState", "Snapshot is in invalid state - pending"):
        ec2.create_volume(AvailabilityZone=world.zone, SnapshotId=snapshot)
    with refused("IncorrectState", "Snapshot is in invalid state - pending"):
        ec2.register_image(
            Name="image",
            RootDeviceName="/dev/xvda",
            BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot}}],
        )
    assert shown(ec2, snapshot)["State"] == "completed"
    assert ec2.create_volume(AvailabilityZone=world.zone, SnapshotId=snapshot)["Size"] == 3


def test_key(ec2: Any, world: Any) -> None:
    """A snapshot has its volume's key, and so has a volume created from the snapshot."""
    volume = ec2.create_volume(AvailabilityZone=world.zone, Size=1, Encrypted=True, KmsKeyId=KEY)
    snapshot = ec2.create_snapshot(VolumeId=volume["VolumeId"])
    copy = ec2.create_volume(AvailabilityZone=world.zone, SnapshotId=snapshot["SnapshotId"])
    assert (copy["Encrypted"], copy["KmsKeyId"]) == (True, KEY)
