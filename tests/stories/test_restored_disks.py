"""Disks from snapshots: create_disk with `snapshot_id`, and what cpi check says of it."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.checked_config import DISK, changed, right
from tests.stories.checking import checked, errors
from tests.stories.story import Story

KEY = "arn:aws:kms:us-east-1:123456789012:key/default"
OWN_KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
TWO_GIB = 2048
PATH = "disk_types/default/cloud_properties"


@pytest.fixture
def snapshot(world: World, fake_aws: FakeAws) -> str:
    """Have a snapshot of 2 GiB, whose volume is gone."""
    return taken(world, fake_aws)


def taken(world: World, fake_aws: FakeAws, **more: Any) -> str:
    """Take a snapshot of a volume of 2 GiB, and delete the volume; the list of calls begins anew."""
    where = {"AvailabilityZone": world.zone, "Size": 2, "VolumeType": "gp3"}
    volume_id = world.ec2.create_volume(**where, **more)["VolumeId"]
    snapshot_id: str = world.ec2.create_snapshot(VolumeId=volume_id)["SnapshotId"]
    world.ec2.delete_volume(VolumeId=volume_id)
    fake_aws.forget_calls()
    return snapshot_id


def shown(world: World, disk_cid: str) -> dict[str, Any]:
    """Describe a volume."""
    (found,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
    return dict(found)


def test_restored(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """What snapshot_disk took is on the disk, which may be larger, in the zone of its VM."""
    vm_cid, disk_cid = story.lay_vm("t3.micro", SubnetId=world.subnet_ids[2]), story.lay_disk()
    other = story.lay_vm("t3.micro")
    cpi.call("attach_disk", other, disk_cid, stemcell=2).ok()
    snapshot_cid = cpi.call("snapshot_disk", disk_cid, {}).ok()
    fake_aws.forget_calls()
    restored = cpi.call("create_disk", TWO_GIB, {"snapshot_id": snapshot_cid}, vm_cid).ok()
    asked = {"DescribeInstances", "DescribeSnapshots", "CreateVolume", "DescribeVolumes"}
    assert (set(fake_aws.actions()), len(fake_aws.actions())) == (asked, len(asked))
    (parameters,) = story.parameters_of("CreateVolume")
    assert (parameters["SnapshotId"], parameters["Size"]) == (snapshot_cid, "2")
    assert fake_aws.contents()[restored] == fake_aws.contents()[disk_cid] == [other]
    assert shown(world, restored)["AvailabilityZone"] == world.other_zone


@pytest.mark.parametrize(
    ("properties", "key"), [({}, KEY), ({"encrypted": True, "kms_key_arn": OWN_KEY}, OWN_KEY)]
)
def test_encryption(cpi: Cpi, world: World, fake_aws: FakeAws, properties: dict[str, Any], key: str) -> None:
    """A disk from an encrypted snapshot is encrypted by the snapshot's key, or by its own."""
    wanted = {**properties, "snapshot_id": taken(world, fake_aws, Encrypted=True, KmsKeyId=KEY)}
    found = shown(world, cpi.call("create_disk", TWO_GIB, wanted).ok())
    assert (found["Encrypted"], found["KmsKeyId"]) == (True, key)


@pytest.mark.parametrize(
    ("made", "properties", "size", "blamed"),
    [
        ({}, {}, 1024, "snapshot_id"),
        ({"Encrypted": True, "KmsKeyId": KEY}, {"encrypted": False}, TWO_GIB, "encrypted"),
    ],
    ids=["larger", "encrypted"],
)
def test_refused(
    cpi: Cpi,
    world: World,
    fake_aws: FakeAws,
    made: dict[str, Any],
    properties: dict[str, Any],
    size: int,
    blamed: str,
) -> None:
    """A snapshot that can't become the disk is an error before anything is created, and in the check."""
    snapshot_id = taken(world, fake_aws, **made)
    before = world.state()
    properties = {**properties, "snapshot_id": snapshot_id}
    error = cpi.call("create_disk", size, properties).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith(f"cloud_properties.snapshot_id: snapshot '{snapshot_id}' ")
    assert "CreateVolume" not in fake_aws.actions()
    assert world.state() == before
    entry = changed(right(world), (*DISK, "cloud_properties"), properties)
    found = errors(checked(cpi, changed(entry, (*DISK, "disk_size"), size)))
    assert [(each["path"], each["what"]) for each in found] == [(f"{PATH}/{blamed}", error["message"])]


def test_unknown(story: Story, cpi: Cpi, world: World) -> None:
    """A snapshot that EC2 does not know is an error with the remedy."""
    answer = cpi.call("create_disk", TWO_GIB, {"snapshot_id": "snap-0123456789abcdef0"})
    message = (
        "cloud_properties.snapshot_id: snapshot 'snap-0123456789abcdef0' is not in the region, or this "
        "account may not use it: correct the id, or have it shared"
    )
    assert answer.error == story.failure("CloudError", message)
    assert world.state() == world.empty


def test_no_id(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """What is no snapshot's id is refused before AWS is asked; the check says the same."""
    fake_aws.forget_calls()
    answer = cpi.call("create_disk", TWO_GIB, {"snapshot_id": ""})
    message = "cloud_properties.snapshot_id must be the id of a snapshot, snap-…"
    assert answer.error == story.failure("CloudError", message)
    assert fake_aws.actions() == []
    config = changed(right(world), (*DISK, "cloud_properties", "snapshot_id"), "")
    found = errors(checked(cpi, config))
    assert [(each["path"], each["what"]) for each in found] == [(f"{PATH}/snapshot_id", message)]


def test_right(cpi: Cpi, world: World, snapshot: str) -> None:
    """The check finds nothing wrong with a snapshot that a disk can be restored from."""
    config = changed(right(world), (*DISK, "cloud_properties", "snapshot_id"), snapshot)
    assert checked(cpi, config) == []


def test_existing_disk(cpi: Cpi, world: World, snapshot: str, fake_aws: FakeAws) -> None:
    """update_disk restores nothing: the disk keeps its id and its data, and the log says so."""
    where = {"AvailabilityZone": world.zone, "Size": 1, "VolumeType": "gp3"}
    disk_cid = world.ec2.create_volume(**where)["VolumeId"]
    fake_aws.forget_calls()
    answer = cpi.call("update_disk", disk_cid, 1024, {"snapshot_id": snapshot})
    assert answer.ok() is None
    assert fake_aws.actions() == ["DescribeVolumes"]
    assert f"Disk '{disk_cid}' keeps its data: snapshot_id has an effect on new disks only" in answer.stderr
