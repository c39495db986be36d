"""resize_disk and update_disk: EBS volumes changed in place."""

from bosh_aws_cpi.aws import modifications, volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import gib
from bosh_aws_cpi.plan import volume_changes
from bosh_aws_cpi.properties.disk import DiskProperties


def resize_disk(cloud: Cloud, disk_cid: str, new_size: int) -> None:
    """Enlarge a disk (contract: resize_disk).

    Args:
        cloud: The call's cloud.
        disk_cid: The disk, which must not be attached.
        new_size: MiB.

    Raises:
        DiskNotFound: EC2 does not know the disk.
        NotSupported: It would become smaller, or EBS can't change it now: the Director then copies it.
        CloudError: It is attached, or the change failed.
    """
    volume = volumes.find(cloud.ec2, disk_cid)
    size = gib(_checked(new_size))
    if size == volume.size_gib:
        logger.info("Disk '%s' already has %d GiB", disk_cid, size)
        return
    volume_changes.check_not_smaller(volume, size)
    volume_changes.check_modifiable(volume, volume.type)
    if volume.attachments:
        message = f"Cannot resize volume '{disk_cid}' it still has {len(volume.attachments)} attachment(s)"
        raise CloudError(message)
    modifications.modify(cloud.ec2, disk_cid, {"Size": size})


def update_disk(cloud: Cloud, disk_cid: str, new_size: int, cloud_properties: Json) -> None:
    """Change a disk to match what create_disk would create with these arguments; it keeps its id.

    Args:
        cloud: The call's cloud.
        disk_cid: The disk, attached or not.
        new_size: MiB.
        cloud_properties: See `DiskProperties`.

    Raises:
        DiskNotFound: EC2 does not know the disk.
        NotSupported: It can't be done in place, or not now: the Director then copies the disk.
        CloudError: A property is wrong, or the change failed.
    """
    properties = DiskProperties.parse(cloud_properties)
    size = gib(_checked(new_size))
    volume = volumes.find(cloud.ec2, disk_cid)
    changes = volume_changes.changes(volume, size, properties, cloud.config.aws.encryption)
    if not changes:
        logger.info("Disk '%s' needs no change", disk_cid)
        return
    modifications.modify(cloud.ec2, disk_cid, changes)


def _checked(size: int) -> int:
    if size <= 0:
        message = f"disk size must be more than 0 MiB, got {size}"
        raise CloudError(message)
    return size
