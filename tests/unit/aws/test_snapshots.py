"""EBS snapshots, through the orders of states and refusals that EC2 shows."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import snapshots
from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.timing_script import ago

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

DISK, SNAPSHOT, AMI, OTHER_AMI = "vol-1", "snap-1", "ami-0a", "ami-0b"
MARK = ("bosh_call", "call-1")
TAGS = {"Tags": [{"Key": "bosh_call", "Value": "call-1"}]}
SEARCH: dict[str, Any] = {"OwnerIds": ["self"], "Filters": [{"Name": "tag:bosh_call", "Values": ["call-1"]}]}
OF_DISK = {**SEARCH, "Filters": [*SEARCH["Filters"], {"Name": "volume-id", "Values": [DISK]}]}
IDS = {"SnapshotIds": [SNAPSHOT]}
NOT_FOUND = "InvalidSnapshot.NotFound"
IN_USE = "InvalidSnapshot.InUse"


def create(ec2: Ec2) -> str:
    """Create a snapshot."""
    return snapshots.create(ec2.client, DISK, {"Description": "d"}, MARK)


@pytest.mark.parametrize("unseen", [0, 2])
def test_create_without_an_answer(ec2: Ec2, clock: Clock, unseen: int) -> None:
    """After a lost answer the snapshot is searched by its tag: CreateSnapshot takes no client token."""
    ec2.loses("create_snapshot", VolumeId=DISK, Description="d")
    for _ in range(unseen):
        ec2.answers("describe_snapshots", {"Snapshots": []}, **OF_DISK)
    ec2.answers("describe_snapshots", {"Snapshots": [{"SnapshotId": "snap-found", **TAGS}]}, **OF_DISK)
    assert create(ec2) == "snap-found"
    assert len(clock.pauses) == unseen


def test_create_again(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the snapshot is not found, it is created again."""
    monkeypatch.setattr(ec2.client, "describe_snapshots", lambda **_: {"Snapshots": []})
    ec2.fails("create_snapshot", VolumeId=DISK, Description="d")
    ec2.answers("create_snapshot", {"SnapshotId": SNAPSHOT}, VolumeId=DISK, Description="d")
    assert create(ec2) == SNAPSHOT
    assert 60 <= clock.now <= 66


def lay(ec2: Ec2, *looks: dict[str, Any] | None) -> None:
    """Lay out the answers of DescribeSnapshots; None is a refusal as unknown."""
    for look in looks:
        if look is None:
            ec2.refuses("describe_snapshots", NOT_FOUND, **IDS)
        else:
            ec2.answers("describe_snapshots", {"Snapshots": [{"SnapshotId": SNAPSHOT, **look}]}, **IDS)


DONE = {"State": "completed"}
HALF = {"State": "pending", "Progress": "50%"}


@pytest.mark.parametrize(
    "looks", [[DONE], [{"State": "pending"}, HALF, DONE], [None, None, HALF, DONE]], ids=len
)
def test_wait_until_completed(ec2: Ec2, clock: Clock, looks: list[dict[str, Any] | None]) -> None:
    """The wait goes on while EC2 does not know a new snapshot."""
    lay(ec2, *looks)
    snapshots.wait_until_completed(ec2.client, SNAPSHOT)
    assert len(clock.pauses) == len(looks) - 1


@pytest.mark.parametrize(("more", "said"), [({"StateMessage": "no key"}, "no key"), ({}, "no reason given")])
def test_snapshot_that_fails(ec2: Ec2, clock: Clock, more: dict[str, str], said: str) -> None:
    """A snapshot that EBS could not create ends the wait at once, with EBS's reason."""
    lay(ec2, HALF, {"State": "error", **more})
    with pytest.raises(CloudError) as caught:
        snapshots.wait_until_completed(ec2.client, SNAPSHOT)
    assert caught.value.message == f"EBS could not create snapshot '{SNAPSHOT}': {said}"
    assert len(clock.pauses) == 1


