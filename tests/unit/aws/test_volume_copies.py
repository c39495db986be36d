"""Copies of EBS volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.errors import DiskNotFound
from tests.unit.aws.volume_looks import DISK, NOT_FOUND, OTHER

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2

MARK = ("bosh_call", "call-1")


def test_create(ec2: Ec2) -> None:
    """The copy's id is returned."""
    asked = {"SourceVolumeId": DISK, "VolumeType": "gp3", "ClientToken": "t"}
    ec2.answers("copy_volumes", {"Volumes": [{"VolumeId": OTHER}]}, **asked)
    arguments = {"VolumeType": "gp3", "ClientToken": "t"}
    assert volumes.copy(ec2.client, DISK, arguments, MARK) == OTHER


def test_create_of_an_unknown_volume(ec2: Ec2) -> None:
    """A volume that EC2 does not know is DiskNotFound."""
    ec2.refuses("copy_volumes", NOT_FOUND, SourceVolumeId=DISK, ClientToken="t")
    with pytest.raises(DiskNotFound):
        volumes.copy(ec2.client, DISK, {"ClientToken": "t"}, MARK)
