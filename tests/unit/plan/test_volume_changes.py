"""What of an EBS volume is to change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError, NotSupported
from bosh_aws_cpi.model import Encryption, Volume
from bosh_aws_cpi.plan import volume_changes
from bosh_aws_cpi.properties import DiskProperties

KEY, OTHER_KEY = "arn:aws:kms:us-east-1:1:key/a", "arn:aws:kms:us-east-1:1:key/b"
PLAIN = Encryption()
GP3 = Volume("vol-1", "in-use", "z", {}, 10, "gp3", encrypted=False, iops=3000, throughput=125)
GP2 = replace(GP3, type="gp2", iops=100, throughput=None)
IO2 = replace(GP3, type="io2", iops=500, throughput=None)
SECRET = replace(GP3, encrypted=True, kms_key_arn=KEY)


def changes(volume: Volume, size: int = 10, default: Encryption = PLAIN, **given: Any) -> dict[str, Any]:
    """Plan the change of a volume to these properties."""
    return volume_changes.changes(volume, size, DiskProperties.parse(given), default)


@pytest.mark.parametrize(
    ("volume", "given", "expected"),
    [
        (GP3, {}, {}),
        (GP3, {"iops": 3000, "throughput": 125}, {}),
        (GP3, {"iops": 4000}, {"Iops": 4000}),
        (GP3, {"throughput": 500}, {"Throughput": 500}),
        (GP3, {"iops": 4000, "throughput": 1000}, {"Iops": 4000, "Throughput": 1000}),
        (replace(GP3, iops=4000, throughput=250), {}, {"Iops": 3000, "Throughput": 125}),
        (GP2, {}, {"VolumeType": "gp3", "Iops": 3000, "Throughput": 125}),
        (GP2, {"type": "gp2"}, {}),
        (GP3, {"type": "gp2"}, {"VolumeType": "gp2"}),
        (GP3, {"type": "io2", "iops": 500}, {"VolumeType": "io2", "Iops": 500}),
        (GP3, {"type": "io2", "iops": 3000}, {"VolumeType": "io2"}),
        (IO2, {"type": "io2", "iops": 500}, {}),
        (IO2, {}, {"VolumeType": "gp3", "Iops": 3000, "Throughput": 125}),
    ],
)
def test_changes(volume: Volume, given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Only what differs from what create_disk would make is asked for; gp3 has EBS's baseline."""
    assert changes(volume, **given) == expected
    assert changes(volume, 11, **given) == {"Size": 11, **expected}


@pytest.mark.parametrize("size", [1, 9])
def test_smaller(size: int) -> None:
    """EBS can't make a volume smaller: the Director copies."""
    with pytest.raises(NotSupported) as caught:
        changes(GP3, size)
    assert caught.value.message == f"Cannot resize volume to a smaller size from 10 GiB to {size} GiB"
    volume_changes.check_not_smaller(GP3, 10)


@pytest.mark.parametrize(
    ("volume", "default", "given"),
    [
        (SECRET, Encryption(encrypted=True, kms_key_arn=KEY), {}),
        (SECRET, Encryption(encrypted=True), {}),
        (SECRET, PLAIN, {"encrypted": True, "kms_key_arn": KEY}),
        (SECRET, PLAIN, {"encrypted": True}),
        (GP3, PLAIN, {"kms_key_arn": OTHER_KEY}),
        (GP3, Encryption(encrypted=True, kms_key_arn=KEY), {"encrypted": False}),
    ],
)
def test_same_encryption(volume: Volume, default: Encryption, given: dict[str, Any]) -> None:
    """Encryption that is as asked for is no change; without a certain key any will do."""
    assert changes(volume, default=default, **given) == {}
    with pytest.raises(NotSupported):
        changes(replace(volume, encrypted=not volume.encrypted), default=default, **given)


@pytest.mark.parametrize(
    ("volume", "default", "given", "change"),
    [
        (GP3, Encryption(encrypted=True), {}, "be encrypted"),
        (GP3, PLAIN, {"encrypted": True, "kms_key_arn": KEY}, "be encrypted"),
        (SECRET, PLAIN, {}, "lose its encryption"),
        (SECRET, PLAIN, {"encrypted": True, "kms_key_arn": OTHER_KEY}, "change its KMS key"),
        (SECRET, Encryption(encrypted=True, kms_key_arn=OTHER_KEY), {}, "change its KMS key"),
    ],
)
def test_other_encryption(volume: Volume, default: Encryption, given: dict[str, Any], change: str) -> None:
    """EBS can't change encryption in place: the Director copies."""
    with pytest.raises(NotSupported) as caught:
        changes(volume, 20, default, **given)
    assert caught.value.message == f"Volume 'vol-1' can't {change} in place"


def test_refused() -> None:
    """Figures that EBS would refuse are an error of the properties: a copy would meet it too."""
    with pytest.raises(CloudError) as caught:
        changes(GP3, type="gp2", iops=3000)
    assert not isinstance(caught.value, NotSupported)
    assert caught.value.message == (
        "EBS would refuse the disk: cloud_properties.iops can't be set for type gp2: "
        "remove it, or use gp3, io1 or io2"
    )
