"""The methods for an existing disk: delete, look up, tag."""

from bosh_aws_cpi.aws import tags, volumes
from bosh_aws_cpi.aws.sdk.errors import naming_disk
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import DiskNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import tags as tag_plan


def has_disk(cloud: Cloud, disk_cid: str) -> bool:
    """Say whether the disk exists (contract: has_disk)."""
    try:
        return volumes.find(cloud.ec2, disk_cid).state != "deleted"
    except DiskNotFound:
        return False


def delete_disk(cloud: Cloud, disk_cid: str) -> None:
    """Delete the disk and wait until it is gone (contract: delete_disk).

    With ``fast_path_delete`` it is tagged instead, without waiting.

    Raises:
        DiskNotFound: EC2 does not know the disk.
        CloudError: The deletion is not certain.
    """
    volumes.delete(cloud.ec2, disk_cid)
    if cloud.config.aws.fast_path_delete:
        tags.mark_deleted(cloud.ec2, disk_cid)
    else:
        volumes.wait_until_deleted(cloud.ec2, disk_cid)


def set_disk_metadata(cloud: Cloud, disk_cid: str, metadata: Json) -> None:
    """Tag the disk; a tag limit is logged, not raised (contract: set_disk_metadata).

    Raises:
        DiskNotFound: EC2 does not know the disk.
    """
    with naming_disk(disk_cid):
        tags.create(cloud.ec2, [disk_cid], tag_plan.of_request(metadata))
