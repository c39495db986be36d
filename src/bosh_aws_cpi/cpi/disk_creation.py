"""create_disk."""

import random

from bosh_aws_cpi.aws import instances, networks, volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.errors import CloudError
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
        "ClientToken": call,
    }
    ec2 = cloud.ec2

    def make(undo: Undo) -> str:
        disk_cid = undo.make(
            lambda: volumes.create(ec2, arguments, mark), lambda made: volumes.discard(ec2, made)
        )
        volumes.wait_until_available(ec2, disk_cid)
        return disk_cid

    return undoing(make)


def _zone(cloud: Cloud, vm_cid: str | None, call: str) -> str:
    """The VM's zone, or one that chance says; the same call again means the same one."""
    if vm_cid:
        return instances.find_alive(cloud.ec2, vm_cid).availability_zone
    return random.Random(call).choice(networks.ordinary_zones(cloud.ec2))  # noqa: S311 - spreads disks, guards nothing
