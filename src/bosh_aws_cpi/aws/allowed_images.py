"""The account's Allowed AMIs setting, which can hide public AMIs."""

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from bosh_aws_cpi.aws.sdk.errors import described
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def remedy(client: "EC2Client") -> str:
    """GetAllowedImagesSettings: what to do if the setting may hide an AMI that EC2 does not show.

    While the setting is enabled, DescribeImages returns no AMI that the criteria exclude; the account's own
    AMIs are always returned (API model: DescribeImages, GetAllowedImagesSettings).

    Returns:
        Sentences for the end of an error; empty when the setting is not enabled, or can't be read.
    """
    try:
        settings = client.get_allowed_images_settings()
    except (ClientError, BotoCoreError) as error:
        logger.debug("The Allowed AMIs setting can't be read: %s", described(error))
        return ""
    if settings.get("State") != "enabled":
        return ""
    owner = "an organisation's policy" if settings.get("ManagedBy") == "declarative-policy" else "the account"
    return (
        f". The setting Allowed AMIs is enabled here, by {owner}, and may hide the AMI: allow its publisher "
        "there, or upload the heavy stemcell of the same version, whose AMI belongs to your account"
    )
