"""resize_disk and update_disk: EBS volumes changed in place, or replaced by a copy."""

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.disks import replacement
from bosh_aws_cpi.cpi.encryption_keys import warn_if_unused
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.errors import CloudError, NotSupported
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import gib
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan import volume_changes
from bosh_aws_cpi.plan.disk_defaults import persistent
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import refuse


def resize_disk(cloud: Cloud, disk_cid: str, new_size: int) -> None:
    """Enlarge a disk (contract: resize_disk).

    Args:
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
        message = (
            f"Cannot resize volume '{disk_cid}' it still has {len(volume.attachments)} attachment(s). "
            f"Detach it from {', '.join(volume.attachments)} first"
        )
        raise CloudError(message)
    volumes.modify(cloud.ec2, disk_cid, {"Size": size})


def update_disk(cloud: Cloud, disk_cid: str, new_size: int, cloud_properties: Json) -> str | None:
    """Change a disk to match what create_disk would create with these arguments.

    A disk that is not attached and can't be changed in place is replaced by a copy. A disk whose property
    `encrypted` was removed stays encrypted.

    Args:
        disk_cid: The disk, attached or not.
        new_size: MiB.
        cloud_properties: See `DiskProperties`.

    Returns:
        The id of the copy that replaces the disk, which stays; None when the disk keeps its id.

    Raises:
        DiskNotFound: EC2 does not know the disk.
        NotSupported: It can't be done in place or by a copy, or not now: the Director then copies the data.
        CloudError: A property is wrong, or the change failed.
    """
    own = DiskProperties.parse(cloud_properties)
    size = gib(_checked(new_size))
    refuse(own.problems())
    properties, origin, default = persistent(own, cloud.config.aws)
    volume = volumes.find(cloud.ec2, disk_cid)
    change = volume_changes.change(volume, size, properties, default, origin)
    warn_if_unused(properties, properties.encryption(default))
    if left := tag_plan.differing(volume.tags, properties.name, properties.tags):
        text = (
            "Tags of the disk type are ignored, because update_disk changes none of '%s': %s. Set them in AWS"
        )
        logger.warning(text, disk_cid, ", ".join(map(ascii, left)), is_whole=True)
    if properties.snapshot_id is not None:
        logger.info("Disk '%s' keeps its data: snapshot_id has an effect on new disks only", disk_cid)
    if change.stays_encrypted:
        logger.info("Disk '%s' stays encrypted, although nothing requests it", disk_cid)
    obstacle = change.obstacle or _change_in_place(cloud, disk_cid, change.in_place)
    if obstacle is None:
        return None
    call = call_id(cloud, "update_disk", disk_cid, new_size, cloud_properties)
    wish = replacement.Wish(volume, change.by_copy, obstacle, call, change.key_text)
    return replacement.replace(cloud, wish)


def _change_in_place(cloud: Cloud, disk_cid: str, arguments: Json) -> str | None:
    """Modify the volume; returns why EBS does not allow it now, or None."""
    if not arguments:
        logger.info("Disk '%s' needs no change", disk_cid)
        return None
    try:
        volumes.modify(cloud.ec2, disk_cid, arguments)
    except NotSupported as refusal:
        return refusal.message
    return None


def _checked(size: int) -> int:
    if size <= 0:
        message = f"disk size must be more than 0 MiB, got {size}"
        raise CloudError(message)
    return size
