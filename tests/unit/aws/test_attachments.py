"""Whose attachment a refused AttachVolume may be, and how long a new one may be unseen."""

import pytest

from bosh_aws_cpi.aws import attachments
from bosh_aws_cpi.aws.attachments import MAX_UNSEEN
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.looks import DISK, OF_DISK, OTHER_VM, VM, volume, volumes
from tests.unit.conftest import Clock, Stub

PAIR = {"VolumeId": DISK, "InstanceId": VM}
ATTACH = {**PAIR, "Device": "/dev/sdf"}


@pytest.mark.parametrize(
    ("holder", "state", "is_own"),
    [
        (VM, "attaching", True),
        (VM, "detaching", False),
        (OTHER_VM, "attached", False),
    ],
)
def test_volume_in_use(ec2: Stub, clock: Clock, holder: str, state: str, *, is_own: bool) -> None:
    """Only the VM's own attachment is that of an attempt whose answer was lost; any other is waited for."""
    ec2.lay("attach_volume", "VolumeInUse", **ATTACH)
    held = {"Volumes": [volume("in-use", (holder, state), name="/dev/sdg")]}
    ec2.lay("describe_volumes", held, **OF_DISK)
    if holder == OTHER_VM:
        again = [{"Name": "instance-id", "Values": [OTHER_VM]}]
        ec2.lay("describe_instances", "InvalidInstanceID.NotFound", InstanceIds=[OTHER_VM])
        ec2.lay("describe_instances", {"Reservations": []}, Filters=again)
    if not is_own:
        ec2.lay("attach_volume", "IncorrectState", {}, **ATTACH)
    found = attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"])
    assert found == ("/dev/sdg" if is_own else "/dev/sdf")
    assert len(clock.pauses) == (0 if is_own else 2) + (holder == OTHER_VM)


def test_attachment_that_is_never_seen(ec2: Stub, clock: Clock) -> None:
    """An attachment may be unseen for about 20 seconds, and not in one more question."""
    ec2.lay("describe_volumes", *volumes(*[""] * MAX_UNSEEN, "attached", *[""] * (MAX_UNSEEN + 1)), **OF_DISK)
    attachments.wait_until_attached(ec2.client, DISK, VM)
    assert 18 <= clock.now <= 30
    with pytest.raises(CloudError, match="was detached from instance"):
        attachments.wait_until_attached(ec2.client, DISK, VM)
