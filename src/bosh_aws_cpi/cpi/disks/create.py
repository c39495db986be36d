"""create_disk."""

import random
import uuid
from collections.abc import Iterator, Mapping

from bosh_aws_cpi.aws import instances, snapshots, subnets, volumes
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.encryption_keys import naming_keys, review_key
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.lookup import Ask, ask_now
from bosh_aws_cpi.cpi.undo import Undo, run_with_undo
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.plan import ebs, tag_plan
from bosh_aws_cpi.plan.disk_defaults import with_persistent_defaults
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Problem, Review, refuse
from bosh_aws_cpi.records import Record


def create_disk(cloud: Cloud, size: int, cloud_properties: Json, vm_cid: str | None) -> str:
    """Create an EBS volume and wait until it is available (contract: create_disk).

    A retry with the same request id finds the volume that the first attempt created.

    Args:
        size: MiB.
        cloud_properties: See `DiskProperties`.
        vm_cid: The disk is created in the zone of this VM; if null, in a random zone.

    Returns:
        The disk's id.

    Raises:
        CloudError: A property is wrong, or EBS could not create the volume.
        VMNotFound: EC2 does not know that VM.
    """
    review = Review()
    wanted = parse(cloud.config, size, cloud_properties, review)
    refuse(review.problems)
    call = call_id(cloud, "create_disk", size, cloud_properties, vm_cid)
    zone = _zone(cloud, vm_cid, call)
    review.problems += snapshot_problems(cloud, wanted)
    arguments = review.accept({**wanted.arguments, "AvailabilityZone": zone})
    with naming_keys(wanted.encryption.key_text):
        return run_with_undo(cloud.undo, lambda undo: _create(cloud, arguments, wanted.tags, call, undo))


class WantedDisk(Record):
    """The disk that create_disk's arguments ask for, with the configuration's defaults."""

    properties: DiskProperties
    volume: ebs.EbsVolume
    encryption: Encryption
    tags: Mapping[str, str]

    @property
    def arguments(self) -> Json:
        """CreateVolume's arguments, without zone, tags and client token."""
        throughput, snapshot = self.properties.throughput, self.properties.snapshot_id
        return {
            "Size": self.volume.size_gib,
            "VolumeType": self.volume.type,
            **({"Iops": self.volume.iops} if self.volume.iops is not None else {}),
            **({"Throughput": throughput} if throughput is not None else {}),
            "Encrypted": False,
            **self.encryption.arguments(),
            **({"SnapshotId": snapshot} if snapshot is not None else {}),
        }


def parse(config: CpiConfig, size: int, cloud_properties: Json, review: Review) -> WantedDisk:
    """Read create_disk's arguments.

    Args:
        config: The configuration.
        size: MiB.
        cloud_properties: What the caller gave.
        review: Collects the problems, and what is ignored.

    Raises:
        CloudError: The size or a property can't be read, or a default is wrong.
    """
    size_gib = ebs.requested_gib(size)
    own = DiskProperties.parse(cloud_properties)
    review.problems += own.problems()
    properties, origin, default = with_persistent_defaults(own, config.aws)
    volume = ebs.of_disk(properties, size_gib)
    review.problems += ebs.problems(volume, "disk", origin)
    tags = review.attempt("tags", lambda: tag_plan.of_disk(properties, config, review)) or {}
    encryption = properties.encryption(default)
    review_key(properties, encryption, review)
    return WantedDisk(properties, volume, encryption, tags)


def snapshot_problems(cloud: Cloud, wanted: WantedDisk, ask: Ask = ask_now) -> Iterator[Problem]:
    """Look up the snapshot of a new disk; yields the reasons why EBS can't restore a disk from it."""
    if (snapshot_id := wanted.properties.snapshot_id) is None:
        return
    if (candidates := ask("snapshot_id", lambda: [snapshots.find(cloud.ec2, snapshot_id)])) is not None:
        size_gib = wanted.volume.size_gib
        yield from ebs.snapshot_problems(wanted.properties, size_gib, wanted.encryption, candidates[0])


def _create(cloud: Cloud, arguments: Json, tags: Mapping[str, str], call: str, undo: Undo) -> str:
    """Create the volume; if another request has used the request id, again with a random client token."""
    is_shared = cloud.config.request_id is not None
    try:
        return _create_as(cloud, arguments, tags, call, undo, is_shared=is_shared)
    except volumes.VolumeNotCreated as error:
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
    """Return the VM's zone, or without a VM a random zone, which is the same for a retry."""
    if vm_cid:
        return instances.find_alive(cloud.ec2, vm_cid).availability_zone
    return random.Random(call).choice(subnets.ordinary_zones(cloud.ec2))  # noqa: S311 - spreads disks, no secret
