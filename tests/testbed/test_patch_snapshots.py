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


def test_found_by_tag(ec2: Any, volume: str) -> None:
    """A filter finds a snapshot by the value of its tag."""
    specification = [{"ResourceType": "snapshot", "Tags": TAGS}]
    snapshot = ec2.create_snapshot(VolumeId=volume, TagSpecifications=specification)["SnapshotId"]
    ec2.create_snapshot(VolumeId=volume)
    found = [
        ec2.describe_snapshots(OwnerIds=["self"], Filters=[{"Name": "tag:a", "Values": [value]}])
        for value in ("b", "c")
    ]
    assert [[each["SnapshotId"] for each in answer["Snapshots"]] for answer in found] == [[snapshot], []]


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


def test_failure(fake_aws: FakeAws, ec2: Any, world: Any, volume: str) -> None:
    """A failed snapshot gives the reason, and can be deleted."""
    fake_aws.rule(action="CreateSnapshot", times=1, states=["pending", "error: no such key"])
    snapshot = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    assert "StateMessage" not in shown(ec2, snapshot)
    failed = shown(ec2, snapshot)
    assert (failed["State"], failed["StateMessage"]) == ("error", "no such key")
    ec2.delete_snapshot(SnapshotId=snapshot)
    assert world.state()["snapshots"] == []


def test_key(ec2: Any, world: Any) -> None:
    """A snapshot has its volume's key, and so has a volume created from the snapshot."""
    volume = ec2.create_volume(AvailabilityZone=world.zone, Size=1, Encrypted=True, KmsKeyId=KEY)
    snapshot = ec2.create_snapshot(VolumeId=volume["VolumeId"])
    copy = ec2.create_volume(AvailabilityZone=world.zone, SnapshotId=snapshot["SnapshotId"])
    assert (copy["Encrypted"], copy["KmsKeyId"]) == (True, KEY)


def test_in_use(ec2: Any, world: Any, refused: Any) -> None:
    """A snapshot can't be deleted as long as a registered image uses it."""
    image = ec2.describe_images(ImageIds=[world.image_id])["Images"][0]
    snapshot = image["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    with refused("InvalidSnapshot.InUse", world.image_id):
        ec2.delete_snapshot(SnapshotId=snapshot)
    ec2.deregister_image(ImageId=world.image_id)
    ec2.delete_snapshot(SnapshotId=snapshot)
    with refused("InvalidSnapshot.NotFound"):
        ec2.delete_snapshot(SnapshotId=snapshot)


def test_unknown(ec2: Any, refused: Any) -> None:
    """The error for an unknown snapshot names it; a malformed id has another error."""
    with refused("InvalidSnapshot.NotFound", "The snapshot 'snap-0123456789abcdef0' does not exist."):
        shown(ec2, "snap-0123456789abcdef0")
    with refused("InvalidParameterValue", "Expected: 'snap-...'."):
        shown(ec2, "snap-x")
