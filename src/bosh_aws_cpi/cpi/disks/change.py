"""resize_disk and update_disk: EBS volumes changed in place, or replaced by a copy.

No call ever deletes the old volume of a copy: if the answer is lost, the Director still uses the
old volume. `cpi sweep` lists both volumes for a person. No call ever uses the copy of another call, not even
of the same request: it may lack data that was written since.
"""

import uuid
from contextlib import suppress

from botocore.exceptions import ClientError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import tags, volumes
from bosh_aws_cpi.aws.sdk import errors, timing
from bosh_aws_cpi.aws.sdk.errors import FAILURES, describe_error, is_transient, policy_remedy
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.encryption_keys import add_keys, check_key
from bosh_aws_cpi.cpi.undo import Undo, run_with_undo
from bosh_aws_cpi.errors import CloudError, NotSupported
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan import ebs, tag_plan, volume_changes
from bosh_aws_cpi.plan.disk_defaults import with_persistent_defaults
from bosh_aws_cpi.plan.volume_changes import Change
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
    size = ebs.requested_gib(new_size)
    if size == volume.size_gib:
        logger.info("Disk '%s' already has %d GiB", disk_cid, size)
        return
    volume_changes.check_not_smaller(volume, size)
    volume_changes.check_modifiable(volume, volume.type)
    if volume.attachments:
        raise CloudError(
            f"Cannot resize volume '{disk_cid}' it still has {len(volume.attachments)} attachment(s). "
            f"Detach it from {', '.join(volume.attachments)} first"
        )
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
    size = ebs.requested_gib(new_size)
    refuse(own.problems())
    properties, origin, default = with_persistent_defaults(own, cloud.config.aws)
    volume = volumes.find(cloud.ec2, disk_cid)
    check_key(properties, properties.encryption(default), is_encrypted=volume.encrypted)
    change = volume_changes.change(volume, size, properties, default, origin)
    if left := tag_plan.differing_keys(volume.tags, properties.name, properties.tags):
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
    wanted = change.replace(obstacle=obstacle)
    if volume.attachments:
        raise _refusal(wanted, "it is attached")
    return run_with_undo(cloud.undo, lambda undo: _replace(cloud, wanted, undo))


def _change_in_place(cloud: Cloud, disk_cid: str, arguments: Json) -> str | None:
    """Modify the volume; return why EBS does not allow it now, or None."""
    if not arguments:
        logger.info("Disk '%s' needs no change", disk_cid)
        return None
    try:
        volumes.modify(cloud.ec2, disk_cid, arguments)
    except NotSupported as refusal:
        return refusal.message
    return None


def _refusal(wanted: Change, reason: str) -> NotSupported:
    """The error if a copy is not possible either: the Director then copies the data."""
    text = add_keys(reason, [wanted.key_text])
    return NotSupported(f"{wanted.obstacle}. A copy can't replace it either: {text}")


def _replace(cloud: Cloud, wanted: Change, undo: Undo) -> str:
    """Copy the volume, because EBS can't change it in place; the copy becomes the disk."""
    old = wanted.volume.disk_cid
    try:
        copy_cid = _copy(cloud, wanted, undo)
        volumes.wait_until_available(cloud.ec2, copy_cid)
    except volumes.VolumeNotCreated as error:
        raise _refusal(wanted, error.message) from error
    _link(cloud, wanted, copy_cid, undo)
    if volumes.find(cloud.ec2, old).attachments:  # the copy may lack data that is written on it
        raise _refusal(wanted, "it was attached in the meantime")
    return copy_cid


def _copy(cloud: Cloud, wanted: Change, undo: Undo) -> str:
    """Retry CopyVolumes until EBS accepts one more copy in the region."""
    old, call = wanted.volume.disk_cid, str(uuid.uuid4())
    copied = tag_plan.of_volume_copy(wanted.volume, cloud.config.director_uuid, call)
    specifications = tag_plan.specifications(
        tag_plan.with_common_tags(cloud.config.aws.tags, copied), "volume"
    )
    arguments = {**wanted.by_copy, **specifications, "ClientToken": call}
    mark = (tag_plan.CALL_TAG, call)

    def create() -> str:
        return undo.create(
            lambda: volumes.copy(cloud.ec2, old, arguments, mark),
            lambda created: volumes.discard(cloud.ec2, created),
        )

    try:
        what = f"EBS to accept a copy of volume '{old}'"
        return timing.retry_on_codes(timing.COPY_ACCEPTED, what, errors.COPY_LIMIT_REACHED, create)
    except ClientError as error:
        if is_transient(error) and not errors.COPY_LIMIT_REACHED(error):
            raise
        raise _refusal(wanted, describe_error(error) + _quota(error) + _permission(error)) from error


def _link(cloud: Cloud, wanted: Change, copy_cid: str, undo: Undo) -> None:
    """Tag the old volume with its copy's id, and with the Director's UUID, so that `cpi sweep` lists it."""
    old = wanted.volume.disk_cid
    link = {**tag_plan.of_origin(cloud.config.director_uuid), tag_plan.REPLACED_BY_TAG: copy_cid}

    def unlink() -> None:
        with suppress(*FAILURES):  # when in doubt, the link is emptied
            shown = volumes.find(cloud.ec2, old).tags
            if shown and shown.get(tag_plan.REPLACED_BY_TAG) != copy_cid:
                return
        tags.require(cloud.ec2, old, {tag_plan.REPLACED_BY_TAG: ""})

    interrupts.check()
    undo.arm(f"tag {tag_plan.REPLACED_BY_TAG} of volume '{old}'", unlink)
    try:
        tags.require(cloud.ec2, old, link)
    except ClientError as error:
        if not (errors.TAG_REFUSED(error) or errors.UNAUTHORIZED(error)):
            raise
        raise _refusal(wanted, describe_error(error) + _permission(error)) from error


def _quota(error: ClientError) -> str:
    if not errors.COPY_LIMIT_REACHED(error):
        return ""
    waited = f"{timing.COPY_ACCEPTED.seconds:.0f} seconds"
    return f", for {waited}. To copy more volumes at once, ask AWS to raise the quota"


def _permission(error: ClientError) -> str:
    remedy = policy_remedy(error)
    return remedy and f". {remedy}; until then the Director copies the data"
