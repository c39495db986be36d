"""create_disk."""

import random
import uuid
from dataclasses import dataclass

from bosh_aws_cpi.aws import instances, networks, volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.errors import CloudError, DiskNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Json, gib
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.properties import DiskProperties


def create_disk(cloud: Cloud, size: int, cloud_properties: Json, vm_cid: str | None) -> str:
    """Make an EBS volume and wait until it is available (contract: create_disk).

    The same request made again, as its id says, finds the volume that the first one made.

    Args:
        cloud: The call's cloud.
        size: MiB.
        cloud_properties: See `DiskProperties`.
        vm_cid: The VM it is meant for, whose zone it is made in; null: a random zone.

    Returns:
        The disk's id.

    Raises:
        CloudError: A property is wrong, or EBS could not make the volume.
        VMNotFound: EC2 does not know that VM.
    """
    if size <= 0:
        message = f"disk size must be more than 0 MiB, got {size}"
        raise CloudError(message)
    properties = DiskProperties.parse(cloud_properties)
    call = call_id(cloud, "create_disk", size, cloud_properties, vm_cid)
    mark = (tag_plan.CALL_TAG, call)
    origin = {**tag_plan.of_origin(cloud.config.director_uuid), mark[0]: mark[1]}
    tags = {**tag_plan.formatted(tag_plan.checked(properties.tags)), **origin}
    arguments = {
        "Size": gib(size),
        "VolumeType": properties.type,
        **({"Iops": properties.iops} if properties.iops is not None else {}),
        **({"Throughput": properties.throughput} if properties.throughput is not None else {}),
        **properties.encryption(cloud.config.aws.encryption).arguments(),
        **tag_plan.specifications(tags, "volume"),
        "AvailabilityZone": _zone(cloud, vm_cid, call),
    }
    birth = _Birth(arguments, mark, frozenset(tags))
    return undoing(lambda undo: _made(cloud, birth, undo))


@dataclass(frozen=True)
class _Birth:
    """How a volume is made."""

    arguments: Json
    """CreateVolume's, but the client token."""
    mark: tuple[str, str]
    """The tag by which it is found."""
    tags: frozenset[str]
    """The keys of all its tags."""


def _made(cloud: Cloud, birth: _Birth, undo: Undo) -> str:
    """Make the volume; with a client token of its own when that of the request is another one's."""
    call = birth.mark[1]
    try:
        return _available(cloud, birth, call, undo)
    except volumes.NotMade as error:
        if cloud.config.request_id is None:
            raise
        logger.info("Trying another client token: %s", error.message)
        return _available(cloud, birth, str(uuid.uuid4()), undo)


def _available(cloud: Cloud, birth: _Birth, token: str, undo: Undo) -> str:
    arguments = {**birth.arguments, "ClientToken": token}
    disk_cid = undo.make(
        lambda: volumes.create(cloud.ec2, arguments, birth.mark),
        lambda made: _discard_untouched(cloud, made, birth),
    )
    volumes.wait_until_available(cloud.ec2, disk_cid, birth.tags)
    return disk_cid


def _discard_untouched(cloud: Cloud, disk_cid: str, birth: _Birth) -> None:
    """Remove the volume, unless it is seen to be used: then another request has the same client token."""
    try:
        is_used = not volumes.is_untouched(volumes.find(cloud.ec2, disk_cid), birth.tags)
    except (DiskNotFound, cloud.ec2.exceptions.ClientError) as error:  # not shown yet, or not allowed
        logger.info("Volume '%s' can't be looked at: %s", disk_cid, error)
        is_used = False
    if is_used:
        logger.warning("Volume '%s' stays: it is used", disk_cid)
        return
    volumes.discard(cloud.ec2, disk_cid)


def _zone(cloud: Cloud, vm_cid: str | None, call: str) -> str:
    """The VM's zone, or one that chance says; the same call again means the same one."""
    if vm_cid:
        return instances.find_alive(cloud.ec2, vm_cid).availability_zone
    return random.Random(call).choice(networks.ordinary_zones(cloud.ec2))  # noqa: S311 - spreads disks, guards nothing
