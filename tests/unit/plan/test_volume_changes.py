"""What of an EBS volume is to change."""

import re
from typing import Any

import pytest

from bosh_aws_cpi.errors import NotSupported
from bosh_aws_cpi.model import Encryption, Volume
from bosh_aws_cpi.plan import volume_changes
from bosh_aws_cpi.plan.ebs import Origin
from bosh_aws_cpi.plan.volume_changes import Change
from bosh_aws_cpi.properties.disk import DiskProperties

KEY, OTHER_KEY = "arn:aws:kms:us-east-1:1:key/a", "arn:aws:kms:us-east-1:1:key/b"
PLAIN = Encryption()
GP3 = Volume("vol-1", "in-use", "z", {}, 10, "gp3", encrypted=False, iops=3000, throughput=125)
GP2 = GP3.replace(type="gp2", iops=100, throughput=None)
IO2 = GP3.replace(type="io2", iops=500, throughput=None)
SECRET = GP3.replace(encrypted=True, kms_key_arn=KEY)
MAGNETIC = GP3.replace(type="standard", iops=None, throughput=None)
BY_KEY = Encryption(encrypted=True, kms_key_arn=KEY)


def change(volume: Volume, size: int = 10, default: Encryption = PLAIN, **given: Any) -> Change:
    """Plan the change of a volume to these properties."""
    return volume_changes.change(
        volume, size, DiskProperties.parse(given), default, Origin("cloud_properties")
    )


def changes(volume: Volume, size: int = 10, default: Encryption = PLAIN, **given: Any) -> dict[str, Any]:
    """Plan a change in place."""
    planned = change(volume, size, default, **given)
    assert planned.obstacle is None
    return planned.in_place


