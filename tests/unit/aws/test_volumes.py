"""EBS volumes, through the orders of states and refusals that EC2 shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import attachments, volumes
from bosh_aws_cpi.errors import CloudError, DiskNotAttached, DiskNotFound
from tests.unit.aws.volume_looks import DISK, NOT_FOUND, OTHER, OTHER_VM, VM, attached, entry, lay

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Clock, Ec2

EXPECTED = "Value (x) for parameter volume is invalid. Expected: 'vol-...'."


def test_find(ec2: Ec2) -> None:
    """A volume is read with its attachments, except ended ones."""
    lay(ec2, entry("in-use", DISK, (VM, "attached"), (OTHER_VM, "detached")))
    found = volumes.find(ec2.client, DISK)
    assert (found.disk_cid, found.state, found.availability_zone) == (DISK, "in-use", "z")
    assert found.attachments == {VM: ("attached", "/dev/sdf")}


def test_find_all(ec2: Ec2) -> None:
    """Volumes come in the order asked for, each asked for once."""
    answer = {"Volumes": [entry("available", DISK), entry("in-use", OTHER)]}
    ec2.answers("describe_volumes", answer, VolumeIds=[DISK, OTHER])
    found = volumes.find_all(ec2.client, [OTHER, DISK, OTHER])
    assert [volume.disk_cid for volume in found] == [OTHER, DISK, OTHER]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (NOT_FOUND, f"The volume '{OTHER}' does not exist."),
        ("InvalidParameterValue", f"Value ({OTHER}) for parameter volumes is invalid. Expected: 'vol-...'."),
        ("InvalidVolumeID.Malformed", f"'{OTHER}'"),
    ],
)
def test_find_all_names_the_missing_one(ec2: Ec2, code: str, message: str) -> None:
    """The disk that EC2 does not know is named, not another one."""
    ec2.refuses("describe_volumes", code, message, VolumeIds=[DISK, OTHER])
    with pytest.raises(DiskNotFound, match=f"Disk '{OTHER}' not found"):
        volumes.find_all(ec2.client, [DISK, OTHER])


def test_find_all_without_one(ec2: Ec2) -> None:
    """A disk that is missing from the answer is not found either."""
    ec2.answers("describe_volumes", {"Volumes": [entry()]}, VolumeIds=[DISK, OTHER])
    with pytest.raises(DiskNotFound, match=OTHER):
        volumes.find_all(ec2.client, [DISK, OTHER])


@pytest.mark.parametrize(
    "states", [["available"], ["creating", "available"], [None, "creating", "available"]]
)
def test_wait_until_available(ec2: Ec2, clock: Clock, states: list[str | None]) -> None:
    """A new volume is waited for, also while EC2 does not know it yet."""
    lay(ec2, *(entry(state) if state else None for state in states))
    volumes.wait_until_available(ec2.client, DISK)
    assert len(clock.pauses) == len(states) - 1


@pytest.mark.parametrize("state", ["error", "deleting", "deleted"])
def test_volume_in_error(ec2: Ec2, clock: Clock, state: str) -> None:
    """A volume that EBS could not make ends the wait at once, with what to check."""
    lay(ec2, entry("creating"), entry(state))
    with pytest.raises(CloudError) as caught:
        volumes.wait_until_available(ec2.client, DISK)
    assert caught.value.message.startswith(f"EBS could not create volume '{DISK}': it is in state {state}.")
    assert "KMS key" in caught.value.message
    assert len(clock.pauses) == 1


@pytest.mark.parametrize("before", [[], [None, None]], ids=["at first", "unseen before"])
def test_volume_that_vanishes(ec2: Ec2, clock: Clock, before: list[None]) -> None:
    """EBS drops a volume whose key it can't use: one that was seen and is gone ends the wait at once."""
    lay(ec2, *before, entry("creating"), None)
    with pytest.raises(CloudError) as caught:
        volumes.wait_until_available(ec2.client, DISK)
    assert caught.value.message.startswith(f"EBS could not create volume '{DISK}': it is gone. ")
    assert "KMS key" in caught.value.message
    assert len(clock.pauses) == len(before) + 1


