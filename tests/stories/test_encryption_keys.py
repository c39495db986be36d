"""KMS keys: one that nothing uses is an error or a warning; an error about a key names it and its source."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.checked_config import changed, right
from tests.stories.checking import checked
from tests.stories.story import Story
from tests.stories.volumes import Volumes

KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
OTHER_KEY = "arn:aws:kms:us-east-1:123456789012:key/other"
NOTHING: dict[str, Any] = {}
NEEDS = "kms_key_arn has no effect without encryption: set encrypted to true, or remove kms_key_arn"
UNUSED = "is not used for disks that are not encrypted, and there are such disks"
OF_DISK = ("disk_types", 0, "cloud_properties")
UNUSABLE = "Client.InvalidKMSKey.InvalidState: The KMS key is in a bad state"
IN_ERROR = [["<status>available<", "<status>error<"]]
BY_KEYS = "The call encrypts with {}"
OF_CONFIG = {"encrypted": True, "kms_key_arn": KEY}


def of(found: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return severity, path and text of each finding."""
    return [(each["severity"], each["path"], each["what"]) for each in found]


@pytest.mark.parametrize("default", [False, True])
@pytest.mark.parametrize("own", [{}, {"encrypted": False}, {"encrypted": None}, {"encrypted": True}], ids=str)
def test_key_of_a_disk(story: Story, world: World, own: dict[str, Any], *, default: bool) -> None:
    """A disk's own key needs encryption, also beside `encrypted: false` or null; `cpi check` says so, too."""
    cpi, properties = story.cpi_with(encrypted=default), {"kms_key_arn": KEY, **own}
    answer = cpi.call("create_disk", 1024, properties, None)
    is_right = own.get("encrypted", default) is True
    if is_right:
        (volume,) = world.ec2.describe_volumes(VolumeIds=[answer.ok()])["Volumes"]
        assert (volume["Encrypted"], volume["KmsKeyId"]) == (True, KEY)
    else:
        assert story.check_refusal(answer, f"cloud_properties.{NEEDS}") == []
    found = checked(cpi, changed(right(world), OF_DISK, properties), "--offline")
    expected = [("error", "disk_types/default/cloud_properties/kms_key_arn", f"cloud_properties.{NEEDS}")]
    assert of(found) == ([] if is_right else expected)


def test_default_encryption(story: Story) -> None:
    """A default that encrypts a VM's root disk lets that have a key, and no other disk."""
    properties = {"root_disk": {"kms_key_arn": KEY}, "ephemeral_disk": {"kms_key_arn": KEY}}
    answer = story.create_vm(properties, executable=story.cpi_with(default_root_disk={"encrypted": True}))
    assert story.check_refusal(answer, f"cloud_properties.ephemeral_disk.{NEEDS}") == []


@pytest.mark.parametrize(
    ("aws", "own", "is_said"),
    [
        (NOTHING, {}, True),
        (NOTHING, {"encrypted": False}, False),
        ({"encrypted": True}, {"encrypted": False}, False),
        ({"encrypted": True}, {}, False),
        (NOTHING, {"encrypted": True}, False),
    ],
)
def test_key_of_the_configuration(
    story: Story, world: World, aws: dict[str, Any], own: dict[str, Any], *, is_said: bool
) -> None:
    """aws.kms_key_arn is the key of what is encrypted: a call warns once of what is not, and nobody says so.

    `cpi check` warns once of VMs and once of persistent disks, whatever their number.
    """
    cpi = story.cpi_with(kms_key_arn=KEY, **aws)
    light = {"ami": {"us-east-1": world.image_id}, **own}
    disk = {"ephemeral_disk": own} if own else {}
    calls = (
        (
            story.create_vm({**disk, "instance_type_fallbacks": ["m5.large"]}, executable=cpi),
            "ephemeral_disk.",
        ),
        (cpi.call("create_disk", 1024, own, None), ""),
        (cpi.call("create_stemcell", "/x/image", light), ""),
    )
    for answer, path in calls:
        answer.ok()
        text = f"Ignored: aws.kms_key_arn, because {path}encrypted is not true"
        assert story.warnings(answer) == [text] * is_said
    whole = right(world)
    for each in (*whole["vm_types"], whole["compilation"]):
        each["cloud_properties"] = {**each.get("cloud_properties", {}), **disk}
    for each in whole["disk_types"]:
        each["cloud_properties"] = {**each.get("cloud_properties", {}), **own}
    found = checked(cpi, whole, "--offline")
    assert [each[:2] for each in of(found)] == [("warning", "aws.kms_key_arn")] * is_said * 2
    assert all(each["what"].startswith("Ignored: aws.kms_key_arn, because ") for each in found)


