"""Replacing a disk by a copy that EBS does not accept."""

import pytest

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.disks.change import update_disk
from bosh_aws_cpi.errors import NotSupported
from tests.unit.aws.looks import DISK, volume
from tests.unit.aws.timing_script import fault
from tests.unit.conftest import Clock, ProgramLog, Stub


def test_too_many_copies(
    cloud: Cloud, ec2: Stub, clock: Clock, program_log: ProgramLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no copy is accepted for five minutes, the Director copies the data, also after a server error."""

    def refuse(*_: object) -> None:
        raise fault("CopyVolumesLimitExceeded")

    ec2.keeps("describe_volumes", {"Volumes": [volume()]})
    monkeypatch.setattr(volumes, "copy", refuse)
    with pytest.raises(NotSupported, match="for 300 seconds"):
        update_disk(cloud, DISK, 1024, {"encrypted": True})
    assert 300 <= clock.now <= 330
    assert f"Still waiting after 1 min for EBS to accept a copy of volume '{DISK}'" in program_log.text
