"""AMIs with settings of their own: shared with other accounts, deprecated, with IMDSv2 or a NitroTPM."""

from datetime import UTC, datetime
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story

OTHER = "222222222222"
ORGANIZATION = "arn:aws:organizations::123456789012:organization/o-abcdefghij"
UNIT = "arn:aws:organizations::123456789012:ou/o-abcdefghij/ou-abcd-12345678"
KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
V2 = "v2.0"
POLICY = (
    f"Others can launch the AMI only if the policy of the KMS key '{KEY}' (aws.stemcell.kms_key_arn) allows "
    "them kms:DescribeKey, kms:Decrypt, kms:ReEncrypt*, kms:GenerateDataKey* and kms:CreateGrant"
)
EXISTS = (
    "can't be set for this light stemcell, whose AMI exists already. Remove it, or use the heavy "
    "stemcell. A copy of the AMI, for which encrypted is true, can have share_with and deprecate_at"
)
OWN_KEY = (
    "share_with needs a customer managed KMS key: set kms_key_arn. EC2 does not share what the AWS managed "
    "key encrypts, and the CPI can't see which key the account's default is"
)


def in_years(years: int) -> str:
    """Return a time some years ahead, in the middle of a month that is over or to come."""
    return f"{datetime.now(UTC).year + years}-06-15T12:00:00Z"


def dated(given: dict[str, Any]) -> dict[str, Any]:
    """Put a time in the place of a number of years."""
    years = given.get("deprecate_at")
    return {**given, "deprecate_at": in_years(years)} if isinstance(years, int) else given


def described(world: World, ami_id: str) -> dict[str, Any]:
    """Describe an AMI, with its launch permissions."""
    (image,) = world.ec2.describe_images(ImageIds=[ami_id])["Images"]
    asked = world.ec2.describe_image_attribute(ImageId=ami_id, Attribute="launchPermission")
    return {**image, "LaunchPermissions": asked["LaunchPermissions"]}


@pytest.fixture
def other(fake_aws: FakeAws, world: World) -> World:
    """Return what another account has, an AMI with another id among it."""
    del world
    ec2, iam = fake_aws.client("ec2", account=OTHER), fake_aws.client("iam", account=OTHER)
    theirs = World.lay(ec2, iam, fake_aws.existing)
    fake_aws.forget_calls()
    return theirs


def test_settings(story: Story, heavy: Heavy, world: World, fake_aws: FakeAws) -> None:
    """The AMI of a heavy stemcell is registered with its options, and then deprecated and shared."""
    at = in_years(2)
    ami_id = heavy.create(
        boot_mode="uefi",
        imds_support=V2,
        tpm_support=V2,
        deprecate_at=at,
        share_with=[int(OTHER), ORGANIZATION, UNIT, OTHER],
    ).ok()
    assert fake_aws.actions()[-3:] == ["CreateTags", "EnableImageDeprecation", "ModifyImageAttribute"]
    (registering,) = story.parameters_of("RegisterImage")
    assert [registering[name] for name in ("ImdsSupport", "TpmSupport", "BootMode")] == [V2, V2, "uefi"]
    image = described(world, ami_id)
    assert image["DeprecationTime"] == at.replace("Z", ".000Z")
    assert image["LaunchPermissions"] == [
        {"UserId": OTHER},
        {"OrganizationArn": ORGANIZATION},
        {"OrganizationalUnitArn": UNIT},
    ]


def test_two_accounts(story: Story, heavy: Heavy, cpi: Cpi, world: World, other: World) -> None:
    """Another account uses the AMI as a light stemcell, until delete_stemcell deletes it."""
    theirs = story.cpi_with(role_arn=f"arn:aws:iam::{OTHER}:role/cpi")
    ami_id = heavy.create(share_with=[OTHER]).ok()
    light = theirs.call("create_stemcell", "/x/image", {"ami": {"us-east-1": ami_id}}).ok()
    assert light == f"{ami_id} light"
    properties = {"instance_type": "t3.micro", "availability_zone": other.zone}
    network = {"type": "dynamic", "cloud_properties": {"subnet": other.subnet_id}}
    vm = ["agent-1", light, properties, {"default": network}, [], {}]
    (vm_cid, _) = theirs.call("create_vm", *vm, stemcell=2).ok()
    assert other.instance(vm_cid)["ImageId"] == ami_id
    assert theirs.call("delete_stemcell", light).ok() is None
    assert world.state()["images"] == [ami_id]
    assert cpi.call("delete_stemcell", ami_id).ok() is None
    assert world.state()["images"] == []
    message = theirs.call("create_vm", *vm, stemcell=2).error["message"]
    assert f"AMI '{ami_id}'" in message
    assert "its owner does not share it with this account" in message


