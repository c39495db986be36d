"""CopyVolumes: what a copy is, how far it is initialized, and what is written on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws

KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
TAGS = [{"Key": "a", "Value": "b"}]


@pytest.fixture
def make(ec2: Any, world: Any) -> Callable[..., str]:
    """Return a function that creates a volume of 10 GiB."""

    def create(**parameters: Any) -> str:
        whole = {"AvailabilityZone": world.zone, "Size": 10, "VolumeType": "gp3", **parameters}
        volume_id: str = ec2.create_volume(**whole)["VolumeId"]
        return volume_id

    return create


def copied(ec2: Any, source: str, **parameters: Any) -> dict[str, Any]:
    """Copy a volume, and describe the copy."""
    (answer,) = ec2.copy_volumes(SourceVolumeId=source, **parameters)["Volumes"]
    (found,) = ec2.describe_volumes(VolumeIds=[answer["VolumeId"]])["Volumes"]
    shown: dict[str, Any] = found
    assert (answer["SourceVolumeId"], shown["SourceVolumeId"]) == (source, source)
    return shown


def progress(ec2: Any, volume_id: str) -> int | None:
    """Read how far a volume is initialized."""
    (status,) = ec2.describe_volume_status(VolumeIds=[volume_id])["VolumeStatuses"]
    found: int | None = status.get("InitializationStatusDetails", {}).get("Progress")
    return found


def test_defaults(ec2: Any, make: Callable[..., str]) -> None:
    """Without figures a copy has the source's size and zone, type gp2, and no tags."""
    shown = copied(ec2, make(TagSpecifications=[{"ResourceType": "volume", "Tags": TAGS}]))
    assert (shown["Size"], shown["VolumeType"], shown["Encrypted"]) == (10, "gp2", False)
    assert (shown["AvailabilityZone"], shown["State"]) == ("us-east-1a", "available")
    assert "Tags" not in shown or shown["Tags"] == []


def test_progress(ec2: Any, make: Callable[..., str], fake_aws: FakeAws) -> None:
    """A copy is initialized at once, or as a rule says; an empty volume has no progress."""
    source = make()
    assert progress(ec2, source) is None
    assert progress(ec2, copied(ec2, source)["VolumeId"]) == 100
    fake_aws.rule(action="CopyVolumes", states=["0", "50", "100"])
    copy = copied(ec2, source)["VolumeId"]
    assert [progress(ec2, copy) for _ in range(4)] == [0, 50, 100, 100]


def test_contents(ec2: Any, make: Callable[..., str], run: Any, fake_aws: FakeAws) -> None:
    """An instance writes on its volumes; copies and volumes from snapshots have the contents of that time."""
    source, vm = make(), run()["InstanceId"]
    empty = copied(ec2, source)["VolumeId"]
    ec2.attach_volume(VolumeId=source, InstanceId=vm, Device="/dev/sdf")
    snapshot = ec2.create_snapshot(VolumeId=source)["SnapshotId"]
    full, restored = copied(ec2, source)["VolumeId"], make(SnapshotId=snapshot)
    told = fake_aws.contents()
    assert [told[each] for each in (empty, source, full, restored)] == [[], [vm], [vm], [vm]]


def test_source_deleted(ec2: Any, make: Callable[..., str], run: Any, fake_aws: FakeAws) -> None:
    """A copy completes if its source is deleted before that, and EC2 still names the source."""
    source, vm = make(), run()["InstanceId"]
    ec2.attach_volume(VolumeId=source, InstanceId=vm, Device="/dev/sdf")
    ec2.detach_volume(VolumeId=source)
    fake_aws.rule(action="CopyVolumes", states=["0", "99", "100"])
    copy = copied(ec2, source)["VolumeId"]
    ec2.delete_volume(VolumeId=source)
    assert [progress(ec2, copy) for _ in range(3)] == [0, 99, 100]
    assert fake_aws.contents()[copy] == [vm]
    (shown,) = ec2.describe_volumes(VolumeIds=[copy])["Volumes"]
    assert shown["SourceVolumeId"] == source


def test_most_in_progress(ec2: Any, make: Callable[..., str], refused: Any, fake_aws: FakeAws) -> None:
    """A sixth copy is refused while five are not initialized, and not once one of them is."""
    fake_aws.rule(action="CopyVolumes", states=["99", "100"])
    copies = [copied(ec2, make())["VolumeId"] for _ in range(5)]
    sixth = make()
    with refused("CopyVolumesLimitExceeded"):
        ec2.copy_volumes(SourceVolumeId=sixth)
    assert [progress(ec2, copies[0]) for _ in range(2)] == [99, 100]
    assert copied(ec2, sixth)


def test_one_copy_at_a_time(ec2: Any, make: Callable[..., str], refused: Any, fake_aws: FakeAws) -> None:
    """A source is not copied again, and a copy not at all, before the copy is initialized."""
    source = make()
    fake_aws.rule(action="CopyVolumes", states=["99", "100"])
    copy = copied(ec2, source)["VolumeId"]
    with refused("ConcurrentCopyVolumeLimitExceeded"):
        ec2.copy_volumes(SourceVolumeId=source)
    with refused("IncorrectState"):
        ec2.copy_volumes(SourceVolumeId=copy)
    assert [progress(ec2, copy) for _ in range(2)] == [99, 100]
    assert copied(ec2, source)
    assert copied(ec2, copy)


@pytest.mark.parametrize(
    ("state", "is_copied"),
    [("modifying", False), ("failed", False), ("optimizing", True), ("completed", True)],
)
def test_copy_of_a_modified_volume(
    ec2: Any, make: Callable[..., str], refused: Any, fake_aws: FakeAws, state: str, *, is_copied: bool
) -> None:
    """The modification of a source must be completed or optimizing."""
    source = make()
    fake_aws.rule(action="ModifyVolume", states=[state])
    ec2.modify_volume(VolumeId=source, Size=11)
    if is_copied:
        assert copied(ec2, source)
        return
    with refused("IncorrectState"):
        ec2.copy_volumes(SourceVolumeId=source)
