"""snapshot_disk and delete_snapshot."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY

from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.snapshots import delete_snapshot, snapshot_disk
from bosh_aws_cpi.errors import CloudError, DiskNotFound
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.conftest import DIRECTOR

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Ec2

pytestmark = pytest.mark.usefixtures("undone")

DISK, SNAPSHOT = "vol-1", "snap-1"
CALL = "11111111-2222-3333-4444-555555555555"
METADATA = {"deployment": "d", "job": "j", "index": 0, "director_uuid": "said"}


@pytest.fixture(autouse=True)
def call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the call's own id be known."""
    monkeypatch.setattr("uuid.uuid4", lambda: CALL)


def lay_volume(ec2: Ec2, *devices: str) -> None:
    """Lay out a look at the disk, attached under these names."""
    attachments = [
        {"InstanceId": f"i-{n}", "State": "attached", "Device": name} for n, name in enumerate(devices)
    ]
    entry = {"VolumeId": DISK, "State": "in-use", "AvailabilityZone": "z", "Attachments": attachments}
    kind = {"Size": 1, "VolumeType": "gp3", "Encrypted": False}
    ec2.answers("describe_volumes", {"Volumes": [{**entry, **kind}]}, VolumeIds=[DISK])


def lay_create(ec2: Ec2, tags: dict[str, str], description: str) -> None:
    """Lay out the snapshot's making."""
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    ec2.answers(
        "create_snapshot",
        {"SnapshotId": SNAPSHOT},
        VolumeId=DISK,
        Description=description,
        TagSpecifications=[{"ResourceType": "snapshot", "Tags": listed}],
    )


def lay_state(ec2: Ec2, *states: str) -> None:
    """Lay out one look at the snapshot after the other."""
    for state in states:
        found = {"Snapshots": [{"SnapshotId": SNAPSHOT, "State": state}]}
        ec2.answers("describe_snapshots", found, SnapshotIds=[SNAPSHOT])


@pytest.mark.parametrize(
    ("devices", "description", "device"),
    [
        ([], "d/j/0", {}),
        (["/dev/sdf"], "d/j/0/sdf", {"device": "/dev/sdf"}),
        (["", "/dev/sdg"], "d/j/0/sdg", {"device": "/dev/sdg"}),
    ],
    ids=["detached", "attached", "one without a name"],
)
def test_snapshot(
    cloud: Cloud, ec2: Ec2, devices: list[str], description: str, device: dict[str, str]
) -> None:
    """A snapshot is described by where its disk is used, traced to its Director, and waited for."""
    lay_volume(ec2, *devices)
    own = {"director_uuid": "said", "deployment": "d"}
    named = {"instance_index": "0", "instance_name": "j", **device, "Name": description}
    origin = {"bosh_director_uuid": DIRECTOR, "bosh_call": CALL}
    metadata = {key: METADATA[key] for key in (*own, "job", "index")}
    lay_create(ec2, {**own, **named, **origin}, description)
    lay_state(ec2, "pending", "completed")
    assert snapshot_disk(cloud, DISK, metadata) == SNAPSHOT


def test_answer_that_was_lost(cloud: Cloud, ec2: Ec2) -> None:
    """After a lost answer the snapshot of this very call is found by its mark."""
    lay_volume(ec2)
    ec2.loses("create_snapshot", VolumeId=DISK, Description="", TagSpecifications=ANY)
    filters = [{"Name": "tag:bosh_call", "Values": [CALL]}]
    found: dict[str, Any] = {"Snapshots": [{"SnapshotId": SNAPSHOT}]}
    ec2.answers("describe_snapshots", found, OwnerIds=["self"], Filters=filters)
    lay_state(ec2, "completed")
    assert snapshot_disk(cloud, DISK, {}) == SNAPSHOT


def lay_search(cloud: Cloud, ec2: Ec2, *entries: dict[str, Any]) -> str:
    """Lay out the question for the snapshot of a request that has a number; returns the request's id."""
    cloud.config = cloud.config._replace(request_id="cpi-1")
    call = call_id(cloud, "snapshot_disk", DISK, METADATA)
    filters = [{"Name": "tag:bosh_call", "Values": [call]}]
    ec2.answers("describe_snapshots", {"Snapshots": list(entries)}, OwnerIds=["self"], Filters=filters)
    return call


