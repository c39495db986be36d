"""Attaching a disk that another VM has, or under names in use: how long that is waited for."""

import re

import pytest

from bosh_aws_cpi.aws import attachments
from bosh_aws_cpi.aws.attachments import MAX_REFUSALS
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.looks import DISK, OTHER_VM, VM, instances, volume
from tests.unit.conftest import Clock, ProgramLog, Stub


@pytest.mark.parametrize(
    ("shown", "is_kept"),
    [
        ("pending", True),
        ("running", True),
        ("stopped", True),
        ("shutting-down", False),
        ("UnauthorizedOperation", False),
    ],
)
def test_disk_of_another_vm(
    ec2: Stub, clock: Clock, program_log: ProgramLog, shown: str, *, is_kept: bool
) -> None:
    """A VM that keeps a disk is named after half a minute; one that leaves is waited for, as in doubt."""
    ec2.keeps("describe_volumes", {"Volumes": [volume("in-use", (OTHER_VM, "attached"), name="/dev/sdg")]})
    ec2.keeps("describe_instances", shown if shown == "UnauthorizedOperation" else instances(shown)[0])
    refusals = ["VolumeInUse"] * (MAX_REFUSALS + 1)
    ends = refusals if is_kept else [*refusals, {}]
    ec2.lay("attach_volume", *ends, VolumeId=DISK, InstanceId=VM, Device="/dev/sdf")
    if is_kept:
        where = f"Volume '{DISK}' is attached to instance '{OTHER_VM}' ({shown}), as /dev/sdg"
        with pytest.raises(CloudError, match=re.escape(where)):
            attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"])
        assert 25 <= clock.now <= 60
    else:
        assert attachments.attach(ec2.client, DISK, VM, ["/dev/sdf"]) == "/dev/sdf"
    assert program_log.text.count("waiting for its release") == 1