def test_never_completed(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait ends after four hours, with the progress."""
    monkeypatch.setattr(
        ec2.client, "describe_snapshots", lambda **_: {"Snapshots": [{"SnapshotId": SNAPSHOT, **HALF}]}
    )
    with pytest.raises(CloudError, match=r"to be completed; last seen: pending 50%"):
        snapshots.wait_until_completed(ec2.client, SNAPSHOT)
    assert 4 * 3600 <= clock.now <= 4 * 3600 + 16


@pytest.mark.parametrize("before", [[], [None, None]], ids=["at first", "unseen before"])
def test_snapshot_that_vanishes(ec2: Ec2, clock: Clock, before: list[None]) -> None:
    """The wait ends if the snapshot disappears."""
    lay(ec2, *before, HALF, None)
    with pytest.raises(CloudError) as caught:
        snapshots.wait_until_completed(ec2.client, SNAPSHOT)
    assert caught.value.message == f"Snapshot '{SNAPSHOT}' is gone"
    assert len(clock.pauses) == len(before) + 1


def test_snapshot_that_is_never_seen(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait ends if EC2 does not know the snapshot for a minute."""

    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": NOT_FOUND}}, "DescribeSnapshots")

    monkeypatch.setattr(ec2.client, "describe_snapshots", refuse)
    with pytest.raises(CloudError, match=f"Snapshot '{SNAPSHOT}' is gone"):
        snapshots.wait_until_completed(ec2.client, SNAPSHOT)
    assert 60 <= clock.now <= 66


def lay_delete(ec2: Ec2, *answers: str | None) -> None:
    """Lay out the answers of DeleteSnapshot: None, the AMI that uses the snapshot, or an error code."""
    for answer in answers:
        if answer is None:
            ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
        elif answer.startswith("ami-"):
            said = f"The snapshot {SNAPSHOT} is currently in use by {answer}"
            ec2.refuses("delete_snapshot", IN_USE, said, SnapshotId=SNAPSHOT)
        else:
            ec2.refuses("delete_snapshot", answer, SnapshotId=SNAPSHOT)


@pytest.mark.parametrize("answer", [None, NOT_FOUND, "InvalidSnapshotID.Malformed"])
@pytest.mark.parametrize("of_ami", [None, AMI])
def test_delete(ec2: Ec2, answer: str | None, of_ami: str | None) -> None:
    """A snapshot is deleted; a missing one is no error."""
    lay_delete(ec2, answer)
    assert snapshots.delete(ec2.client, SNAPSHOT, of_ami) is True


def test_delete_by_an_id_that_is_none(ec2: Ec2) -> None:
    """EC2's error for a malformed snapshot id is no error; for another invalid value it is."""
    code, said = "InvalidParameterValue", "Value (x) for parameter snapshotId is invalid. Expected: '{}-...'."
    for kind in ("snap", "vol"):
        ec2.refuses("delete_snapshot", code, said.format(kind), SnapshotId="x")
    assert snapshots.delete(ec2.client, "x") is True
    with pytest.raises(ClientError, match=code):
        snapshots.delete(ec2.client, "x")


@pytest.mark.parametrize("code", [IN_USE, AMI])
def test_delete_of_an_ami(ec2: Ec2, clock: Clock, code: str) -> None:
    """The deletion is retried while EC2 shows the snapshot in use by the AMI that was just deregistered."""
    lay_delete(ec2, code, code, None)
    assert snapshots.delete(ec2.client, SNAPSHOT, AMI) is True
    assert len(clock.pauses) == 2


@pytest.mark.parametrize("before", [[], [AMI]])
def test_delete_of_another_ami(ec2: Ec2, before: list[str]) -> None:
    """A snapshot that another AMI uses stays, and the result says so."""
    lay_delete(ec2, *before, OTHER_AMI)
    assert snapshots.delete(ec2.client, SNAPSHOT, AMI) is False


@pytest.mark.parametrize("code", [IN_USE, OTHER_AMI])
def test_delete_what_is_used(ec2: Ec2, clock: Clock, code: str) -> None:
    """For a disk's snapshot that an AMI uses, the error is raised at once."""
    lay_delete(ec2, code)
    with pytest.raises(ClientError, match=r"InvalidSnapshot\.InUse"):
        snapshots.delete(ec2.client, SNAPSHOT)
    assert clock.pauses == []


def test_delete_what_is_never_released(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """After five minutes the error quotes EC2."""
    answer: Any = {"Error": {"Code": IN_USE, "Message": f"in use by {AMI}"}}

    def refuse(**_: Any) -> None:
        raise ClientError(answer, "DeleteSnapshot")

    monkeypatch.setattr(ec2.client, "delete_snapshot", refuse)
    with pytest.raises(CloudError, match=f"'{SNAPSHOT}' to be released; last seen: .+ in use by {AMI}"):
        snapshots.delete(ec2.client, SNAPSHOT, AMI)
    assert 300 <= clock.now <= 306


def test_discard(ec2: Ec2, clock: Clock) -> None:
    """The deletion of a new snapshot that EC2 does not know yet is retried."""
    lay_delete(ec2, NOT_FOUND, NOT_FOUND, None)
    snapshots.discard(ec2.client, SNAPSHOT)
    assert len(clock.pauses) == 2


def test_discard_what_is_not_released_yet(ec2: Ec2, clock: Clock) -> None:
    """The deletion of a snapshot that is still in use is retried."""
    lay_delete(ec2, IN_USE, NOT_FOUND, IN_USE, None)
    snapshots.discard(ec2.client, SNAPSHOT)
    assert len(clock.pauses) == 3


@pytest.mark.parametrize("found", [[], [SNAPSHOT], [SNAPSHOT, "snap-2"]], ids=len)
def test_find_marked(ec2: Ec2, found: list[str]) -> None:
    """A snapshot is found by its tag."""
    entries = [{"SnapshotId": "snap-0"}, *({"SnapshotId": each, **TAGS} for each in found)]
    ec2.answers("describe_snapshots", {"Snapshots": entries}, **SEARCH)
    assert snapshots.find_marked(ec2.client, MARK) == (SNAPSHOT if found else None)


NEW, OLD = timedelta(minutes=5), RECENT + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("begun", "found"),
    [([OLD], None), ([NEW], "snap-0"), ([OLD, NEW, NEW], "snap-1"), ([OLD, None], "snap-1")],
    ids=["old", "new", "both", "without a time"],
)
def test_find_marked_and_new(ec2: Ec2, begun: list[timedelta | None], found: str | None) -> None:
    """An old snapshot with the same tag belongs to another request."""
    entries: list[dict[str, Any]] = [
        {"SnapshotId": f"snap-{n}", **TAGS, **({"StartTime": ago(age)} if age else {})}
        for n, age in enumerate(begun)
    ]
    ec2.answers("describe_snapshots", {"Snapshots": entries}, **SEARCH)
    assert snapshots.find_marked(ec2.client, MARK) == found
