"""Attaching EBS volumes, through the orders of states and refusals that EC2 shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws import attachments
from bosh_aws_cpi.aws.attachments import MAX_UNSEEN
from bosh_aws_cpi.errors import CloudError, DiskNotFound, VMNotFound
from tests.unit.aws.volume_looks import DISK, OTHER_VM, VM, attached, entry, lay

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

ARGUMENTS = {"VolumeId": DISK, "InstanceId": VM, "Device": "/dev/sdf"}


@pytest.mark.parametrize(
    "codes",
    [
        [],
        ["IncorrectState", "IncorrectState"],
        ["VolumeInUse"],
        ["VolumeInUse", "IncorrectState", "VolumeInUse", "IncorrectState"],
    ],
)
def test_attach(ec2: Ec2, clock: Clock, codes: list[str]) -> None:
    """An attachment is tried again while the VM is not ready or another VM still holds the disk."""
    for code in codes:
        ec2.refuses("attach_volume", code, **ARGUMENTS)
        if code == "VolumeInUse":
            lay(ec2, *attached("busy", vm_cid=OTHER_VM))
    ec2.answers("attach_volume", **ARGUMENTS)
    attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"])
    assert len(clock.pauses) == len(codes)


@pytest.mark.parametrize("state", ["attaching", "attached"])
def test_attach_whose_answer_was_lost(ec2: Ec2, clock: Clock, state: str) -> None:
    """A disk in use by this very attachment is attached: AttachVolume has no client token."""
    ec2.refuses("attach_volume", "VolumeInUse", **ARGUMENTS)
    lay(ec2, *attached(state))
    attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"])
    assert clock.pauses == []


@pytest.mark.parametrize(
    ("vm_cid", "state", "name"),
    [
        (OTHER_VM, "attached", "/dev/sdf"),
        *((VM, state, "/dev/sdf") for state in ("detaching", "detached", "busy")),
    ],
)
def test_other_attachments(ec2: Ec2, clock: Clock, vm_cid: str, state: str, name: str) -> None:
    """Another VM's attachment and one that is going are not taken for it."""
    ec2.refuses("attach_volume", "VolumeInUse", **ARGUMENTS)
    lay(ec2, entry("in-use", DISK, (vm_cid, state), name=name))
    if vm_cid == OTHER_VM:
        ec2.refuses("describe_instances", "InvalidInstanceID.NotFound", InstanceIds=[OTHER_VM])
    ec2.answers("attach_volume", **ARGUMENTS)
    attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"])
    assert len(clock.pauses) == 1


def test_attached_under_another_name(ec2: Ec2) -> None:
    """A disk that this VM has under another name is attached, and that name is the answer."""
    ec2.refuses("attach_volume", "VolumeInUse", **ARGUMENTS)
    lay(ec2, entry("in-use", DISK, (VM, "attached"), name="/dev/sdg"))
    assert attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"]) == "/dev/sdg"


def test_attach_what_went_meanwhile(ec2: Ec2) -> None:
    """A disk that was in use and is gone when it is looked at is not found."""
    ec2.refuses("attach_volume", "VolumeInUse", **ARGUMENTS)
    lay(ec2, None)
    with pytest.raises(DiskNotFound, match=DISK):
        attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"])


def test_unknown_instance(ec2: Ec2) -> None:
    """An instance that EC2 does not know is not found, when attaching and when detaching."""
    pair = {"VolumeId": DISK, "InstanceId": VM}
    ec2.refuses("attach_volume", "InvalidInstanceID.NotFound", **pair, Device="/dev/sdf")
    ec2.refuses("detach_volume", "InvalidInstanceID.Malformed", **pair)
    with pytest.raises(VMNotFound, match=VM):
        attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"])
    with pytest.raises(VMNotFound, match=VM):
        attachments.detach(ec2.client, DISK, VM)


def test_wait_until_attached(ec2: Ec2, clock: Clock) -> None:
    """The wait ends when the disk is attached to that VM; another VM's attachment doesn't count."""
    lay(ec2, entry(), *attached("attached", vm_cid=OTHER_VM), *attached("attaching", "busy", "attached"))
    attachments.wait_until_attached(ec2.client, DISK, VM)
    assert len(clock.pauses) == 4


@pytest.mark.parametrize("state", ["attaching", "busy"])
@pytest.mark.parametrize("last", [entry(), *attached("detached"), *attached("attached", vm_cid=OTHER_VM)])
def test_wait_for_what_came_off(ec2: Ec2, clock: Clock, state: str, last: dict[str, Any]) -> None:
    """An attachment that was seen and is there no more ends the wait at once."""
    lay(ec2, entry(), *attached(state), last)
    with pytest.raises(CloudError) as caught:
        attachments.wait_until_attached(ec2.client, DISK, VM)
    assert (
        caught.value.message == f"Volume '{DISK}' was detached from instance '{VM}': is the VM terminating?"
    )
    assert len(clock.pauses) == 2


def test_wait_for_what_is_never_seen(ec2: Ec2, clock: Clock) -> None:
    """An attachment may be unseen for about 20 seconds, and not in one more question."""
    lay(ec2, *[entry()] * MAX_UNSEEN, *attached("attached"), *[entry()] * (MAX_UNSEEN + 1))
    attachments.wait_until_attached(ec2.client, DISK, VM)
    assert 18 <= clock.now <= 30
    with pytest.raises(CloudError, match="was detached from instance"):
        attachments.wait_until_attached(ec2.client, DISK, VM)
    assert len(clock.pauses) == 2 * MAX_UNSEEN


def test_wait_for_what_went_away(ec2: Ec2) -> None:
    """A disk that goes away meanwhile can't be attached any more."""
    lay(ec2, *attached("attaching"), None)
    with pytest.raises(DiskNotFound):
        attachments.wait_until_attached(ec2.client, DISK, VM)
