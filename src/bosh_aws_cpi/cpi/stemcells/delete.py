"""delete_stemcell, and what a stemcell's id says."""

from bosh_aws_cpi.aws import image_deletion
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger

LIGHT_SUFFIX = " light"
"""Marks the id of a stemcell whose AMI is not ours to delete."""


def ami_id(stemcell_cid: str) -> str:
    """The AMI of a stemcell."""
    return stemcell_cid.removesuffix(LIGHT_SUFFIX)


def delete_stemcell(cloud: Cloud, stemcell_cid: str) -> None:
    """Delete the AMI and its snapshots; a light stemcell has none of its own (contract: delete_stemcell).

    An AMI that is gone already is no error: the Director would keep the stemcell for good.

    Raises:
        CloudError: The deletion is not certain.
    """
    if stemcell_cid.endswith(LIGHT_SUFFIX):
        logger.info("Stemcell '%s' is a light one: its AMI stays", stemcell_cid)
        return
    image_deletion.delete(cloud.ec2, stemcell_cid)
