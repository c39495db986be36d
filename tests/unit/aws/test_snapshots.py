"""Which of several snapshots with the tag of this call is its own."""

from datetime import timedelta
from typing import Any

import pytest

from bosh_aws_cpi.aws import snapshots
from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from tests.unit.aws.looks import tagged
from tests.unit.aws.timing_script import ago
from tests.unit.conftest import Stub

MARK = ("bosh_call", "call-1")
TAGS = {"Tags": tagged(bosh_call="call-1")}
BY_TAG = {"Name": "tag:bosh_call", "Values": ["call-1"]}
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
