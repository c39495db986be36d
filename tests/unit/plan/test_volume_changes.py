"""What of an EBS volume is to change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import CloudError, NotSupported
from bosh_aws_cpi.model import Volume
from bosh_aws_cpi.plan import volume_changes
from bosh_aws_cpi.properties.disk import DiskProperties

KEY, OTHER_KEY = "arn:aws:kms:us-east-1:1:key/a", "arn:aws:kms:us-east-1:1:key/b"
PLAIN = Encryption()
GP3 = Volume("vol-1", "in-use", "z", {}, 10, "gp3", encrypted=False, iops=3000, throughput=125)
GP2 = replace(GP3, type="gp2", iops=100, throughput=None)
IO2 = replace(GP3, type="io2", iops=500, throughput=None)
SECRET = replace(GP3, encrypted=True, kms_key_arn=KEY)
MAGNETIC = replace(GP3, type="standard", iops=None, throughput=None)
BY_KEY = Encryption(encrypted=True, kms_key_arn=KEY)


def changes(volume: Volume, size: int = 10, default: Encryption = PLAIN, **given: Any) -> dict[str, Any]:
    """Plan the change of a volume to these properties."""
    return volume_changes.changes(volume, size, DiskProperties.parse(given), default)


@pytest.mark.parametrize(
    ("volume", "given", "expected"),
    [
        (GP3, {}, {}),
        (GP3, {"name": "dd1", "tags": {"a": "b"}}, {}),
        (GP3, {"iops": 3000, "throughput": 125}, {}),
        (GP3, {"iops": 4000}, {"Iops": 4000}),
        (GP3, {"throughput": 500}, {"Throughput": 500}),
        (GP3, {"iops": 4000, "throughput": 1000}, {"Iops": 4000, "Throughput": 1000}),
        (replace(GP3, iops=4000, throughput=250), {}, {"Iops": 3000, "Throughput": 125}),
        (GP2, {}, {"VolumeType": "gp3", "Iops": 3000, "Throughput": 125}),
        (GP2, {"type": "gp2"}, {}),
        (GP3, {"type": "gp2"}, {"VolumeType": "gp2"}),
        (GP3, {"type": "io2", "iops": 500}, {"VolumeType": "io2", "Iops": 500}),
        (GP3, {"type": "io2", "iops": 3000}, {"VolumeType": "io2", "Iops": 3000}),
        (IO2, {"type": "io1", "iops": 500}, {"VolumeType": "io1", "Iops": 500}),
        (replace(IO2, iops=3000), {}, {"VolumeType": "gp3", "Iops": 3000, "Throughput": 125}),
        (
            replace(IO2, throughput=125),
            {"iops": 5000},
            {"VolumeType": "gp3", "Iops": 5000, "Throughput": 125},
        ),
        (IO2, {"type": "io2", "iops": 500}, {}),
        (IO2, {}, {"VolumeType": "gp3", "Iops": 3000, "Throughput": 125}),
    ],
)
def test_changes(volume: Volume, given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Only what differs from what create_disk would make is asked for; gp3 has EBS's baseline.

    With another type all figures are asked for: EBS forgets those that are not sent anew.
    """
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
    ("volume", "given"),
    [(MAGNETIC, {}), (MAGNETIC, {"type": "gp2"}), (GP3, {"type": "standard"}), (GP2, {"type": "standard"})],
)
def test_magnetic(volume: Volume, given: dict[str, Any]) -> None:
    """EBS changes no volume of type standard, nor any to it: the Director copies."""
    with pytest.raises(NotSupported) as caught:
        changes(volume, **given)
    assert (
        caught.value.message
        == "Volume 'vol-1' can't be changed in place: EBS can't change volumes of type standard"
    )


def test_magnetic_that_stays() -> None:
    """A volume of type standard that is as it is to be is no change, and no reason to copy."""
    assert changes(MAGNETIC, type="standard") == {}


@pytest.mark.parametrize(
    ("volume", "default", "given"),
    [
        (SECRET, Encryption(encrypted=True, kms_key_arn=KEY), {}),
        (SECRET, Encryption(encrypted=True), {}),
        (SECRET, PLAIN, {"encrypted": True, "kms_key_arn": KEY}),
        (SECRET, PLAIN, {"encrypted": True, "kms_key_arn": "a"}),
        (SECRET, PLAIN, {"encrypted": True}),
        (GP3, PLAIN, {"encrypted": False, "kms_key_arn": OTHER_KEY}),
        (GP3, Encryption(encrypted=True, kms_key_arn=KEY), {"encrypted": False}),
    ],
)
def test_same_encryption(volume: Volume, default: Encryption, given: dict[str, Any]) -> None:
    """Encryption that is as asked for is no change, a key by ARN or id; without a certain one any will do."""
    assert changes(volume, default=default, **given) == {}
    with pytest.raises(NotSupported):
        changes(replace(volume, encrypted=not volume.encrypted), default=default, **given)


@pytest.mark.parametrize("default", [PLAIN, Encryption(kms_key_arn=OTHER_KEY)])
@pytest.mark.parametrize("given", [{}, {"kms_key_arn": OTHER_KEY}])
@pytest.mark.parametrize("volume", [GP3, SECRET])
def test_encrypted_by_the_account(volume: Volume, default: Encryption, given: dict[str, Any]) -> None:
    """A volume may be encrypted though nothing asks for it: by the account's default, as a copy would be."""
    assert changes(volume, default=default, **given) == {}


@pytest.mark.parametrize(
    ("volume", "default", "given", "change"),
    [
        (GP3, Encryption(encrypted=True), {}, "be encrypted"),
        (GP3, PLAIN, {"encrypted": True, "kms_key_arn": KEY}, "be encrypted"),
        (SECRET, PLAIN, {"encrypted": False}, "lose its encryption"),
        (SECRET, BY_KEY, {"encrypted": None}, "lose its encryption"),
    ],
)
def test_other_encryption(volume: Volume, default: Encryption, given: dict[str, Any], change: str) -> None:
    """EBS can't change encryption in place: the Director copies."""
    with pytest.raises(NotSupported) as caught:
        changes(volume, 20, default, **given)
    assert caught.value.message == f"Volume 'vol-1' can't {change} in place"


@pytest.mark.parametrize("key", [OTHER_KEY, "b", "alias/a", KEY.replace("key/", "alias/"), "key/a"])
@pytest.mark.parametrize("is_default", [True, False])
def test_other_key(key: str, *, is_default: bool) -> None:
    """Nor can it change the key. Which one an alias stands for can't be told, so that is copied too."""
    given = {} if is_default else {"encrypted": True, "kms_key_arn": key}
    default = Encryption(encrypted=True, kms_key_arn=key if is_default else KEY)
    with pytest.raises(NotSupported) as caught:
        changes(SECRET, 20, default, **given)
    assert caught.value.message == (
        f"Volume 'vol-1' can't change its KMS key in place, and '{key}' is not the id or ARN of its "
        "current key"
    )


def test_refused() -> None:
    """Figures that EBS would refuse are an error of the properties: a copy would meet it too."""
    with pytest.raises(CloudError) as caught:
        changes(GP3, type="gp2", iops=3000)
    assert not isinstance(caught.value, NotSupported)
    assert caught.value.message == (
        "EBS would refuse the disk: cloud_properties.iops can't be set for type gp2: "
        "remove it, or use gp3, io1 or io2"
    )
