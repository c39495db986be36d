"""create_stemcell for an AMI that is shared, is deprecated at a given time, or has options of its own."""

from collections.abc import Callable

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import image_settings
from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.aws.sdk.errors import code_of
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.undo import undoing
from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.properties.stemcell import StemcellProperties
from bosh_aws_cpi.properties.types import refuse


def create(
    cloud: Cloud, properties: StemcellProperties, encryption: Encryption, make: Callable[[], str]
) -> str:
    """Create an AMI, or find that of an earlier attempt, and give it its settings.

    Args:
        make: Returns the AMI's id, and arms the undo step of an AMI that it creates.

    Raises:
        CloudError: A setting is impossible, and nothing was created; or AWS refuses one, and the new AMI is
            deleted.
    """
    refuse(properties.problems(encryption, f"{clock.now():%Y-%m-%dT%H:%M:%SZ}"))
    return undoing(cloud.undo, lambda _: _with_settings(cloud, properties, encryption, make()))


def _with_settings(cloud: Cloud, properties: StemcellProperties, encryption: Encryption, ami_id: str) -> str:
    if properties.deprecate_at:
        image_settings.deprecate(cloud.ec2, ami_id, properties.deprecate_at)
    if properties.share_with:
        _share(cloud, properties, encryption, ami_id)
    return ami_id


def _share(cloud: Cloud, properties: StemcellProperties, encryption: Encryption, ami_id: str) -> None:
    try:
        image_settings.share(cloud.ec2, ami_id, properties.share_with)
    except ClientError as error:
        if code_of(error) != "InvalidParameter":
            raise
        from bosh_aws_cpi.aws.sdk.translation import explained  # noqa: PLC0415 - only errors need it

        message = (
            f"{explained(error)}. If the account encrypts all snapshots by default, share_with needs "
            "encrypted: true and kms_key_arn with a customer managed key"
        )
        raise CloudError(message) from error
    if encryption.encrypted:
        # The actions for a key of a disk (docs/operators.md), without those that only its creation needs.
        logger.warning(
            "The accounts of share_with can launch AMI '%s' only if the policy of the KMS key %s allows them "
            "kms:DescribeKey, kms:Decrypt, kms:ReEncrypt*, kms:GenerateDataKey* and kms:CreateGrant",
            ami_id,
            encryption.key_text,
        )
