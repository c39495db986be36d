"""Disks from snapshots: create_disk with `snapshot_id`, and what cpi check says of it."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.protocols import CpiWith, CreateVolume, ReadCalls, RunInstance, WriteError
from tests.stories.checked_config import DISK, changed, right
from tests.stories.checking import checked, errors

KEY = "arn:aws:kms:us-east-1:123456789012:key/default"
OWN_KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
UNKNOWN = "snap-0123456789abcdef0"
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


def test_restored(
    cpi: Cpi, vm: RunInstance, disk: CreateVolume, world: World, fake_aws: FakeAws, sent: ReadCalls
) -> None:
    """What snapshot_disk took is on the disk, which may be larger, in the zone of its VM."""
    vm_cid, disk_cid = vm("t3.micro", SubnetId=world.subnet_ids[2]), disk()
    other = vm("t3.micro")
    cpi.call("attach_disk", other, disk_cid, stemcell=2).ok()
    snapshot_cid = cpi.call("snapshot_disk", disk_cid, {}).ok()
    fake_aws.forget_calls()
    restored = cpi.call("create_disk", TWO_GIB, {"snapshot_id": snapshot_cid}, vm_cid).ok()
    asked = {"DescribeInstances", "DescribeSnapshots", "CreateVolume", "DescribeVolumes"}
    assert (set(fake_aws.actions()), len(fake_aws.actions())) == (asked, len(asked))
    (parameters,) = sent("CreateVolume")
    assert (parameters["SnapshotId"], parameters["Size"]) == (snapshot_cid, "2")
    assert fake_aws.contents()[restored] == fake_aws.contents()[disk_cid] == [other]
    assert shown(world, restored)["AvailabilityZone"] == world.other_zone


@pytest.mark.parametrize(
    ("made", "properties", "defaults", "expected"),
    [
        ({}, {}, {}, (False, None)),
        ({}, {}, {"encrypted": True, "kms_key_arn": KEY}, (True, KEY)),
        ({"Encrypted": True, "KmsKeyId": KEY}, {}, {}, (True, KEY)),
        (
            {"Encrypted": True, "KmsKeyId": KEY},
            {"encrypted": True, "kms_key_arn": OWN_KEY},
            {},
            (True, OWN_KEY),
        ),
    ],
    ids=["plain", "default", "own-of-snapshot", "another-key"],
)
def test_encryption(
    cpi_with: CpiWith,
    world: World,
    fake_aws: FakeAws,
    made: dict[str, Any],
    properties: dict[str, Any],
    defaults: dict[str, Any],
    expected: tuple[bool, str | None],
) -> None:
    """A disk from an encrypted snapshot is encrypted, and one from another as its properties say."""
    wanted = {**properties, "snapshot_id": taken(world, fake_aws, **made)}
    found = shown(world, cpi_with(**defaults).call("create_disk", TWO_GIB, wanted).ok())
    assert (found["Encrypted"], found.get("KmsKeyId")) == expected


def broken(world: World, fake_aws: FakeAws, what: str) -> tuple[dict[str, Any], int, str]:
    """Have a snapshot that a disk can't be restored from; returns the properties, the size and the reason."""
    made = {"Encrypted": True, "KmsKeyId": KEY} if what == "encrypted" else {}
    snapshot_id = taken(world, fake_aws, **made)
    states = {
        "pending": ("pending", "is pending: wait until it is completed, or use another one"),
        "binned": (
            "recoverable",
            "is in the Recycle Bin: restore it first (aws ec2 restore-snapshot-from-recycle-bin)",
        ),
        "strange": ("odd state", "is not completed: wait until it is completed, or use another one"),
    }
    if what in states:
        state, reason = states[what]
        completed = ["<status>completed</status>", f"<status>{state}</status>"]
        fake_aws.rule(action="DescribeSnapshots", replace=[completed])
        return {}, TWO_GIB, f"{snapshot_id}' {reason}"
    if what == "archived":
        world.ec2.modify_snapshot_tier(SnapshotId=snapshot_id, StorageTier="archive")
        return {}, TWO_GIB, f"{snapshot_id}' is archived: restore it first (aws ec2 restore-snapshot-tier)"
    if what == "larger":
        return {}, 1024, f"{snapshot_id}' has 2 GiB, but the disk 1: give the disk at least 2048 MiB"
    if what == "encrypted":
        reason = "is encrypted, and so is each disk from it: remove cloud_properties.encrypted"
        return {"encrypted": False}, TWO_GIB, f"{snapshot_id}' {reason}"
    if what == "another":
        fake_aws.rule(action="DescribeSnapshots", replace=[[snapshot_id, UNKNOWN]])
    elif what == "hidden":
        gone = [["<snapshotSet>.*</snapshotSet>", "<snapshotSet/>"]]
        fake_aws.rule(action="DescribeSnapshots", replace=gone)
    else:
        snapshot_id = what
    reason = "is not in the region, or this account may not use it: correct the id, or have it shared"
    return {}, TWO_GIB, f"{snapshot_id}' {reason}"


@pytest.mark.parametrize(
    "what",
    ["pending", "binned", "archived", "larger", "encrypted", "hidden", "another", "strange", UNKNOWN],
)
def test_refused(cpi: Cpi, world: World, fake_aws: FakeAws, failure: WriteError, what: str) -> None:
    """A snapshot that can't become the disk is named with the remedy, before anything is created."""
    properties, size, reason = broken(world, fake_aws, what)
    snapshot_id = reason.partition("'")[0]
    before = world.state()
    properties["snapshot_id"] = snapshot_id
    answer = cpi.call("create_disk", size, properties)
    assert answer.error == failure("CloudError", f"cloud_properties.snapshot_id: snapshot '{reason}")
    assert "CreateVolume" not in fake_aws.actions()
    assert world.state() == before
    entry = changed(right(world), (*DISK, "cloud_properties"), properties)
    config = changed(entry, (*DISK, "disk_size"), size)
    found = {(each["path"], each["what"]) for each in errors(checked(cpi, config))}
    blamed = "encrypted" if what == "encrypted" else "snapshot_id"
    assert found == {(f"{PATH}/{blamed}", answer.error["message"])}


@pytest.mark.parametrize("given", ["", "vol-0123456789abcdef0"])
def test_no_id(cpi: Cpi, world: World, fake_aws: FakeAws, failure: WriteError, given: str) -> None:
    """What is no snapshot's id is refused before AWS is asked; the check says the same."""
    fake_aws.forget_calls()
    answer = cpi.call("create_disk", TWO_GIB, {"snapshot_id": given})
    message = "cloud_properties.snapshot_id must be the id of a snapshot, snap-…"
    assert answer.error == failure("CloudError", message)
    assert fake_aws.actions() == []
    config = changed(right(world), (*DISK, "cloud_properties", "snapshot_id"), given)
    for offline in (True, False):
        found = errors(checked(cpi, config, *(["--offline"] if offline else [])))
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
