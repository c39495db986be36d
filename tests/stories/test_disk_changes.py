"""resize_disk and update_disk: volumes changed in place."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story
from tests.stories.volumes import LOOK, TWO_GIB, Volumes, asked

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"


@pytest.mark.parametrize(("method", "size"), [("resize_disk", 1025), ("update_disk", TWO_GIB)])
def test_larger(cpi: Cpi, volumes: Volumes, fake_aws: FakeAws, method: str, size: int) -> None:
    """A disk grows, to whole GiB, and is waited for until EBS only optimizes it; it keeps its id."""
    disk_cid = volumes.make()
    fake_aws.rule(action="ModifyVolume", states=["modifying", "optimizing"])
    assert cpi.call(*asked(method, disk_cid, size)).ok() is None
    assert fake_aws.actions() == ["DescribeVolumes", LOOK, "ModifyVolume", LOOK, LOOK]
    assert volumes.changes() == [{"Size": "2"}]
    assert volumes.figures(disk_cid) == ("gp3", 2, 3000, 125)


@pytest.mark.parametrize(
    ("before", "properties", "expected", "after"),
    [
        (
            {"VolumeType": "gp2"},
            {},
            {"VolumeType": "gp3", "Iops": "3000", "Throughput": "125"},
            ("gp3", 9, 3000, 125),
        ),
        (
            {"Iops": 3600},
            {"type": "io2", "iops_per_gib": 400},
            {"VolumeType": "io2", "Iops": "3600"},
            ("io2", 9, 3600, None),
        ),
    ],
    ids=["from-another-type", "to-another-type"],
)
def test_several_changes_at_once(
    cpi: Cpi,
    volumes: Volumes,
    before: dict[str, Any],
    properties: dict[str, Any],
    expected: dict[str, str],
    after: tuple[Any, ...],
) -> None:
    """All that differs goes in one ModifyVolume; the disk is then what create_disk would have made."""
    disk_cid = volumes.make(Size=8, **before)
    assert cpi.call("update_disk", disk_cid, 9 * 1024, properties).ok() is None
    assert volumes.changes() == [{"Size": "9", **expected}]
    assert volumes.figures(disk_cid) == after


def test_nothing_differs(cpi: Cpi, volumes: Volumes, fake_aws: FakeAws) -> None:
    """A disk that is as it is to be is looked at, and that is all."""
    disk_cid = volumes.make(VolumeType="io1", Size=4, Iops=100, Encrypted=True, KmsKeyId=KEY)
    properties = {"type": "io1", "iops": 100, "encrypted": True, "kms_key_arn": KEY}
    assert cpi.call("update_disk", disk_cid, 4096, properties).ok() is None
    assert fake_aws.actions() == ["DescribeVolumes"]


def test_attached(story: Story, cpi: Cpi, volumes: Volumes, world: World) -> None:
    """update_disk changes an attached disk too; resize_disk does not, after the other questions."""
    vm_cid, disk_cid = story.lay_vm(), volumes.make(Size=2)
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=disk_cid, Device="/dev/sdf")
    assert cpi.call("resize_disk", disk_cid, TWO_GIB).ok() is None
    smaller = story.failure("NotSupported", "Cannot resize volume to a smaller size from 2 GiB to 1 GiB")
    assert cpi.call("resize_disk", disk_cid, 1024).error == smaller
    message = f"Cannot resize volume '{disk_cid}' it still has 1 attachment(s)"
    assert cpi.call("resize_disk", disk_cid, 2049).error == story.failure("CloudError", message)
    assert volumes.figures(disk_cid) == ("gp3", 2, 3000, 125)
    assert cpi.call("update_disk", disk_cid, 2049, {}).ok() is None
    assert volumes.figures(disk_cid) == ("gp3", 3, 3000, 125)
