"""resize_disk and update_disk: why a volume is not changed, or not now."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.rules import REQUEST_ID
from testbed.world import World
from tests.protocols import CpiWith, WriteError
from tests.stories.volumes import LOOK, METHODS, TWO_GIB, Volumes, asked

DECRYPTED = (
    "Volume '{}' can't lose its encryption, in place or by a copy: "
    "EBS encrypts every copy of an encrypted volume"
)
OLD = "Volume '{}' can't be changed in place: EBS can't change volumes of type standard"


@pytest.mark.parametrize(
    ("before", "properties", "message"),
    [
        ({"Size": 3}, {}, "Cannot resize volume to a smaller size from 3 GiB to 2 GiB"),
        ({"Encrypted": True}, {"encrypted": False}, DECRYPTED),
    ],
    ids=["smaller", "not-encrypted"],
)
def test_neither_in_place_nor_by_a_copy(
    cpi_with: CpiWith,
    volumes: Volumes,
    failure: WriteError,
    fake_aws: FakeAws,
    before: dict[str, Any],
    properties: dict[str, Any],
    message: str,
) -> None:
    """What EBS can do neither in place nor by a copy is NotSupported: the Director copies."""
    disk_cid = volumes.make(**before)
    answer = cpi_with(encrypted=True).call("update_disk", disk_cid, TWO_GIB, properties)
    assert answer.error == failure("NotSupported", message.format(disk_cid))
    assert fake_aws.actions() == ["DescribeVolumes"]


def test_resize_of_the_old_type(cpi: Cpi, volumes: Volumes, failure: WriteError, fake_aws: FakeAws) -> None:
    """EBS resizes no volume of the old type either: the Director copies."""
    disk_cid = volumes.make(VolumeType="standard")
    assert cpi.call("resize_disk", disk_cid, TWO_GIB).error == failure("NotSupported", OLD.format(disk_cid))
    assert fake_aws.actions() == ["DescribeVolumes"]


def test_wrong_properties(cpi: Cpi, volumes: Volumes, fake_aws: FakeAws) -> None:
    """Wrong properties are an error before AWS is asked for anything."""
    error = cpi.call("update_disk", volumes.make(), TWO_GIB, {"iops": "many"}).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith("Invalid properties: cloud_properties.iops")
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"type": "io2"}, "iops or iops_per_gib is needed for type io2"),
        ({"throughput": 1000}, "throughput of 1000 MiB/s needs 4000 iops, but there are only 3000"),
    ],
)
def test_rules_of_the_type(
    cpi: Cpi,
    volumes: Volumes,
    failure: WriteError,
    fake_aws: FakeAws,
    properties: dict[str, Any],
    message: str,
) -> None:
    """Figures that the type does not take, whatever the disk has now, are an error and no reason to copy."""
    answer = cpi.call("update_disk", volumes.make(Throughput=250), TWO_GIB, properties)
    assert answer.error == failure("CloudError", f"EBS would refuse the disk: cloud_properties.{message}")
    assert "ModifyVolume" not in fake_aws.actions()


@pytest.mark.parametrize("method", METHODS)
def test_failed(cpi: Cpi, volumes: Volumes, failure: WriteError, fake_aws: FakeAws, method: str) -> None:
    """A change that EBS could not make is an error with its reason."""
    disk_cid = volumes.make()
    fake_aws.rule(action="ModifyVolume", states=["modifying", "failed: there is no room"])
    message = f"EBS could not change volume '{disk_cid}': there is no room"
    assert cpi.call(*asked(method, disk_cid)).error == failure("CloudError", message)


@pytest.mark.parametrize("code", ["VolumeModificationRateExceeded", "IncorrectModificationState"])
def test_not_again_yet(cpi: Cpi, volumes: Volumes, failure: WriteError, fake_aws: FakeAws, code: str) -> None:
    """A volume that may not be resized again yet is NotSupported, with EC2's words: the Director copies."""
    disk_cid = volumes.make()
    fake_aws.rule(action="ModifyVolume", error={"code": code, "message": "Wait a while."})
    why = f"ModifyVolume failed with {code}: Wait a while. (request id {REQUEST_ID})"
    expected = failure("NotSupported", f"Volume '{disk_cid}' can't be changed now: {why}")
    assert cpi.call("resize_disk", disk_cid, TWO_GIB).error == expected


@pytest.mark.parametrize("state", ["modifying", "optimizing"])
def test_earlier_change(
    cpi: Cpi, volumes: Volumes, failure: WriteError, world: World, fake_aws: FakeAws, state: str
) -> None:
    """While EBS changes a volume to something else, it is not resized: the Director copies."""
    disk_cid = volumes.make()
    fake_aws.rule(action="ModifyVolume", states=[state])
    world.ec2.modify_volume(VolumeId=disk_cid, Size=3)
    fake_aws.forget_calls()
    answer = cpi.call("resize_disk", disk_cid, 4096)
    message = f"Volume '{disk_cid}' can't be changed now: an earlier change is still {state}"
    assert answer.error == failure("NotSupported", message)
    assert fake_aws.actions() == ["DescribeVolumes", LOOK]


@pytest.mark.parametrize(
    ("method", "disk_cid"), [("resize_disk", "vol-x"), ("update_disk", "vol-0123456789abcdef0")]
)
def test_unknown_disk(cpi: Cpi, world: World, failure: WriteError, method: str, disk_cid: str) -> None:
    """A disk that EC2 does not know, or calls malformed, is DiskNotFound."""
    expected = failure("DiskNotFound", f"Disk '{disk_cid}' not found")
    assert cpi.call(*asked(method, disk_cid)).error == expected
    assert world.state() == world.empty


@pytest.mark.parametrize("method", METHODS)
def test_no_size(cpi: Cpi, volumes: Volumes, failure: WriteError, method: str) -> None:
    """A size of nothing is told as create_disk tells it."""
    expected = failure("CloudError", "disk size must be more than 0 MiB, got 0")
    assert cpi.call(*asked(method, volumes.make(), 0)).error == expected
