"""snapshot_disk and delete_snapshot."""

from typing import Any
from uuid import UUID

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi
from testbed.world import World
from tests.stories.story import Story

CALLS = ["DescribeVolumes", "CreateSnapshot", "DescribeSnapshots"]
METADATA = {
    "deployment": "cf",
    "job": "redis",
    "index": 0,
    "instance_id": "1b2c",
    "director_name": "my-bosh",
    "director_uuid": "uuid",
    "agent_id": "agent-1",
    "note": None,
    "is_ours": True,
}
KEPT = {"deployment": "cf", "instance_id": "1b2c", "director_uuid": "uuid", "agent_id": "agent-1"}
NAMED = {"director": "my-bosh", "instance_index": "0", "instance_name": "redis/1b2c", "is_ours": "true"}


@pytest.mark.parametrize(
    ("device", "metadata", "expected"),
    [
        ("/dev/sdf", METADATA, {**KEPT, **NAMED, "device": "/dev/sdf", "Name": "cf/redis/0/sdf"}),
        (
            None,
            {"job": "redis", "index": 3},
            {"instance_index": "3", "instance_name": "redis", "Name": "redis/3"},
        ),
    ],
    ids=["attached", "detached"],
)
def test_description_and_tags(
    story: Story,
    cpi: Cpi,
    world: World,
    device: str | None,
    metadata: dict[str, Any],
    expected: dict[str, str],
) -> None:
    """A snapshot is created with a description and tags from the metadata."""
    disk_cid = story.lay_disk()
    if device:
        world.ec2.attach_volume(InstanceId=story.lay_vm("t3.micro"), VolumeId=disk_cid, Device=device)
    snapshot_cid = cpi.call("snapshot_disk", disk_cid, metadata).ok()
    (snapshot,) = world.ec2.describe_snapshots(SnapshotIds=[snapshot_cid])["Snapshots"]
    assert (snapshot["VolumeId"], snapshot["Description"]) == (disk_cid, expected["Name"])
    found = {tag["Key"]: tag["Value"] for tag in snapshot["Tags"]}
    assert UUID(found.pop("bosh_call")).version == 4
    assert found == {**expected, "bosh_director_uuid": DIRECTOR_UUID}


def test_nothing_known(story: Story, cpi: Cpi, fake_aws: FakeAws, world: World) -> None:
    """Without metadata the snapshot is created, tagged and waited for, too."""
    fake_aws.rule(action="CreateSnapshot", states=["pending", "pending", "completed"])
    disk_cid = story.lay_disk()
    snapshot_cid = cpi.call("snapshot_disk", disk_cid, {}).ok()
    assert fake_aws.actions() == [*CALLS, "DescribeSnapshots", "DescribeSnapshots"]
    assert world.state() == {**world.empty, "volumes": [disk_cid], "snapshots": [snapshot_cid]}


def test_failed(story: Story, cpi: Cpi, fake_aws: FakeAws) -> None:
    """A snapshot that EBS could not create is an error with its reason, and is deleted."""
    fake_aws.rule(action="CreateSnapshot", states=["pending", "error: the key is disabled"])
    disk_cid = story.lay_disk()
    error = cpi.call("snapshot_disk", disk_cid, METADATA).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    said, _, reason = error["message"].partition("': ")
    assert said.startswith("EBS could not create snapshot 'snap-")
    assert reason == "the key is disabled"
    assert story.leftovers() == {"volumes": [disk_cid]}


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize("code", ["PendingSnapshotLimitExceeded", "ConcurrentSnapshotLimitExceeded"])
def test_too_many_are_pending(story: Story, cpi: Cpi, fake_aws: FakeAws, world: World, code: str) -> None:
    """At the limit of pending snapshots it waits, because the Director retries no snapshot."""
    disk_cid = story.lay_disk()
    error = {"code": code, "message": "wait", "status": 400}
    fake_aws.rule(action="CreateSnapshot", times=3, error=error)
    snapshot_cid = cpi.call("snapshot_disk", disk_cid, {}).ok()
    assert world.state()["snapshots"] == [snapshot_cid]
    fake_aws.rule(action="CreateSnapshot", error={**error, "code": "SnapshotLimitExceeded"})
    assert "SnapshotLimitExceeded" in cpi.call("snapshot_disk", disk_cid, {}).error["message"]
    assert fake_aws.actions().count("CreateSnapshot") == 5


def test_unknown_disk(story: Story, cpi: Cpi) -> None:
    """A disk that EC2 does not know is DiskNotFound."""
    expected = story.failure("DiskNotFound", "Disk 'vol-0123456789abcdef0' not found")
    assert cpi.call("snapshot_disk", "vol-0123456789abcdef0", METADATA).error == expected


def test_delete(story: Story, cpi: Cpi, fake_aws: FakeAws, world: World) -> None:
    """A snapshot is deleted by one call, and its disk stays."""
    disk_cid = story.lay_disk()
    snapshot_cid = world.ec2.create_snapshot(VolumeId=disk_cid)["SnapshotId"]
    fake_aws.forget_calls()
    assert cpi.call("delete_snapshot", snapshot_cid).ok() is None
    assert fake_aws.actions() == ["DeleteSnapshot"]
    assert world.state() == {**world.empty, "volumes": [disk_cid]}


def test_delete_of_an_unknown_one(cpi: Cpi) -> None:
    """The deletion of a snapshot whose id EC2 calls malformed is logged, and is no error."""
    answer = cpi.call("delete_snapshot", "snap-x")
    assert answer.ok() is None
    assert "snap-x" in answer.stderr


def test_delete_of_one_in_use(cpi: Cpi, world: World) -> None:
    """The snapshot of an AMI is not deleted; the error has EC2's words."""
    (image,) = world.ec2.describe_images(ImageIds=[world.image_id])["Images"]
    snapshot_cid = image["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    error = cpi.call("delete_snapshot", snapshot_cid).error
    assert error["type"] == "Bosh::Clouds::CloudError"
    assert "DeleteSnapshot failed with InvalidSnapshot.InUse" in error["message"]
    assert world.image_id in error["message"]
    assert len(world.ec2.describe_snapshots(SnapshotIds=[snapshot_cid])["Snapshots"]) == 1


def test_mark_on_another_disk(story: Story, cpi: Cpi, fake_aws: FakeAws, world: World) -> None:
    """A snapshot of another disk is never the result, whatever its tags are."""
    disk_cid, other = story.lay_disk(), story.lay_disk()
    fake_aws.forget_calls()
    request = {"request_id": "cpi-424242"}
    first = cpi.call("snapshot_disk", disk_cid, METADATA, context=request).ok()
    assert cpi.call("snapshot_disk", disk_cid, METADATA, context=request).ok() == first
    tags = [{"Key": key, "Value": value} for key, value in story.tags_of(first).items()]
    world.ec2.delete_snapshot(SnapshotId=first)
    copied = world.ec2.create_snapshot(
        VolumeId=other, TagSpecifications=[{"ResourceType": "snapshot", "Tags": tags}]
    )["SnapshotId"]
    assert cpi.call("snapshot_disk", disk_cid, METADATA, context=request).ok() != copied
