"""Images that are shared, deprecated, or registered with IMDSv2."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.world import World

OTHER = "222222222222"
ORGANIZATION = "arn:aws:organizations::123456789012:organization/o-abcdefghij"
UNIT = "arn:aws:organizations::123456789012:ou/o-abcdefghij/ou-abcd-12345678"


def refused(call: Any, **arguments: Any) -> tuple[str, str]:
    """Make a call that EC2 refuses; return the code and the message."""
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def permissions(ec2: Any, image_id: str) -> list[dict[str, str]]:
    """List an image's launch permissions."""
    answer = ec2.describe_image_attribute(ImageId=image_id, Attribute="launchPermission")
    found: list[dict[str, str]] = answer["LaunchPermissions"]
    return found


def test_shared(fake_aws: FakeAws, ec2: Any, world: World) -> None:
    """An account sees and launches another one's image while that is shared with it, without its tags."""
    ec2.create_tags(Resources=[world.image_id], Tags=[{"Key": "a", "Value": "b"}])
    theirs = fake_aws.client("ec2", account=OTHER)
    unknown = ("InvalidAMIID.NotFound", f"The image id '[{world.image_id}]' does not exist")
    assert refused(theirs.describe_images, ImageIds=[world.image_id]) == unknown
    added = {"ImageId": world.image_id, "LaunchPermission": {"Add": [{"UserId": OTHER}]}}
    assert refused(theirs.modify_image_attribute, **added) == unknown
    ec2.modify_image_attribute(**added)
    (image,) = theirs.describe_images(ImageIds=[world.image_id])["Images"]
    assert (image["OwnerId"], image.get("Tags", [])) == ("123456789012", [])
    assert refused(theirs.modify_image_attribute, **added)[0] == "AuthFailure"
    vpc_id = theirs.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet_id = theirs.create_subnet(VpcId=vpc_id, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]
    launch = {"ImageId": world.image_id, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
    launch["SubnetId"] = subnet_id
    (instance,) = theirs.run_instances(**launch)["Instances"]
    (volume,) = theirs.describe_volumes()["Volumes"]
    assert (volume["Size"], volume["Attachments"][0]["InstanceId"]) == (5, instance["InstanceId"])
    ec2.deregister_image(ImageId=world.image_id)
    assert refused(theirs.run_instances, **launch) == unknown


def test_permissions(ec2: Any, world: World) -> None:
    """A permission is there once; ARNs must be those of an organization or one of its units."""
    wanted = [{"OrganizationArn": ORGANIZATION}, {"OrganizationalUnitArn": UNIT}, {"UserId": OTHER}]
    for _ in range(2):
        ec2.modify_image_attribute(ImageId=world.image_id, LaunchPermission={"Add": wanted})
    assert sorted(permissions(ec2, world.image_id), key=str) == sorted(wanted, key=str)
    wrong = [{"OrganizationArn": UNIT}]
    said = refused(ec2.modify_image_attribute, ImageId=world.image_id, LaunchPermission={"Add": wrong})
    message = f'Invalid attribute item value "{UNIT}" for OrganizationArn item type.'
    assert said == ("InvalidAMIAttributeItemValue", message)


@pytest.mark.parametrize("key", [None, "arn:aws:kms:us-east-1:123456789012:key/k"])
def test_encrypted(ec2: Any, world: World, key: str | None) -> None:
    """What the default key encrypts is not shared."""
    source = {"SourceImageId": world.image_id, "SourceRegion": "us-east-1", "Encrypted": True}
    image_id = ec2.copy_image(Name="copy", **source, **({"KmsKeyId": key} if key else {}))["ImageId"]
    arguments = {"ImageId": image_id, "LaunchPermission": {"Add": [{"UserId": OTHER}]}}
    if key:
        ec2.modify_image_attribute(**arguments)
    else:
        code, message = refused(ec2.modify_image_attribute, **arguments)
        assert (code, "encrypted with the AWS Managed CMK" in message) == ("InvalidParameter", True)
    assert permissions(ec2, image_id) == ([{"UserId": OTHER}] if key else [])


def test_deprecated(ec2: Any, world: World) -> None:
    """The time of deprecation is shown to the minute; it is in the future, and within ten years."""
    now = datetime.now(UTC)
    for wrong in (now - timedelta(minutes=2), now + timedelta(days=3700)):
        said = refused(ec2.enable_image_deprecation, ImageId=world.image_id, DeprecateAt=wrong)
        assert said[0] == "InvalidParameterValue"
    at = datetime(now.year + 1, 2, 3, 4, 5, 31, tzinfo=UTC)
    ec2.enable_image_deprecation(ImageId=world.image_id, DeprecateAt=at)
    (image,) = ec2.describe_images(ImageIds=[world.image_id])["Images"]
    assert image["DeprecationTime"] == f"{now.year + 1}-02-03T04:06:00.000Z"


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, ("required", 2)), ({"HttpTokens": "optional"}, ("optional", 2))],
)
def test_tokens(ec2: Any, world: World, given: dict[str, Any], expected: tuple[str, int]) -> None:
    """An image with ImdsSupport has its instances ask for tokens, unless the launch says otherwise."""
    (device, _) = ec2.describe_images(ImageIds=[world.image_id])["Images"][0]["BlockDeviceMappings"]
    image_id = ec2.register_image(
        Name="with-imdsv2",
        RootDeviceName="/dev/xvda",
        ImdsSupport="v2.0",
        TpmSupport="v2.0",
        BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": device["Ebs"]["SnapshotId"]}}],
    )["ImageId"]
    (image,) = ec2.describe_images(ImageIds=[image_id])["Images"]
    assert (image["ImdsSupport"], image["TpmSupport"]) == ("v2.0", "v2.0")
    launch = {"ImageId": image_id, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
    more = {"MetadataOptions": given} if given else {}
    answer = ec2.run_instances(**launch, SubnetId=world.subnet_id, **more)
    options = world.instance(answer["Instances"][0]["InstanceId"])["MetadataOptions"]
    assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == expected
