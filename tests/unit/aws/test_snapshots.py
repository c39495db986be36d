"""EBS snapshots, through the orders of states and refusals that EC2 shows."""

from datetime import timedelta
from typing import Any

import pytest

from bosh_aws_cpi.aws import snapshots
from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from tests.unit.aws.looks import tagged
from tests.unit.aws.timing_script import ago
from tests.unit.conftest import Clock, Stub

SNAPSHOT, AMI = "snap-1", "ami-0a"
MARK = ("bosh_call", "call-1")
TAGS = {"Tags": tagged(bosh_call="call-1")}
BY_TAG = {"Name": "tag:bosh_call", "Values": ["call-1"]}
NOT_FOUND, IN_USE = "InvalidSnapshot.NotFound", "InvalidSnapshot.InUse"
NEW, OLD = timedelta(minutes=5), RECENT + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("begun", "found"),
    [([OLD], None), ([OLD, NEW, NEW], 1), ([OLD, None], 1)],
    ids=["old", "both", "without a time"],
)
def test_find_marked(ec2: Stub, begun: list[timedelta | None], found: int | None) -> None:
    """A snapshot is found by its tag; an old one with the same tag belongs to another request."""
    entries: list[dict[str, Any]] = [
        {"SnapshotId": f"snap-{n}", **TAGS, **({"StartTime": ago(age)} if age else {})}
        for n, age in enumerate(begun)
    ]
    others = [{"SnapshotId": "snap-other"}, {"SnapshotId": "snap-failed", "State": "error", **TAGS}]
    ec2.lay("describe_snapshots", {"Snapshots": [*others, *entries]}, OwnerIds=["self"], Filters=[BY_TAG])
    assert snapshots.find_marked(ec2.client, MARK) == (None if found is None else f"snap-{found}")


def lay_delete(ec2: Stub, *ends: str | dict[str, Any]) -> None:
    """Lay out DeleteSnapshot: an answer, an error's code, or the AMI that EC2 says to use the snapshot."""
    for end in ends:
        if isinstance(end, str) and end.startswith("ami-"):
            said = f"The snapshot {SNAPSHOT} is currently in use by {end}"
            ec2.refuses("delete_snapshot", IN_USE, said, SnapshotId=SNAPSHOT)
        else:
            ec2.lay("delete_snapshot", end, SnapshotId=SNAPSHOT)


@pytest.mark.parametrize("last", [{}, NOT_FOUND])
def test_delete(ec2: Stub, clock: Clock, last: str | dict[str, Any]) -> None:
    """A snapshot is deleted as soon as its deregistered AMI releases it; one that is gone is no error."""
    lay_delete(ec2, IN_USE, AMI, last, last)
    assert snapshots.delete(ec2.client, SNAPSHOT, AMI) is True
    assert len(clock.pauses) == 2
    assert snapshots.delete(ec2.client, SNAPSHOT) is True


def test_discard(ec2: Stub, clock: Clock) -> None:
    """The deletion of a new snapshot that is still in use, or that EC2 does not know yet, is retried."""
    lay_delete(ec2, IN_USE, NOT_FOUND, IN_USE, {})
    snapshots.discard(ec2.client, SNAPSHOT)
    assert len(clock.pauses) == 3