@pytest.mark.parametrize(
    ("volume", "given", "expected"),
    [
        (GP3, {}, {}),
        (GP3, {"name": "dd1", "tags": {"a": "b"}}, {}),
        (GP3, {"iops": 3000, "throughput": 125}, {}),
        (GP3, {"throughput": 500}, {"Throughput": 500}),
        (GP3, {"iops": 4000, "throughput": 1000}, {"Iops": 4000, "Throughput": 1000}),
        (GP3.replace(iops=4000, throughput=250), {}, {"Iops": 3000, "Throughput": 125}),
        (GP2, {}, {"VolumeType": "gp3", "Iops": 3000, "Throughput": 125}),
        (GP2, {"type": "gp2"}, {}),
        (GP3, {"type": "gp2"}, {"VolumeType": "gp2"}),
        (GP3, {"type": "io2", "iops": 3000}, {"VolumeType": "io2", "Iops": 3000}),
        (IO2.replace(iops=3000), {}, {"VolumeType": "gp3", "Iops": 3000, "Throughput": 125}),
        (IO2, {"type": "io2", "iops": 500}, {}),
    ],
)
def test_changes(volume: Volume, given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Only what differs from what create_disk would make is asked for; gp3 has EBS's baseline.

    With another type all figures are asked for: EBS forgets those that are not sent anew.
    """
    assert changes(volume, **given) == expected
    assert changes(volume, 11, **given) == {"Size": 11, **expected}


@pytest.mark.parametrize(
    ("volume", "given"),
    [(MAGNETIC, {}), (MAGNETIC, {"type": "gp2"}), (GP3, {"type": "standard"}), (GP2, {"type": "standard"})],
)
def test_magnetic(volume: Volume, given: dict[str, Any]) -> None:
    """EBS changes no volume of type standard in place, nor any to it."""
    message = "'vol-1' .*EBS can't change volumes of type standard"
    assert re.search(message, str(change(volume, **given).obstacle))
    with pytest.raises(NotSupported, match=message):
        volume_changes.check_modifiable(volume, given.get("type", "gp3"))


@pytest.mark.parametrize(
    ("volume", "default", "given"),
    [
        (SECRET, Encryption(encrypted=True, kms_key_arn=KEY), {}),
        (SECRET, Encryption(encrypted=True), {}),
        (SECRET, PLAIN, {"encrypted": True, "kms_key_arn": "a"}),
        (GP3, PLAIN, {"encrypted": False, "kms_key_arn": OTHER_KEY}),
    ],
)
def test_same_encryption(volume: Volume, default: Encryption, given: dict[str, Any]) -> None:
    """Encryption that is as asked for is no change, a key by ARN or id; without a certain one any will do."""
    assert changes(volume, default=default, **given) == {}


def test_encrypted_by_the_account() -> None:
    """A volume may be encrypted though nothing asks for it: by the account's default, as a copy would be."""
    assert changes(SECRET, default=Encryption(kms_key_arn=OTHER_KEY)) == {}
    assert changes(SECRET, kms_key_arn=OTHER_KEY) == {}


@pytest.mark.parametrize(
    ("volume", "default", "expected"),
    [(GP3, PLAIN, False), (SECRET, PLAIN, True), (SECRET, Encryption(encrypted=True), False)],
)
def test_stays_encrypted(volume: Volume, default: Encryption, *, expected: bool) -> None:
    """The plan says whether a volume stays encrypted although nothing requests it."""
    assert change(volume, default=default).stays_encrypted is expected


@pytest.mark.parametrize(
    ("default", "given"), [(Encryption(encrypted=True), {}), (PLAIN, {"encrypted": True, "kms_key_arn": KEY})]
)
def test_encrypted_later(default: Encryption, given: dict[str, Any]) -> None:
    """EBS can't encrypt a volume in place."""
    assert "can't be encrypted in place" in str(change(GP3, 20, default, **given).obstacle)


@pytest.mark.parametrize(("default", "value"), [(PLAIN, False), (BY_KEY, None)])
def test_decrypted(default: Encryption, value: object) -> None:
    """An encrypted volume can't be decrypted, not even by a copy: the error is NotSupported."""
    with pytest.raises(NotSupported, match="'vol-1' can't lose its encryption"):
        change(SECRET, 20, default, encrypted=value)


@pytest.mark.parametrize(
    ("key", "is_default"), [(OTHER_KEY, True), (OTHER_KEY, False), ("alias/a", False), ("key/a", False)]
)
def test_other_key(key: str, *, is_default: bool) -> None:
    """EBS can't change the key in place; an alias counts as another key, because it does not name its key."""
    given = {} if is_default else {"encrypted": True, "kms_key_arn": key}
    default = Encryption(encrypted=True, kms_key_arn=key if is_default else KEY)
    planned = change(SECRET, 20, default, **given)
    assert f"'{key}' is not the id or ARN of its current key" in str(planned.obstacle)
    assert planned.by_copy.items() >= {"Encrypted": True, "KmsKeyId": key}.items()


@pytest.mark.parametrize(
    ("volume", "default", "given", "expected"),
    [
        (GP3, PLAIN, {}, {}),
        (GP3, Encryption(kms_key_arn=KEY), {}, {}),
        (GP3, BY_KEY, {}, {"Encrypted": True, "KmsKeyId": KEY}),
        (SECRET, PLAIN, {}, {"Encrypted": True, "KmsKeyId": KEY}),
        (SECRET, Encryption(encrypted=True), {}, {"Encrypted": True, "KmsKeyId": KEY}),
        (SECRET, Encryption(kms_key_arn=OTHER_KEY), {}, {"Encrypted": True, "KmsKeyId": KEY}),
        (SECRET, BY_KEY, {"kms_key_arn": OTHER_KEY}, {"Encrypted": True, "KmsKeyId": OTHER_KEY}),
        (GP3.replace(encrypted=True), PLAIN, {}, {"Encrypted": True}),
    ],
)
def test_copy(volume: Volume, default: Encryption, given: dict[str, Any], expected: dict[str, Any]) -> None:
    """A copy gets all figures, changed or not, and keeps its key unless another one is set."""
    figures = {"Size": 10, "VolumeType": "gp3", "Iops": 3000, "Throughput": 125}
    assert change(volume, default=default, **given).by_copy == {**figures, **expected}
