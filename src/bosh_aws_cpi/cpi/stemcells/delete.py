"""delete_stemcell."""

from bosh_aws_cpi.aws import images
from bosh_aws_cpi.aws.images import LIGHT_SUFFIX
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger


def delete_stemcell(cloud: Cloud, stemcell_cid: str) -> None:
    """Delete the AMI and its snapshots; a light stemcell has none of its own (contract: delete_stemcell).

    Nobody can launch a deregistered AMI, so those with whom it was shared lose it, too.

    It is no error if the AMI is already gone, because the Director could never delete the stemcell otherwise.

    Raises:
        CloudError: The deletion is not certain.
    """
    if stemcell_cid.endswith(LIGHT_SUFFIX):
        logger.info("Stemcell '%s' is a light stemcell: its AMI is not deleted", stemcell_cid)
        return
    images.delete(cloud.ec2, stemcell_cid)
