"""create_disk."""

import random
import uuid
from collections.abc import Mapping

from bosh_aws_cpi.aws import instances, snapshots, subnets, volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.encryption_keys import check_key, naming_keys
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import ebs
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.disk_defaults import persistent
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import refuse


def create_disk(cloud: Cloud, size: int, cloud_properties: Json, vm_cid: str | None) -> str:
    """Create an EBS volume and wait until it is available (contract: create_disk).

    A retry with the same request id finds the volume that the first attempt created.

    Args:
        size: MiB.
        cloud_properties: See `DiskProperties`.
        vm_cid: The VM that the disk is meant for: it is created in that VM's zone; in a random zone if null.

    Returns:
        The disk's id.

    Raises:
        CloudError: A property is wrong, or EBS could not create the volume.
        VMNotFound: EC2 does not know that VM.
    """
    size_gib = ebs.requested_gib(size)
    own = DiskProperties.parse(cloud_properties)
    refuse(own.problems())
    properties, origin, default = persistent(own, cloud.config.aws)
    volume = ebs.of_disk(properties, size_gib)
    refuse(ebs.problems(volume, "disk", origin))
    tags = tag_plan.of_disk(
        properties.name, properties.tags, cloud.config.director_uuid, cloud.config.aws.tags
    )
    encryption = properties.encryption(default)
    check_key(properties, encryption)
    call = call_id(cloud, "create_disk", size, cloud_properties, vm_cid)
    arguments = {
        "Size": size_gib,
        "VolumeType": properties.type,
        **({"Iops": volume.iops} if volume.iops is not None else {}),
        **({"Throughput": properties.throughput} if properties.throughput is not None else {}),
        "Encrypted": False,
        **encryption.arguments(),
        "AvailabilityZone": _zone(cloud, vm_cid, call),
    }
    if properties.snapshot_id is not None:
        snapshot = snapshots.find(cloud.ec2, properties.snapshot_id)
        refuse(ebs.snapshot_problems(properties, size_gib, encryption, snapshot))
        arguments["SnapshotId"] = properties.snapshot_id
    with naming_keys(encryption.key_text):
        return undoing(cloud.undo, lambda undo: _create(cloud, arguments, tags, call, undo))


def _create(cloud: Cloud, arguments: Json, tags: Mapping[str, str], call: str, undo: Undo) -> str:
    """Create the volume; with a random client token if another request has used the same request id."""
    is_shared = cloud.config.request_id is not None
    try:
        return _create_as(cloud, arguments, tags, call, undo, is_shared=is_shared)
    except volumes.NotCreated as error:
        if not is_shared:
            raise
        undo.run(error.message)
        return _create_as(cloud, arguments, tags, str(uuid.uuid4()), undo)


def _create_as(
    cloud: Cloud, arguments: Json, tags: Mapping[str, str], call: str, undo: Undo, *, is_shared: bool = False
) -> str:
    mark = (tag_plan.CALL_TAG, call)
    marked = tag_plan.specifications({**tags, tag_plan.CALL_TAG: call}, "volume")
    arguments = {**arguments, **marked, "ClientToken": call}
    discard = volumes.discard_shared if is_shared else volumes.discard
    seen: set[str] = set()
    disk_cid = undo.create(
        lambda: volumes.create(cloud.ec2, arguments, mark),
        lambda created: discard(cloud.ec2, created, was_seen=created in seen),
    )
    volumes.wait_until_available(cloud.ec2, disk_cid, seen, is_shared=is_shared)
    return disk_cid


def _zone(cloud: Cloud, vm_cid: str | None, call: str) -> str:
    """The VM's zone, or a random one, which is the same for a retry."""
    if vm_cid:
        return instances.find_alive(cloud.ec2, vm_cid).availability_zone
    return random.Random(call).choice(subnets.ordinary_zones(cloud.ec2))  # noqa: S311 - spreads disks, no secret
