"""The methods for an existing disk: delete, look up, tag."""

from functools import partial

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import instances, tags, volumes
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import VOLUME_IN_USE, ask_or_warn, describe_error, naming_disk
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError, DiskNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import tag_plan


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
        CloudError: The deletion is not certain, or a VM that stays has the disk attached.
    """

    def delete(patience: timing.Policy) -> None:
        volumes.repeat_while_shown(cloud.ec2, disk_cid, lambda: volumes.delete(cloud.ec2, disk_cid, patience))

    try:
        delete(timing.AT_ONCE)
    except ClientError as error:
        if not VOLUME_IN_USE(error):
            raise
        _check_released(cloud, disk_cid, error)
        delete(timing.VOLUME_RELEASED)
    if cloud.config.aws.fast_path_delete:
        tags.mark_deleted(cloud.ec2, disk_cid)
    else:
        volumes.wait_until_deleted(cloud.ec2, disk_cid)


def _check_released(cloud: Cloud, disk_cid: str, error: ClientError) -> None:
    """Check that EBS is about to release a disk that is in use.

    Raises:
        CloudError: A VM that is not being deleted has the disk attached: no wait would help.
    """
    volume = ask_or_warn(f"what uses volume '{disk_cid}'", lambda: volumes.find(cloud.ec2, disk_cid))
    for vm_cid, (state, _) in volume.attachments.items() if volume else ():
        is_alive = partial(instances.is_alive, cloud.ec2, vm_cid)
        if state == "attached" and ask_or_warn(f"instance '{vm_cid}'", is_alive):
            text = f"Disk '{disk_cid}' is attached to instance '{vm_cid}': detach it first"
            raise CloudError(f"{text}. {describe_error(error)}") from error


def set_disk_metadata(cloud: Cloud, disk_cid: str, metadata: Json) -> None:
    """Tag the disk; a tag limit is logged, not raised (contract: set_disk_metadata).

    Raises:
        DiskNotFound: EC2 does not know the disk.
    """
    wanted = tag_plan.of_request(metadata)
    with naming_disk(disk_cid):
        tags.create(cloud.ec2, [disk_cid], wanted, lambda: bool(volumes.find_staying(cloud.ec2, disk_cid)))
