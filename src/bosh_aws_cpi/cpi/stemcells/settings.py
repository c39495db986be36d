"""create_stemcell: settings of an AMI that the CPI creates; few stemcells have any."""

from bosh_aws_cpi.aws import images
from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.properties.stemcell import StemcellProperties, path_of
from bosh_aws_cpi.properties.types import refuse


def check(cloud: Cloud, properties: StemcellProperties, encryption: Encryption) -> None:
    """Check the settings before anything is created.

    Raises:
        CloudError: One is impossible.
    """
    overrides = cloud.config.aws.stemcell.overrides
    problems = properties.problems(encryption, clock.now())
    refuse(each.replace(text=f"{path_of(each.key, overrides)}.{each.text}") for each in problems)
    if properties.share_with and encryption.encrypted:
        # The actions of the statements Encryption and EncryptionGrants, without that for an upload.
        logger.warning(
            "Others can launch the AMI only if the policy of the KMS key %s allows them "
            "kms:DescribeKey, kms:Decrypt, kms:ReEncrypt*, kms:GenerateDataKey* and kms:CreateGrant",
            encryption.key_text,
        )


def apply(cloud: Cloud, properties: StemcellProperties, ami_id: str) -> str:
    """Set the properties of an available AMI; returns its id."""
    if properties.deprecate_at:
        images.deprecate(cloud.ec2, ami_id, properties.deprecate_at)
    if properties.share_with:
        logger.info("Sharing AMI '%s' with %s", ami_id, ", ".join(properties.share_with))
        images.share(cloud.ec2, ami_id, properties.share_with)
    return ami_id
