"""resize_disk and update_disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.disks.change import resize_disk, update_disk
from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import CloudError, DiskNotFound, NotSupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Ec2

DISK = "vol-1"
FILTERS = [{"Name": "volume-id", "Values": [DISK]}]


def lay_volume(ec2: Ec2, *vms: str, **more: Any) -> None:
    """Lay out a look at the disk of 10 GiB."""
    attachments = [{"InstanceId": vm, "State": "attached", "Device": "/dev/sdf"} for vm in vms]
    entry = {"VolumeId": DISK, "State": "available", "AvailabilityZone": "z", "Attachments": attachments}
    kind = {"Size": 10, "VolumeType": "gp3", "Encrypted": False, "Iops": 3000, "Throughput": 125, **more}
    ec2.answers("describe_volumes", {"Volumes": [{**entry, **kind}]}, VolumeIds=[DISK])


def lay_change(ec2: Ec2, **changes: Any) -> None:
    """Lay out a change that EBS makes."""
    ec2.answers("describe_volumes_modifications", {"VolumesModifications": []}, Filters=FILTERS)
    ec2.answers("modify_volume", VolumeId=DISK, **changes)
    done = {"VolumesModifications": [{"ModificationState": "optimizing"}]}
    ec2.answers("describe_volumes_modifications", done, Filters=FILTERS)


VERBS: list[Callable[[Cloud, int], None]] = [
    lambda cloud, size: resize_disk(cloud, DISK, size),
    lambda cloud, size: update_disk(cloud, DISK, size, {}),
]
BOTH = pytest.mark.parametrize("verb", VERBS, ids=["resize", "update"])


@BOTH
@pytest.mark.parametrize(("mib", "size"), [(10241, 11), (20480, 20)])
def test_larger(cloud: Cloud, ec2: Ec2, verb: Callable[[Cloud, int], None], mib: int, size: int) -> None:
    """A disk is made larger, to whole GiB."""
    lay_volume(ec2)
    lay_change(ec2, Size=size)
    verb(cloud, mib)


@BOTH
@pytest.mark.parametrize("mib", [9217, 10240])
def test_same(
    cloud: Cloud,
    ec2: Ec2,
    program_log: pytest.LogCaptureFixture,
    verb: Callable[[Cloud, int], None],
    mib: int,
) -> None:
    """A disk that has the size already is not changed, attached or not; that is logged."""
    lay_volume(ec2, "i-1")
    verb(cloud, mib)
    assert len([record for record in program_log.records if record.levelname == "INFO"]) == 1


@BOTH
def test_smaller(cloud: Cloud, ec2: Ec2, verb: Callable[[Cloud, int], None]) -> None:
    """EBS makes no disk smaller, attached or not: the Director copies."""
    lay_volume(ec2, "i-1")
    with pytest.raises(NotSupported, match="Cannot resize volume to a smaller size from 10 GiB to 9 GiB"):
        verb(cloud, 9216)


@BOTH
@pytest.mark.parametrize("mib", [0, -1])
def test_no_size(cloud: Cloud, ec2: Ec2, verb: Callable[[Cloud, int], None], mib: int) -> None:
    """A size must be more than nothing."""
    if verb is VERBS[0]:
        lay_volume(ec2)
    with pytest.raises(CloudError) as caught:
        verb(cloud, mib)
    assert caught.value.message == f"disk size must be more than 0 MiB, got {mib}"


@BOTH
def test_unknown(cloud: Cloud, ec2: Ec2, verb: Callable[[Cloud, int], None]) -> None:
    """A disk that EC2 does not know is not found."""
    ec2.refuses("describe_volumes", "InvalidVolume.NotFound", VolumeIds=[DISK])
    with pytest.raises(DiskNotFound, match=DISK):
        verb(cloud, 20480)


@pytest.mark.parametrize("vms", [["i-1"], ["i-1", "i-2"]], ids=len)
def test_resize_what_is_attached(cloud: Cloud, ec2: Ec2, vms: list[str]) -> None:
    """The Director resizes only disks that it has detached: an attached one is an error."""
    lay_volume(ec2, *vms)
    with pytest.raises(CloudError) as caught:
        resize_disk(cloud, DISK, 20480)
    assert not isinstance(caught.value, NotSupported)
    assert caught.value.message == f"Cannot resize volume '{DISK}' it still has {len(vms)} attachment(s)"


@BOTH
@pytest.mark.parametrize("vms", [[], ["i-1"]], ids=len)
def test_magnetic(cloud: Cloud, ec2: Ec2, verb: Callable[[Cloud, int], None], vms: list[str]) -> None:
    """EBS changes no volume of type standard, attached or not: the Director copies."""
    lay_volume(ec2, *vms, VolumeType="standard")
    with pytest.raises(NotSupported) as caught:
        verb(cloud, 20480)
    assert caught.value.message == f"Volume '{DISK}' can't be changed in place, as none of type standard can"


def test_update_what_is_attached(cloud: Cloud, ec2: Ec2) -> None:
    """An attached disk is updated; all that differs is changed at once."""
    lay_volume(ec2, "i-1")
    lay_change(ec2, Size=20, VolumeType="io2", Iops=500)
    update_disk(cloud, DISK, 20480, {"type": "io2", "iops": 500})


def test_update_by_the_configuration(cloud: Cloud, ec2: Ec2) -> None:
    """The configured encryption counts as for a new disk: it can't change in place."""
    aws = cloud.config.aws._replace(encryption=Encryption(encrypted=True))
    secret = Cloud(cloud.config._replace(aws=aws), 2)
    vars(secret)["clients"] = cloud.clients
    lay_volume(ec2)
    with pytest.raises(NotSupported, match=f"Volume '{DISK}' can't be encrypted in place"):
        update_disk(secret, DISK, 10240, {})
    lay_volume(ec2, Encrypted=True)
    lay_change(ec2, Size=20)
    update_disk(secret, DISK, 20480, {})


def test_wrong_properties(cloud: Cloud) -> None:
    """Properties are read before AWS is asked."""
    with pytest.raises(CloudError, match=r"Invalid properties: cloud_properties\.iops"):
        update_disk(cloud, DISK, 10240, {"iops": "many"})
