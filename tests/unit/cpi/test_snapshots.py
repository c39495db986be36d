"""snapshot_disk, called again: the state of the first call's snapshot."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.snapshots import snapshot_disk
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.conftest import DIRECTOR

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Ec2

pytestmark = pytest.mark.usefixtures("undone")

DISK, SNAPSHOT = "vol-1", "snap-1"
METADATA = {"deployment": "d", "job": "j", "index": 0, "director_uuid": "said"}


def lay_volume(ec2: Ec2) -> None:
    """Lay out a look at the disk."""
    entry = {"VolumeId": DISK, "State": "available", "AvailabilityZone": "z"}
    kind = {"Size": 1, "VolumeType": "gp3", "Encrypted": False}
    ec2.answers("describe_volumes", {"Volumes": [{**entry, **kind}]}, VolumeIds=[DISK])


def lay_create(ec2: Ec2, tags: dict[str, str], description: str) -> None:
    """Lay out the snapshot's creation."""
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    ec2.answers(
        "create_snapshot",
        {"SnapshotId": SNAPSHOT},
        VolumeId=DISK,
        Description=description,
        TagSpecifications=[{"ResourceType": "snapshot", "Tags": listed}],
    )


def lay_state(ec2: Ec2, *states: str) -> None:
    """Lay out the answers of DescribeSnapshots."""
    for state in states:
        found = {"Snapshots": [{"SnapshotId": SNAPSHOT, "State": state}]}
        ec2.answers("describe_snapshots", found, SnapshotIds=[SNAPSHOT])


def lay_search(cloud: Cloud, ec2: Ec2, *entries: dict[str, Any]) -> str:
    """Lay out the search for the snapshot of a request with an id; returns the id of the call."""
    cloud.config = cloud.config.replaced(request_id="cpi-1")
    call = call_id(cloud, "snapshot_disk", DISK, METADATA)
    filters = [{"Name": "tag:bosh_call", "Values": [call]}, {"Name": "volume-id", "Values": [DISK]}]
    tags = [{"Key": "bosh_call", "Value": call}]
    found = [{**each, "Tags": tags} for each in entries]
    ec2.answers("describe_snapshots", {"Snapshots": found}, OwnerIds=["self"], Filters=filters)
    return call


def test_again_and_in_vain(cloud: Cloud, ec2: Ec2) -> None:
    """A snapshot that is found and then fails is not deleted."""
    lay_volume(ec2)
    lay_search(cloud, ec2, {"SnapshotId": SNAPSHOT, "StartTime": datetime.now(UTC), "State": "pending"})
    lay_state(ec2, "pending", "error")
    with pytest.raises(CloudError, match=f"EBS could not create snapshot '{SNAPSHOT}'"):
        snapshot_disk(cloud, DISK, METADATA)


@pytest.mark.usefixtures("signals")
def test_again_and_interrupted(cloud: Cloud, ec2: Ec2, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal does not delete the snapshot of an earlier request."""

    def wait(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("bosh_aws_cpi.aws.snapshots.wait_until_completed", wait)
    lay_volume(ec2)
    lay_search(cloud, ec2, {"SnapshotId": SNAPSHOT, "StartTime": datetime.now(UTC)})
    with pytest.raises(Interrupted):
        snapshot_disk(cloud, DISK, METADATA)


@pytest.mark.parametrize(
    ("age", "state"),
    [(2 * RECENT, "completed"), (timedelta(0), "error")],
    ids=["an old one", "a failed one"],
)
def test_another_snapshot(cloud: Cloud, ec2: Ec2, age: timedelta, state: str) -> None:
    """Beside another request's snapshot, or a failed one, a new one is created."""
    lay_volume(ec2)
    there = {"SnapshotId": "snap-0", "StartTime": datetime.now(UTC) - age, "State": state}
    call = lay_search(cloud, ec2, there)
    named = {"deployment": "d", "director_uuid": "said", "instance_index": "0", "instance_name": "j"}
    lay_create(ec2, {**named, "Name": "d/j/0", "bosh_director_uuid": DIRECTOR, "bosh_call": call}, "d/j/0")
    lay_state(ec2, "completed")
    assert snapshot_disk(cloud, DISK, METADATA) == SNAPSHOT
