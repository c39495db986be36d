"""KMS keys: one that has no effect is a warning, and an error about a key names it and its property."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.protocols import CpiWith, CreateVm, ReadWarnings
from tests.stories.checked_config import changed, right
from tests.stories.checking import checked
from tests.stories.volumes import Volumes

KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
OTHER_KEY = "arn:aws:kms:us-east-1:123456789012:key/other"
NO_EFFECT = "has no effect, because encrypted is not true: EBS uses another key, or does not encrypt"
UNUSABLE = "Client.InvalidKMSKey.InvalidState: The KMS key is in a bad state"
IN_ERROR = [["<status>available<", "<status>error<"]]
BY_KEYS = "The call encrypts with {}"
OF_CONFIG = {"encrypted": True, "kms_key_arn": KEY}


@pytest.mark.parametrize("encrypted", [False, True])
def test_key_of_a_disk(cpi_with: CpiWith, world: World, warnings: ReadWarnings, *, encrypted: bool) -> None:
    """create_disk warns of a disk's own key that nothing uses; `cpi check` finds it; the disk is the same."""
    cpi, properties = cpi_with(encrypted=encrypted), {"kms_key_arn": KEY}
    answer = cpi.call("create_disk", 1024, properties, None)
    (volume,) = world.ec2.describe_volumes(VolumeIds=[answer.ok()])["Volumes"]
    assert volume["Encrypted"] is encrypted
    ignored = f"Ignored: cloud_properties.kms_key_arn, which {NO_EFFECT}"
    assert warnings(answer) == ([] if encrypted else [ignored])
    route = ("disk_types", 0, "cloud_properties")
    found = checked(cpi, changed(right(world), route, properties), "--offline")
    expected = [("error", "disk_types/default/cloud_properties/kms_key_arn", ignored)]
    found_so = [(each["severity"], each["path"], each["what"]) for each in found]
    assert found_so == ([] if encrypted else expected)


def test_keys_of_a_vm(create_vm: CreateVm, cpi: Cpi, world: World, warnings: ReadWarnings) -> None:
    """create_vm warns once for each disk of a VM whose key nothing uses; cpi check finds it."""
    properties = {"root_disk": {"kms_key_arn": KEY}, "ephemeral_disk": {"kms_key_arn": KEY, "size": 10240}}
    answer = create_vm({**properties, "instance_type_fallbacks": ["m5.large"]})
    answer.ok()
    assert warnings(answer) == [f"Ignored: {name}.kms_key_arn, which {NO_EFFECT}" for name in properties]
    whole = right(world)
    (vm_type,) = (each for each in whole["vm_types"] if each["name"] == "large")
    vm_type["cloud_properties"] |= properties
    found = checked(cpi, whole, "--offline")
    paths = [f"vm_types/large/cloud_properties/{name}/kms_key_arn" for name in properties]
    assert [(each["severity"], each["path"]) for each in found] == [("error", path) for path in paths]


def test_disk_in_error(cpi_with: CpiWith, fake_aws: FakeAws) -> None:
    """If EBS can't create a disk, the error names the disk's key and where it comes from."""
    fake_aws.rule(action="DescribeVolumes", replace=IN_ERROR)
    error = cpi_with(kms_key_arn=KEY).call("create_disk", 1024, {"encrypted": True}, None).error
    assert "in state error. For an encrypted disk, check that its KMS key exists" in error["message"]
    named = f"'{KEY}' (aws.kms_key_arn)"
    assert error["message"].endswith(f". {BY_KEYS.format(named)}")


@pytest.mark.parametrize(
    ("code", "properties", "named"),
    [
        ("InvalidKMSKey.InvalidState", {"encrypted": True}, BY_KEYS.format("the account's default key")),
        ("CustomerKeyHasBeenRevoked", OF_CONFIG, BY_KEYS.format(f"'{KEY}' (cloud_properties.kms_key_arn)")),
        ("InvalidKMSKey.InvalidState", {}, ""),
        ("VolumeLimitExceeded", {"encrypted": True}, ""),
    ],
)
def test_refused_key(cpi: Cpi, fake_aws: FakeAws, code: str, properties: dict[str, Any], named: str) -> None:
    """If EC2 refuses a key at once, the error names it; other errors name no key."""
    fake_aws.rule(action="CreateVolume", error={"code": code, "message": "No."})
    error = cpi.call("create_disk", 1024, properties, None).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith(f"CreateVolume failed with {code}: No.")
    assert ("The call encrypts" in error["message"]) == bool(named)
    assert error["message"].endswith(named)


