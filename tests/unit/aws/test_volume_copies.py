"""Copies of EBS volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws import volume_copies
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
    assert volume_copies.create(ec2.client, DISK, arguments, MARK) == OTHER


def test_create_of_an_unknown_volume(ec2: Ec2) -> None:
    """A volume that EC2 does not know is DiskNotFound."""
    ec2.refuses("copy_volumes", NOT_FOUND, SourceVolumeId=DISK, ClientToken="t")
    with pytest.raises(DiskNotFound):
        volume_copies.create(ec2.client, DISK, {"ClientToken": "t"}, MARK)


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"InitializationType": "volume-copy", "Progress": 0}, {DISK: 0}),
        ({"InitializationType": "volume-copy", "Progress": 100}, {DISK: 100}),
        ({"InitializationType": "default", "Progress": 100}, {}),
        ({"InitializationType": "volume-copy"}, {}),
        ({}, {}),
        (None, {}),
    ],
)
def test_progress(ec2: Ec2, details: dict[str, Any] | None, expected: dict[str, int]) -> None:
    """Only what EC2 says about a copy counts as its progress."""
    status = {"VolumeId": DISK, **({} if details is None else {"InitializationStatusDetails": details})}
    ec2.answers("describe_volume_status", {"VolumeStatuses": [status]}, VolumeIds=[DISK])
    assert volume_copies.progress(ec2.client, [DISK]) == expected


def test_progress_without_a_volume_that_is_gone(ec2: Ec2) -> None:
    """A volume that is gone does not hide the progress of the others; without ids there is no call."""
    details = {"InitializationType": "volume-copy", "Progress": 7}
    status = {"VolumeId": DISK, "InitializationStatusDetails": details}
    ec2.refuses(
        "describe_volume_status", NOT_FOUND, f"The volume '{OTHER}' does not exist.", VolumeIds=[DISK, OTHER]
    )
    ec2.answers("describe_volume_status", {"VolumeStatuses": [status]}, VolumeIds=[DISK])
    assert volume_copies.progress(ec2.client, [DISK, OTHER]) == {DISK: 7}
    assert volume_copies.progress(ec2.client, []) == {}