def test_volume_that_is_never_seen(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that EC2 does not show for a minute is gone, too."""
    monkeypatch.setattr(ec2.client, "describe_volumes", lambda **_: {"Volumes": []})
    with pytest.raises(CloudError, match=f"EBS could not create volume '{DISK}': it is gone"):
        volumes.wait_until_available(ec2.client, DISK)
    assert 60 <= clock.now <= 66


@pytest.mark.parametrize("in_use", [0, 1, 5])
def test_delete(ec2: Ec2, clock: Clock, in_use: int) -> None:
    """A volume that EBS still holds for a deleted VM is tried again until it goes."""
    for _ in range(in_use):
        ec2.refuses("delete_volume", "VolumeInUse", VolumeId=DISK)
    ec2.answers("delete_volume", VolumeId=DISK)
    volumes.delete(ec2.client, DISK)
    assert len(clock.pauses) == in_use


@pytest.mark.parametrize(
    ("code", "message"),
    [(NOT_FOUND, ""), ("InvalidParameterValue", EXPECTED), ("InvalidVolumeID.Malformed", "")],
)
def test_unknown_volume(ec2: Ec2, code: str, message: str) -> None:
    """A volume that EC2 does not know, or whose id is malformed, is not found, whatever is done to it."""
    ec2.refuses("delete_volume", code, message, VolumeId=DISK)
    ec2.refuses("attach_volume", code, message, VolumeId=DISK, InstanceId=VM, Device="/dev/sdf")
    ec2.refuses("detach_volume", code, message, VolumeId=DISK, InstanceId=VM)
    calls: list[Callable[[], object]] = [
        lambda: volumes.delete(ec2.client, DISK),
        lambda: attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"]),
        lambda: attachments.detach(ec2.client, DISK, VM),
    ]
    for call in calls:
        with pytest.raises(DiskNotFound, match=f"Disk '{DISK}' not found"):
            call()


def test_volume_that_stays_in_use(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten minutes in use the deletion fails with what EC2 says."""
    calls = []

    def refuse(**arguments: Any) -> None:
        calls.append(arguments)
        raise ClientError({"Error": {"Code": "VolumeInUse", "Message": "held"}}, "DeleteVolume")

    monkeypatch.setattr(ec2.client, "delete_volume", refuse)
    with pytest.raises(ClientError, match="VolumeInUse"):
        volumes.delete(ec2.client, DISK)
    assert 600 <= clock.now <= 616
    assert len(calls) == len(clock.pauses) + 1


@pytest.mark.parametrize("looks", [[None], [entry("deleting"), None], [entry("in-use"), entry("deleted")]])
def test_discard(ec2: Ec2, clock: Clock, looks: list[dict[str, Any] | None]) -> None:
    """A volume that must not be is deleted and waited for until it is gone."""
    ec2.answers("delete_volume", VolumeId=DISK)
    lay(ec2, *looks)
    volumes.discard(ec2.client, DISK)
    assert len(clock.pauses) == len(looks) - 1


@pytest.mark.parametrize(
    "last", [entry(), None, *attached("attached", vm_cid=OTHER_VM), *attached("detached")]
)
def test_wait_until_detached(ec2: Ec2, clock: Clock, last: dict[str, Any] | None) -> None:
    """The wait ends when the VM does not hold the disk any more, also when the disk is gone."""
    lay(ec2, *attached("attached", "detaching", "busy"), last)
    attachments.wait_until_detached(ec2.client, DISK, VM)
    assert len(clock.pauses) == 3


@pytest.mark.parametrize("code", ["IncorrectState", "InvalidAttachment.NotFound"])
def test_detach_what_is_not_attached(ec2: Ec2, code: str) -> None:
    """A disk that is not attached to that VM is said to be so; the Director may repeat that."""
    ec2.refuses("detach_volume", code, VolumeId=DISK, InstanceId=VM)
    with pytest.raises(DiskNotAttached) as caught:
        attachments.detach(ec2.client, DISK, VM)
    assert caught.value.message == f"Disk `{DISK}' is not attached to instance `{VM}'"
    assert caught.value.ok_to_retry is True


@pytest.mark.parametrize(
    ("wait", "what", "looks"),
    [
        (volumes.wait_until_available, "be available; last seen: creating", entry("creating")),
        (volumes.wait_until_deleted, "be deleted; last seen: deleting", entry("deleting")),
    ],
)
def test_time_out(
    ec2: Ec2,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    wait: Callable[[Any, str], None],
    what: str,
    looks: dict[str, Any],
) -> None:
    """A state that never comes is an error after ten minutes, with the state that was seen last."""
    monkeypatch.setattr(ec2.client, "describe_volumes", lambda **_: {"Volumes": [looks]})
    with pytest.raises(CloudError) as caught:
        wait(ec2.client, DISK)
    assert caught.value.message == f"Timed out after 1600 seconds waiting for volume '{DISK}' to {what}"
    assert clock.now >= 600


def test_answers_that_were_lost(ec2: Ec2) -> None:
    """After a lost answer, a missing volume or attachment means success."""
    pair = {"VolumeId": DISK, "InstanceId": VM}
    ec2.refuses_repetition("delete_volume", NOT_FOUND, VolumeId=DISK)
    ec2.refuses_repetition("detach_volume", "IncorrectState", **pair)
    ec2.refuses_repetition("detach_volume", "InvalidAttachment.NotFound", **pair)
    volumes.delete(ec2.client, DISK)
    for _ in range(2):
        attachments.detach(ec2.client, DISK, VM)


def test_repetition_that_says_nothing(ec2: Ec2) -> None:
    """A repetition that is refused for another reason is refused."""
    pair = {"VolumeId": DISK, "InstanceId": VM}
    ec2.refuses_repetition("delete_volume", "UnauthorizedOperation", VolumeId=DISK)
    ec2.refuses_repetition("detach_volume", NOT_FOUND, **pair)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        volumes.delete(ec2.client, DISK)
    with pytest.raises(DiskNotFound):
        attachments.detach(ec2.client, DISK, VM)


def test_after_throttling(ec2: Ec2) -> None:
    """A throttled attempt has done nothing: what is not there then never was."""
    pair = {"VolumeId": DISK, "InstanceId": VM}
    ec2.refuses_after_throttling("delete_volume", NOT_FOUND, VolumeId=DISK)
    ec2.refuses_after_throttling("detach_volume", "IncorrectState", **pair)
    ec2.refuses_after_throttling("detach_volume", "InvalidAttachment.NotFound", **pair)
    with pytest.raises(DiskNotFound):
        volumes.delete(ec2.client, DISK)
    for _ in range(2):
        with pytest.raises(DiskNotAttached):
            attachments.detach(ec2.client, DISK, VM)


@pytest.mark.parametrize("code", ["IncorrectState", "InvalidAttachment.NotFound", None])
def test_detach_by_force(ec2: Ec2, clock: Clock, code: str | None) -> None:
    """A volume that must come off is taken off by force, and waited for; one that is off is fine."""
    arguments = {"VolumeId": DISK, "InstanceId": VM, "Force": True}
    if code:
        ec2.refuses("detach_volume", code, **arguments)
    else:
        ec2.answers("detach_volume", **arguments)
        lay(ec2, *attached("detaching"), entry())
    attachments.detach_by_force(ec2.client, DISK, VM)
    assert len(clock.pauses) == (0 if code else 1)