@pytest.mark.parametrize("how", ["ends", "refused"])
def test_keys_of_a_launch(create_vm: CreateVm, cpi_with: CpiWith, fake_aws: FakeAws, how: str) -> None:
    """The error of a VM names the keys of its root disk and its ephemeral disk, which EC2 does not."""
    if how == "ends":
        fake_aws.rule(action="RunInstances", ends=UNUSABLE)
    else:
        error = {"code": "InvalidKMSKey.InvalidState", "message": "The KMS key is in a bad state"}
        fake_aws.rule(action="RunInstances", error=error)
    cpi = cpi_with(default_root_disk={"encrypted": True, "kms_key_arn": OTHER_KEY})
    disk = {"encrypted": True, "kms_key_arn": KEY}
    error = create_vm({"ephemeral_disk": disk}, executable=cpi).error
    named = (
        f"'{OTHER_KEY}' (aws.default_root_disk.kms_key_arn) and "
        f"'{KEY}' (cloud_properties.ephemeral_disk.kms_key_arn)"
    )
    assert "The KMS key is in a bad state" in error["message"]
    assert error["message"].endswith(f". {BY_KEYS.format(named)}")


@pytest.mark.parametrize(
    ("stemcell", "own", "source"),
    [
        ({}, {}, "aws.kms_key_arn"),
        ({"kms_key_arn": KEY}, {"kms_key_arn": OTHER_KEY}, "aws.stemcell.kms_key_arn"),
    ],
)
def test_key_of_a_stemcell(
    cpi_with: CpiWith,
    world: World,
    fake_aws: FakeAws,
    stemcell: dict[str, str],
    own: dict[str, str],
    source: str,
) -> None:
    """The error of a stemcell whose copy fails names its key, and the property that sets it."""
    fake_aws.rule(action="CopyImage", states=["pending", "failed: Given key ID is not accessible"])
    light = {"ami": {"us-east-1": world.image_id}, **own}
    error = cpi_with(**OF_CONFIG, stemcell=stemcell).call("create_stemcell", "/x/image", light).error
    said = "its state is failed: Given key ID is not accessible"
    named = BY_KEYS.format(f"'{KEY}' ({source})")
    assert error["message"].endswith(f"{said}. {named}")


def test_unused_key_of_a_stemcell(cpi_with: CpiWith, world: World, warnings: ReadWarnings) -> None:
    """create_stemcell warns of a light stemcell's key that nothing uses."""
    light = {"ami": {"us-east-1": world.image_id}}
    answer = cpi_with(stemcell={"kms_key_arn": KEY}).call("create_stemcell", "/x/image", light)
    assert answer.ok() == f"{world.image_id} light"
    assert warnings(answer) == [f"Ignored: aws.stemcell.kms_key_arn, which {NO_EFFECT}"]


def test_unused_key_of_an_updated_disk(cpi: Cpi, volumes: Volumes, warnings: ReadWarnings) -> None:
    """update_disk warns of a disk's own key that nothing uses, as create_disk does."""
    answer = cpi.call("update_disk", volumes.make(), 2048, {"kms_key_arn": KEY})
    assert answer.ok() is None
    assert warnings(answer) == [f"Ignored: cloud_properties.kms_key_arn, which {NO_EFFECT}"]


def test_key_of_a_copied_disk(cpi: Cpi, volumes: Volumes, fake_aws: FakeAws) -> None:
    """If a copy can't be encrypted, NotSupported names the key that the copy would have."""
    disk_cid = volumes.make(VolumeType="standard", Encrypted=True, KmsKeyId=OTHER_KEY)
    fake_aws.rule(action="DescribeVolumes", replace=IN_ERROR)
    error = cpi.call("update_disk", disk_cid, 2048, {"kms_key_arn": KEY}).error
    assert error["type"] == "Bosh::Clouds::NotSupported"
    assert error["message"].endswith(BY_KEYS.format(f"'{OTHER_KEY}' (the disk's own key)"))