def test_again(cloud: Cloud, ec2: Ec2) -> None:
    """The same request made again finds the snapshot that the first one took, and waits for it."""
    lay_volume(ec2)
    lay_search(cloud, ec2, {"SnapshotId": SNAPSHOT, "StartTime": datetime.now(UTC)})
    lay_state(ec2, "pending", "completed")
    assert snapshot_disk(cloud, DISK, METADATA) == SNAPSHOT


def test_again_and_in_vain(cloud: Cloud, ec2: Ec2) -> None:
    """One that was found and fails while it is waited for stays: the next request takes another."""
    lay_volume(ec2)
    lay_search(cloud, ec2, {"SnapshotId": SNAPSHOT, "StartTime": datetime.now(UTC), "State": "pending"})
    lay_state(ec2, "pending", "error")
    with pytest.raises(CloudError, match=f"EBS could not create snapshot '{SNAPSHOT}'"):
        snapshot_disk(cloud, DISK, METADATA)


@pytest.mark.usefixtures("signals")
def test_again_and_interrupted(cloud: Cloud, ec2: Ec2, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal removes nothing that an earlier request may have been answered with."""

    def wait(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("bosh_aws_cpi.aws.snapshots.wait_until_completed", wait)
    lay_volume(ec2)
    lay_search(cloud, ec2, {"SnapshotId": SNAPSHOT, "StartTime": datetime.now(UTC)})
    with pytest.raises(Interrupted):
        snapshot_disk(cloud, DISK, METADATA)


@pytest.mark.parametrize(
    "there",
    [
        [],
        [{"SnapshotId": "snap-0", "StartTime": datetime.now(UTC) - 2 * RECENT}],
        [{"SnapshotId": "snap-0", "StartTime": datetime.now(UTC), "State": "error"}],
    ],
    ids=["none", "an old one", "a failed one"],
)
def test_for_the_first_time(cloud: Cloud, ec2: Ec2, there: list[dict[str, Any]]) -> None:
    """Without an earlier one, or with another's or one that EBS could not make, a snapshot is taken."""
    lay_volume(ec2)
    call = lay_search(cloud, ec2, *there)
    named = {"deployment": "d", "director_uuid": "said", "instance_index": "0", "instance_name": "j"}
    lay_create(ec2, {**named, "Name": "d/j/0", "bosh_director_uuid": DIRECTOR, "bosh_call": call}, "d/j/0")
    lay_state(ec2, "completed")
    assert snapshot_disk(cloud, DISK, METADATA) == SNAPSHOT


def test_snapshot_that_fails(cloud: Cloud, ec2: Ec2) -> None:
    """One that EBS could not make is removed."""
    lay_volume(ec2)
    ec2.answers(
        "create_snapshot",
        {"SnapshotId": SNAPSHOT},
        VolumeId=DISK,
        Description="",
        TagSpecifications=ANY,
    )
    lay_state(ec2, "pending", "error")
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    with pytest.raises(CloudError, match=f"EBS could not create snapshot '{SNAPSHOT}'"):
        snapshot_disk(cloud, DISK, {})


def test_unknown_disk(cloud: Cloud, ec2: Ec2) -> None:
    """A disk that EC2 does not know is not found."""
    ec2.refuses("describe_volumes", "InvalidVolume.NotFound", VolumeIds=[DISK])
    with pytest.raises(DiskNotFound, match=DISK):
        snapshot_disk(cloud, DISK, METADATA)


def test_delete(cloud: Cloud, ec2: Ec2) -> None:
    """A snapshot is deleted; one that is gone is fine, one that an AMI uses is an error."""
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    ec2.refuses("delete_snapshot", "InvalidSnapshot.NotFound", SnapshotId=SNAPSHOT)
    ec2.refuses("delete_snapshot", "InvalidSnapshot.InUse", "by ami-0a", SnapshotId=SNAPSHOT)
    for _ in ("there", "gone"):
        delete_snapshot(cloud, SNAPSHOT)
    with pytest.raises(ClientError, match="by ami-0a"):
        delete_snapshot(cloud, SNAPSHOT)