def test_encrypted(story: Story, heavy: Heavy, world: World) -> None:
    """With a key of one's own, a warning says what the key's policy must allow; aws.stemcell wins."""
    cpi = story.cpi_with(stemcell={"encrypted": True, "kms_key_arn": KEY, "share_with": [OTHER]})
    answer = heavy.create(cpi=cpi, share_with=[ORGANIZATION])
    assert described(world, answer.ok())["LaunchPermissions"] == [{"UserId": OTHER}]
    assert story.warnings(answer) == [POLICY]


def test_copy(story: Story, cpi: Cpi, world: World) -> None:
    """The copy of a light stemcell's AMI is shared and deprecated; so is one that is used again."""
    named = {"name": "bosh-noble", "version": "1.2", "kms_key_arn": KEY, "encrypted": True}
    light = {"ami": {"us-east-1": world.image_id}, **named, "deprecate_at": in_years(1)}
    ami_id = cpi.call("create_stemcell", "/x/image", {**light, "share_with": [OTHER]}).ok()
    assert cpi.call("create_stemcell", "/x/image", {**light, "share_with": [UNIT]}).ok() == ami_id
    image = described(world, ami_id)
    assert image["LaunchPermissions"] == [{"UserId": OTHER}, {"OrganizationalUnitArn": UNIT}]
    assert image["DeprecationTime"] == in_years(1).replace("Z", ".000Z")
    assert (len(story.parameters_of("CopyImage")), world.state()["images"]) == (1, [ami_id])
    assert described(world, world.image_id)["LaunchPermissions"] == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share_with": ["12345678901"]}, "cloud_properties.share_with.0: must be an AWS account's id, 12"),
        ({"share_with": OTHER}, "cloud_properties.share_with: must be a list, got String"),
        ({"share_with": [OTHER], "encrypted": True}, OWN_KEY),
        ({"deprecate_at": "2030-02-30T00:00:00Z"}, "deprecate_at: must be a time in UTC, as '2030-01-31"),
        (
            {"deprecate_at": -1},
            "cloud_properties.deprecate_at must be a time within the next ten years, not ",
        ),
        ({"tpm_support": V2}, "tpm_support needs boot_mode uefi, and a stemcell whose image boots by UEFI"),
        ({"imds_support": "v1.0"}, "imds_support: must be 'v2.0'"),
    ],
)
def test_refused(story: Story, heavy: Heavy, given: dict[str, Any], message: str) -> None:
    """A setting that is impossible is refused before the first call, by its name."""
    answer = heavy.create(**dated(given))
    assert message in answer.error["message"]
    assert story.check_refusal(answer, answer.error["message"]) == []


@pytest.mark.parametrize(
    ("stemcell", "given", "named"),
    [
        ({}, {"tpm_support": V2, "encrypted": True}, "cloud_properties.tpm_support"),
        ({"share_with": [OTHER]}, {}, "aws.stemcell.share_with"),
    ],
)
def test_light(
    story: Story, world: World, stemcell: dict[str, Any], given: dict[str, Any], named: str
) -> None:
    """The AMI of a light stemcell is somebody else's: settings for it are refused, not ignored."""
    light = {"ami": {"us-east-1": world.image_id}, **given}
    answer = story.cpi_with(stemcell=stemcell).call("create_stemcell", "/x/image", light)
    assert story.check_refusal(answer, f"{named} {EXISTS}") == []


def test_unknown_account(story: Story, heavy: Heavy, fake_aws: FakeAws) -> None:
    """If EC2 does not know an account, the error names the property that has it, and the AMI is deleted."""
    fake_aws.refuse("ModifyImageAttribute", "InvalidAMIAttributeItemValue", "Invalid attribute item value")
    message = heavy.create(share_with=[OTHER]).error["message"]
    assert message.endswith(". Correct share_with in the stemcell's cloud properties or in aws.stemcell")
    assert story.leftovers() == {}


def test_misspelt_configuration(story: Story, heavy: Heavy) -> None:
    """A warning of an unknown key says where it stands; the known ones beside it count, also if null."""
    cpi = story.cpi_with(stemcell={"imds_suport": V2, "deprecate_at": None, "tpm_support": V2})
    answer = heavy.create(cpi=cpi, boot_mode="uefi", deprecate_at=in_years(-1), zzz=1)
    answer.ok()
    assert story.warnings(answer) == [
        "Unknown properties are ignored: aws.stemcell.imds_suport (did you mean imds_support?)",
        "Unknown properties are ignored: cloud_properties.zzz",
    ]
