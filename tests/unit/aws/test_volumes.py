"""Whose volume or change EC2 shows after a lost answer, in orders that no story can lay out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import TOKEN_SPENT
from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from bosh_aws_cpi.errors import CloudError, DiskNotFound, NotSupported
from tests.unit.aws.looks import DISK, OF_DISK, OTHER_DISK, tagged, volume
from tests.unit.aws.timing_script import ago
from tests.unit.conftest import Clock, Stub

NOT_FOUND = "InvalidVolume.NotFound"
MARK = ("bosh_call", "call-1")
SEARCH: dict[str, Any] = {"Filters": [{"Name": "tag:bosh_call", "Values": ["call-1"]}]}
CREATE = {"AvailabilityZone": "z", "Size": 1, "ClientToken": "call-1"}
NEW, OLD = timedelta(minutes=5), RECENT + timedelta(minutes=5)


@pytest.mark.parametrize(
    "message",
    [None, f"The volume '{OTHER_DISK}' does not exist.", f"Value ({OTHER_DISK}). Expected: 'vol-...'."],
)
def test_find_names_the_missing_one(ec2: Stub, message: str | None) -> None:
    """The disk that EC2 does not know is named, not another one."""
    asked = {"VolumeIds": [DISK, OTHER_DISK]}
    if message is None:
        ec2.lay("describe_volumes", {"Volumes": [volume()]}, **asked)
    else:
        code = "InvalidParameterValue" if "Expected" in message else NOT_FOUND
        ec2.refuses("describe_volumes", code, message, **asked)
    both = [{"Name": "volume-id", "Values": sorted([DISK, OTHER_DISK])}]
    ec2.lay("describe_volumes", {"Volumes": [volume()]}, Filters=both)
    with pytest.raises(DiskNotFound, match=OTHER_DISK):
        volumes.find_all(ec2.client, [DISK, OTHER_DISK])


def test_delete(ec2: Stub, clock: Clock) -> None:
    """A held volume is deleted later; after a lost answer, but not after throttling, gone is deleted."""
    of_disk = {"VolumeId": DISK}
    ec2.lay("delete_volume", "VolumeInUse", "VolumeInUse", f"again {NOT_FOUND}", **of_disk)
    volumes.delete(ec2.client, DISK)
    assert len(clock.pauses) == 2
    ec2.lay("delete_volume", NOT_FOUND, f"throttled {NOT_FOUND}", "again UnauthorizedOperation", **of_disk)
    for error in (DiskNotFound, DiskNotFound, ClientError):
        with pytest.raises(error):
            volumes.delete(ec2.client, DISK)


def test_discard(ec2: Stub, clock: Clock) -> None:
    """A new volume that EC2 does not know yet is deleted when it does, and waited for until it is gone."""
    ec2.lay("delete_volume", NOT_FOUND, {}, VolumeId=DISK)
    ec2.lay("describe_volumes", {"Volumes": [volume("deleting")]}, NOT_FOUND, **OF_DISK)
    volumes.discard(ec2.client, DISK)
    assert len(clock.pauses) == 3


def made(disk_cid: str, age: timedelta | None, **more: str) -> dict[str, Any]:
    """Describe a volume with this call's mark and this age; without an age EC2 shows no time."""
    time = {} if age is None else {"CreateTime": ago(age)}
    return {"VolumeId": disk_cid, "Tags": tagged(bosh_call="call-1"), **time, **more}


@pytest.mark.parametrize("how", ["lost", "again InsufficientVolumeCapacity"])
def test_create_without_an_answer(ec2: Stub, clock: Clock, how: str) -> None:
    """After a lost answer the volume is looked for by its tag, whatever a repetition was answered."""
    ec2.lay("create_volume", how, **CREATE)
    shown = [made(OTHER_DISK, OLD), made(OTHER_DISK, NEW, State="deleting"), made(DISK, NEW)]
    ec2.lay("describe_volumes", {"Volumes": []}, {"Volumes": [{"VolumeId": "vol-0"}]}, **SEARCH)
    ec2.lay("describe_volumes", {"Volumes": shown}, **SEARCH)
    assert volumes.create(ec2.client, CREATE, MARK) == DISK
    assert len(clock.pauses) == 2