def test_disk_in_error(story: Story, fake_aws: FakeAws) -> None:
    """If EBS can't create a disk, the error names the disk's key and where it comes from."""
    fake_aws.rule(action="DescribeVolumes", replace=IN_ERROR)
    error = story.cpi_with(kms_key_arn=KEY).call("create_disk", 1024, {"encrypted": True}, None).error
    assert "in state error. For an encrypted disk, check that its KMS key exists" in error["message"]
    named = f"'{KEY}' (aws.kms_key_arn)"
    assert error["message"].endswith(f". {BY_KEYS.format(named)}")


def test_disk_that_is_gone(cpi: Cpi, fake_aws: FakeAws) -> None:
    """A disk that EC2 has shown and does not show any more is gone: nothing is waited for."""
    gone = {"code": "InvalidVolume.NotFound", "message": "The volume does not exist."}
    fake_aws.rule(action="DescribeVolumes", nth=1, replace=[["<status>available", "<status>creating"]])
    fake_aws.rule(action="DescribeVolumes", nth=2, times=None, error=gone)
    fake_aws.rule(action="DeleteVolume", error=gone)
    error = cpi.call("create_disk", 1024, {"encrypted": True}, None).error
    assert "it is gone. For an encrypted disk, check that its KMS key exists" in error["message"]
    assert fake_aws.actions().count("DeleteVolume") == 1


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
    fake_aws.refuse("CreateVolume", code)
    error = cpi.call("create_disk", 1024, properties, None).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith(f"CreateVolume failed with {code}: No.")
    assert ("The call encrypts" in error["message"]) == bool(named)
    assert error["message"].endswith(named)


@pytest.mark.parametrize("how", ["ends", "refused"])
def test_keys_of_a_launch(story: Story, fake_aws: FakeAws, how: str) -> None:
    """The error of a VM names the keys of its root disk and its ephemeral disk, which EC2 does not."""
    if how == "ends":
        fake_aws.rule(action="RunInstances", ends=UNUSABLE)
    else:
        error = {"code": "InvalidKMSKey.InvalidState", "message": "The KMS key is in a bad state"}
        fake_aws.rule(action="RunInstances", error=error)
    cpi = story.cpi_with(default_root_disk={"encrypted": True, "kms_key_arn": OTHER_KEY})
    disk = {"encrypted": True, "kms_key_arn": KEY}
    error = story.create_vm({"ephemeral_disk": disk}, executable=cpi).error
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
    story: Story, world: World, fake_aws: FakeAws, stemcell: dict[str, str], own: dict[str, str], source: str
) -> None:
    """The error of a stemcell whose copy fails names its key, and the property that sets it."""
    fake_aws.rule(action="CopyImage", states=["pending", "failed: Given key ID is not accessible"])
    light = {"ami": {"us-east-1": world.image_id}, **own}
    error = story.cpi_with(**OF_CONFIG, stemcell=stemcell).call("create_stemcell", "/x/image", light).error
    said = "its state is failed: Given key ID is not accessible"
    named = BY_KEYS.format(f"'{KEY}' ({source})")
    assert said in error["message"]
    assert error["message"].endswith(f". {named}")


def test_unused_key_of_a_stemcell(story: Story, world: World) -> None:
    """create_stemcell refuses a stemcell's key that nothing uses."""
    light = {"ami": {"us-east-1": world.image_id}}
    cpi = story.cpi_with(stemcell={"kms_key_arn": KEY})
    assert story.check_refusal(cpi.call("create_stemcell", "/x/image", light), f"aws.stemcell.{NEEDS}") == []
    own = story.cpi_with().call("create_stemcell", "/x/image", {**light, "kms_key_arn": KEY})
    assert story.check_refusal(own, f"cloud_properties.{NEEDS}") == []


def test_unused_key_of_an_updated_disk(cpi: Cpi, volumes: Volumes, fake_aws: FakeAws) -> None:
    """update_disk refuses a disk's own key without encryption, also if the disk is encrypted."""
    disk_cid = volumes.make(Encrypted=True, KmsKeyId=KEY)
    fake_aws.forget_calls()
    answer = cpi.call("update_disk", disk_cid, 2048, {"kms_key_arn": KEY})
    assert answer.error["message"] == f"cloud_properties.{NEEDS}"
    assert fake_aws.actions() == ["DescribeVolumes"]


def test_key_of_a_copied_disk(cpi: Cpi, volumes: Volumes, fake_aws: FakeAws) -> None:
    """If a copy can't be encrypted, NotSupported names the key that the copy would have."""
    disk_cid = volumes.make(VolumeType="standard", Encrypted=True, KmsKeyId=OTHER_KEY)
    fake_aws.rule(action="DescribeVolumes", replace=IN_ERROR)
    error = cpi.call("update_disk", disk_cid, 2048, {}).error
    assert error["type"] == "Bosh::Clouds::NotSupported"
    assert error["message"].endswith(BY_KEYS.format(f"'{OTHER_KEY}' (the disk's own key)"))
