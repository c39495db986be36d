"""delete_stemcell, and the form of a stemcell's id."""

from bosh_aws_cpi.aws import image_deletion
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger

LIGHT_SUFFIX = " light"
"""Marks the id of a stemcell whose AMI belongs to someone else and must not be deleted."""


def ami_id(stemcell_cid: str) -> str:
    """The id of a stemcell's AMI."""
    return stemcell_cid.removesuffix(LIGHT_SUFFIX)


def delete_stemcell(cloud: Cloud, stemcell_cid: str) -> None:
    """Delete the AMI and its snapshots; a light stemcell has none of its own (contract: delete_stemcell).

    It is no error if the AMI is already gone, because the Director could never delete the stemcell otherwise.

    Raises:
        CloudError: The deletion is not certain.
    """
    if stemcell_cid.endswith(LIGHT_SUFFIX):
        logger.info("Stemcell '%s' is a light stemcell: its AMI is not deleted", stemcell_cid)
        return
    image_deletion.delete(cloud.ec2, stemcell_cid)
