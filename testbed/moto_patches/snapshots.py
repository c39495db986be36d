"""Snapshots: their states, their size, and the images that use them."""

from typing import Any

from moto.ec2.models.elastic_block_store import EBSBackend, Snapshot
from moto.ec2.responses.elastic_block_store import ElasticBlockStore

from testbed.moto_patches import states
from testbed.moto_patches.patching import Original, Patches, refuse, show

PATCHES = Patches()

NO_VOLUME = "vol-ffffffff"
"""EC2's volume id of a snapshot that was copied, or created without a volume."""


def begin_snapshot(snapshot: Any, default: str) -> None:
    """Let a snapshot go through the states that a test asks for, by default a single one."""

    def enter(state: str, reason: str) -> None:
        snapshot.status = state
        snapshot.state_message = reason or None

    states.begin(snapshot, default, enter)


def check_completed(backend: Any, snapshot_id: str) -> None:
    """Refuse a snapshot that is not completed, or archived, as a source of volumes and images.

    An archived snapshot "must be restored before it can be used" (API model, Snapshot, StorageTier); the code
    is a guess.
    """
    snapshot = backend.snapshots.get(snapshot_id)
    if snapshot is not None and snapshot.storage_tier == "archive":
        refuse("IncorrectState", f"Snapshot '{snapshot_id}' is archived")
    if snapshot is not None and snapshot.status != "completed":
        refuse("IncorrectState", f"Snapshot is in invalid state - {snapshot.status}")


@PATCHES.around(EBSBackend, "create_snapshot")
def kept_snapshot(original: Original, backend: Any, volume_id: str, *rest: Any, **more: Any) -> Any:
    """EC2 encrypts a snapshot with its volume's key, and shows the size that the volume had then.

    moto forgot the key, and showed the size that the volume has now.
    """
    snapshot = original(backend, volume_id, *rest, **more)
    snapshot.kms_key_id = snapshot.kms_key_id or snapshot.volume.kms_key_id
    snapshot.testbed_size = snapshot.volume.size
    begin_snapshot(snapshot, "completed")
    return snapshot


@PATCHES.around(ElasticBlockStore, "create_snapshot")
def pending_snapshot(original: Original, response: Any) -> Any:
    """EC2 answers that a new snapshot is pending; moto answered that it is completed."""
    result = original(response)
    show(response, {"CreateSnapshot.Snapshot.State": "pending"})
    return result


@PATCHES.around(Snapshot, "volume_size")
def own_size(original: Original, snapshot: Any) -> Any:
    """A snapshot's size does not change with its volume's; see `kept_snapshot`."""
    return getattr(snapshot, "testbed_size", None) or original(snapshot)


@PATCHES.around(Snapshot, "progress")
def own_progress(original: Original, snapshot: Any) -> Any:
    """EC2 shows a snapshot's progress; moto always showed 100%."""
    return original(snapshot) if snapshot.status == "completed" else "0%"


@PATCHES.around(ElasticBlockStore, "describe_snapshots")
def snapshot_states(original: Original, response: Any) -> Any:
    """In EC2 a snapshot goes through several states; in moto it had a single one."""
    result = original(response)
    states.look(response, "SnapshotIds", result.result["Snapshots"])
    return result


@PATCHES.around(EBSBackend, "create_volume")
def volume_of_completed_snapshot(
    original: Original, backend: Any, size: Any, zone_name: str, *rest: Any, **more: Any
) -> Any:
    """EC2 creates no volume from a snapshot that is not completed, or larger; moto did.

    "You can specify a volume size that is equal to or larger than the snapshot size" (API model,
    CreateVolumeRequest, Size). The message is that of RunInstances (scylladb/scylladb issue 6999); the
    code is a guess.
    """
    snapshot_id = more.get("snapshot_id") or (rest[0] if rest else None)
    if snapshot_id:
        check_completed(backend, snapshot_id)
        snapshot = backend.snapshots.get(snapshot_id)
        if snapshot is not None and size is not None and int(size) < int(snapshot.volume_size):
            refuse(
                "InvalidParameterValue",
                f"Volume of size {size}GB is smaller than snapshot '{snapshot_id}', "
                f"expect size >= {snapshot.volume_size}GB",
            )
    return original(backend, size, zone_name, *rest, **more)


@PATCHES.around(EBSBackend, "delete_snapshot")
def unused_snapshot(original: Original, backend: Any, snapshot_id: str) -> Any:
    """EC2 refuses to delete any snapshot that an image uses; moto refused only those that it had created."""
    image_id = next(users(backend, snapshot_id), None)
    if image_id:
        refuse(
            "InvalidSnapshot.InUse",
            f"The snapshot {snapshot_id} is currently in use by {image_id}",
        )
    return original(backend, snapshot_id)


def users(backend: Any, snapshot_id: str) -> Any:
    """Yield the ids of the images that use a snapshot."""
    for image in backend.amis.values():
        if snapshot_id in snapshots_of(image):
            yield image.id


def snapshots_of(image: Any) -> list[str]:
    """List the snapshots that an image uses."""
    devices = getattr(image, "testbed_devices", None) or image.block_device_mappings
    found = [device.get("Ebs", {}).get("SnapshotId") for device in devices]
    return [snapshot_id for snapshot_id in found if snapshot_id]
