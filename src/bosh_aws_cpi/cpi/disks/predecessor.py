"""Deletes the volume that a copy replaced, when the Director uses the copy.

update_disk leaves two volumes, because its answer may be lost. A later call shows which one the Director
knows. If it is the copy, the old volume is deleted, although EBS may still copy its data: the copy completes
without it (EBS user guide, "Copy an Amazon EBS volume"). If it is the old volume, both stay: the copy will
lack the data that is written from then on, but update_disk may just be answering with it. The next
update_disk of the old volume discards it.
"""

from bosh_aws_cpi.aws import tags, volumes
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import described
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import DiskNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Volume
from bosh_aws_cpi.plan import replacements
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.replacements import REPLACED_BY_TAG, REPLACES_TAG, Step


def follow_up(cloud: Cloud, volume: Volume) -> None:
    """Clean up after an update_disk by a copy. An error is only logged.

    Args:
        volume: The volume that was just attached or detached.
    """
    settle(cloud, volume)
    if volume.tags.get(REPLACED_BY_TAG):
        try:
            _take_back(cloud, volume)
        except Exception as error:  # noqa: BLE001 - the disk is attached or detached: the call succeeded
            logger.warning("Could not note that '%s' is used again: %s", volume.disk_cid, described(error))


def settle(cloud: Cloud, copy: Volume) -> None:
    """Delete the volume that a copy has replaced; an error is only logged.

    Args:
        copy: A volume that the Director knows, whether it is a copy or not.
    """
    source = replacements.pending_source(copy.tags)
    if source is None:
        return
    try:
        _settle(cloud, copy, source)
    except Exception as error:  # noqa: BLE001 - the disk can be used: the call succeeded
        logger.warning(
            "Could not delete volume '%s', which '%s' replaces: %s", source, copy.disk_cid, described(error)
        )


def copies(cloud: Cloud, disk_cid: str) -> list[Volume]:
    """Find the volumes that are tagged as copies of a volume, by this Director."""
    origin = tag_plan.of_origin(cloud.config.director_uuid)
    wanted = {REPLACES_TAG: replacements.links(disk_cid), **{key: [value] for key, value in origin.items()}}
    return volumes.find_tagged(cloud.ec2, wanted)


def _settle(cloud: Cloud, copy: Volume, source: str) -> None:
    """Delete the old volume only if EC2 shows the copy as one of it."""
    if replacements.source_of(copy.tags) == (source, Step.COPIED):
        _note(cloud, copy, source, Step.KNOWN)
    if copy.source_cid != source:
        logger.warning("EC2 does not show that volume '%s' is a copy of '%s'", copy.disk_cid, source)
        return
    if (step := _delete(cloud, source, copy.disk_cid)) is not None:
        _note(cloud, copy, source, step)


def _delete(cloud: Cloud, source: str, copy_cid: str) -> Step | None:
    """Delete an old volume; None when it is attached."""
    try:
        volume = volumes.find(cloud.ec2, source)
    except DiskNotFound:
        return Step.DELETED
    if volume.tags.get(REPLACED_BY_TAG) != copy_cid:
        logger.warning(
            "Volume '%s' is kept, although '%s' replaced it: somebody used it again", source, copy_cid
        )
        return Step.KEPT
    logger.info("Deleting volume '%s', which '%s' has replaced", source, copy_cid)
    return Step.DELETED if volumes.delete_idle(cloud.ec2, source) else None


def _take_back(cloud: Cloud, volume: Volume) -> None:
    """Empty the link of a volume that is used again to its copy, so that `settle` keeps the volume."""
    copy_cid = volume.tags[REPLACED_BY_TAG]
    try:
        copy = volumes.find(cloud.ec2, copy_cid)
    except DiskNotFound:
        copy = None
    if copy and replacements.is_unknown_copy(copy, volume):
        logger.warning(
            "Volume '%s' is an outdated copy: the old disk '%s' is used after update_disk. A Director before "
            "282.1.7 ignores the new id. If it does not know the copy: bin/cpi sweep --director UUID "
            "--delete --disk %s",
            copy_cid,
            volume.disk_cid,
            copy_cid,
        )
    elif copy and replacements.is_unnoted_copy(copy, volume):
        _note(cloud, copy, volume.disk_cid, Step.KNOWN)
    tags.require(cloud.ec2, volume.disk_cid, {REPLACED_BY_TAG: ""})


def _note(cloud: Cloud, copy: Volume, source: str, step: Step) -> None:
    link = {REPLACES_TAG: replacements.link(source, step)}
    tags.require(cloud.ec2, copy.disk_cid, link, timing.DISK_TAGGABLE)
