"""The account's Allowed AMIs setting, which can hide public AMIs."""

from typing import TYPE_CHECKING

from bosh_aws_cpi.aws.sdk.errors import looked_up

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def hint(client: "EC2Client") -> str:
    """GetAllowedImagesSettings: that the setting may hide an AMI that EC2 does not show, and what to do.

    While the setting is enabled, DescribeImages returns no AMI that the criteria exclude; the account's own
    AMIs are always returned (API model: DescribeImages, GetAllowedImagesSettings).

    Returns:
        A sentence for the end of an error; empty when the setting is not enabled, or can't be read.
    """
    settings = looked_up("the Allowed AMIs setting", client.get_allowed_images_settings)
    if settings is None or settings.get("State") != "enabled":
        return ""
    owner = "an organisation's policy" if settings.get("ManagedBy") == "declarative-policy" else "the account"
    return (
        f"The Allowed AMIs setting is enabled in this region (by {owner}) and may hide the AMI: "
        "add the AMI's owner to the allowed image providers, or upload the heavy stemcell of this version, "
        "whose AMI belongs to your account"
    )
