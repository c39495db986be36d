"""Volumes and snapshots: what they are made of, and how they are modified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.ec2.models.elastic_block_store import EBSBackend
from moto.ec2.responses.elastic_block_store import ElasticBlockStore

from testbed.moto_patches.patching import Patches, parameter, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

PATCHES = Patches()

GP3_IOPS = 3000
GP3_THROUGHPUT = 125
GP2_IOPS = range(100, 16_001)
GP2_IOPS_PER_GIB = 3


def settle_performance(volume: Any) -> None:
    """Give a volume the figures that its type has when a request names none."""
    if volume.volume_type == "gp3":
        volume.iops = volume.iops or GP3_IOPS
        volume.throughput = volume.throughput or GP3_THROUGHPUT
        return
    volume.throughput = None
    if volume.volume_type == "gp2":
        by_size = GP2_IOPS_PER_GIB * int(volume.size)
        volume.iops = min(max(by_size, GP2_IOPS[0]), GP2_IOPS[-1])
    elif volume.volume_type not in {"io1", "io2"}:
        volume.iops = None


@PATCHES.around(EBSBackend, "create_volume")
def whole_volume(original: Callable[..., Any], backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 shows the type's own iops and throughput, and the snapshot's key.

    moto knew the iops of gp3 only, and an encrypted volume without its key.
    """
    volume = original(backend, *positional, **keywords)
    settle_performance(volume)
    snapshot = backend.snapshots.get(volume.snapshot_id)
    if snapshot is not None and snapshot.encrypted and not volume.kms_key_id:
        volume.kms_key_id = snapshot.kms_key_id
    return volume


@PATCHES.around(ElasticBlockStore, "create_volume")
def known_zone(original: Callable[..., Any], response: Any) -> Any:
    """EC2 refuses an unknown zone; moto made a volume in no zone."""
    zone = parameter(response, "AvailabilityZone")
    if response.ec2_backend.get_zone_by_name(zone) is None:
        refuse("InvalidZone.NotFound", f"The zone '{zone}' does not exist.")
    return original(response)


@PATCHES.around(EBSBackend, "create_snapshot")
def snapshot_key(original: Callable[..., Any], backend: Any, volume_id: str, *rest: Any, **more: Any) -> Any:
    """EC2 encrypts a snapshot with its volume's key; moto forgot which one that was."""
    snapshot = original(backend, volume_id, *rest, **more)
    snapshot.kms_key_id = snapshot.kms_key_id or snapshot.volume.kms_key_id
    return snapshot


@PATCHES.around(EBSBackend, "modify_volume")
def modified_volume(
    original: Callable[..., Any],
    backend: Any,
    volume_id: str,
    target_size: int | None = None,
    *targets: Any,
) -> Any:
    """EC2 refuses to shrink a volume, and records both sides of every figure.

    moto shrank it, recorded only the figures that were named, and did not give
    a volume the figures of its new type. EC2 shows the last modification only.
    """
    volume = backend.get_volume(volume_id)
    if target_size is not None and int(target_size) < int(volume.size):
        refuse("InvalidParameterValue", "New size cannot be smaller than existing size")
    figures = ("size", "volume_type", "iops", "throughput")
    before = {name: getattr(volume, name) for name in figures}
    volume = original(backend, volume_id, target_size, *targets)
    settle_performance(volume)
    modification = volume.modifications[-1]
    for name in figures:
        setattr(modification, f"original_{name}", before[name])
        setattr(modification, f"target_{name}", getattr(volume, name))
    volume.modifications = [modification]
    return volume


@PATCHES.around(EBSBackend, "describe_volumes_modifications")
def known_modifications(
    original: Callable[..., Any],
    backend: Any,
    volume_ids: list[str] | None = None,
    filters: Any = None,
) -> Any:
    """EC2 refuses the id of a volume that was never modified; moto answered nothing."""
    for volume in backend.describe_volumes(volume_ids) if volume_ids else []:
        if not volume.modifications:
            refuse(
                "InvalidVolumeModification.NotFound",
                f"Modification for volume '{volume.id}' does not exist.",
            )
    return original(backend, volume_ids=volume_ids, filters=filters)