def test_not_created(ec2: Stub, clock: Clock) -> None:
    """A refusal is an error at once, for a spent token of its own type; a lost volume is one in the end."""
    ec2.lay("create_volume", "VolumeLimitExceeded", "throttled VolumeLimitExceeded", *TOKEN_SPENT, **CREATE)
    for error in (ClientError, ClientError, *[volumes.VolumeNotCreated] * len([*TOKEN_SPENT])):
        with pytest.raises(error):
            volumes.create(ec2.client, CREATE, MARK)
    assert clock.pauses == []
    ec2.lay("create_volume", "lost", **CREATE)
    ec2.keeps("describe_volumes", {"Volumes": []})
    with pytest.raises(ReadTimeoutError):
        volumes.create(ec2.client, CREATE, MARK)


def test_used_right_now(ec2: Stub) -> None:
    """A volume that another call with the token begins to use while this one discards it stays."""
    ec2.lay("describe_volumes", {"Volumes": [volume()]}, **OF_DISK)
    ec2.lay("delete_volume", "VolumeInUse", VolumeId=DISK)
    volumes.discard_shared(ec2.client, DISK)


CHANGES = {"Size": 20, "VolumeType": "gp3"}
OF_CHANGES = {"Filters": [{"Name": "volume-id", "Values": [DISK]}]}
EARLIER, BEGAN = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))


def changed(state: str, **more: Any) -> dict[str, Any]:
    """Answer with the change to these figures, in this state."""
    targets = {"TargetSize": 20, "TargetVolumeType": "gp3", "TargetIops": 3000}
    return {"VolumesModifications": [{"ModificationState": state, "StartTime": BEGAN, **targets, **more}]}


BEFORE = changed("completed", StartTime=EARLIER, TargetSize=10)
FAILED_BEFORE = changed("failed", StartTime=EARLIER)


@pytest.mark.parametrize("before", ["InvalidVolumeModification.NotFound", BEFORE, FAILED_BEFORE])
@pytest.mark.parametrize(
    "answer", [{"VolumeModification": {"StartTime": BEGAN}}, {}, "VolumeModificationRateExceeded"]
)
def test_modify(ec2: Stub, before: Any, answer: Any) -> None:
    """A volume is changed once, and waited for; EC2 may show an earlier change for a while.

    A refusal after which just this change is under way is that of the SDK's repetition.
    """
    ec2.lay("describe_volumes_modifications", before, **OF_CHANGES)
    ec2.lay("modify_volume", answer, VolumeId=DISK, **CHANGES)
    looks = [changed("modifying"), changed("optimizing")]
    if answer:
        looks = [BEFORE, FAILED_BEFORE, *looks]
    if isinstance(answer, str):
        looks = [changed("modifying"), *looks]
    ec2.lay("describe_volumes_modifications", *looks, **OF_CHANGES)
    volumes.modify(ec2.client, DISK, CHANGES)


@pytest.mark.parametrize("state", ["modifying", "optimizing"])
def test_change_under_way(ec2: Stub, state: str) -> None:
    """Just this change, of an earlier call, is waited for; any other must end first. The latest counts."""
    several = {
        "VolumesModifications": [
            *changed(state)["VolumesModifications"],
            *changed("modifying", StartTime=EARLIER, TargetSize=30)["VolumesModifications"],
        ]
    }
    ec2.lay("describe_volumes_modifications", several, BEFORE, changed("completed"), **OF_CHANGES)
    volumes.modify(ec2.client, DISK, CHANGES)
    for other in ({"TargetSize": 30}, {"TargetVolumeType": "io2"}):
        ec2.lay("describe_volumes_modifications", changed(state, **other), **OF_CHANGES)
        with pytest.raises(NotSupported, match=f"{DISK}.*{state}"):
            volumes.modify(ec2.client, DISK, CHANGES)


def test_change_that_does_not_end(ec2: Stub, clock: Clock) -> None:
    """A change that does not end is given up after a while, with how far it was."""
    ec2.keeps("describe_volumes_modifications", changed("modifying", Progress=40))
    with pytest.raises(CloudError, match="last seen: modifying 40%"):
        volumes.modify(ec2.client, DISK, CHANGES)
    assert clock.now >= timing.VOLUME_MODIFIED.seconds
