"""CopyVolumes, the initialization of copies, and what is written on volumes.

The contents of a volume are a list of the instances that had it, because each may have written on it.
`/testbed/contents` returns them; AWS's API does not.
"""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.elastic_block_store import EBSBackend
from moto.ec2.responses.elastic_block_store import ElasticBlockStore

from testbed.moto_patches import states
from testbed.moto_patches.patching import Original, Patches, parameter, refuse, tag_specifications
from testbed.moto_patches.volumes import check_iops

PATCHES = Patches()

INITIALIZED = 100
MOST_IN_PROGRESS = 5
"""Copies in a Region that are not initialized (EBS user guide, "Copy an Amazon EBS volume")."""


def contents_of(thing: Any) -> list[str]:
    """Tell what is written on a volume, or what a snapshot holds."""
    found: list[str] = getattr(thing, "testbed_contents", [])
    return found


def begin_initialization(volume: Any) -> None:
    """Begin to initialize a copy: the states are percentages, and a test may choose them."""

    def enter(state: str, _: str) -> None:
        volume.testbed_progress = int(state)

    states.begin(volume, str(INITIALIZED), enter)


@PATCHES.adding(ElasticBlockStore, "copy_volumes")
def copied_volume(response: Any) -> Any:
    """EC2 copies a volume within its zone; moto lacks CopyVolumes.

    From the API model (CopyVolumesRequest): the size defaults to the source's and is not smaller, the type
    defaults to gp2, and a copy of an encrypted volume is always encrypted. According to a security
    researcher's notes on live calls, `Encrypted` false is refused for an encrypted source, with
    "UnsupportedOperationException" (EC2's codes have no such ending). The code for a smaller size is
    ModifyVolume's: a guess.
    """
    backend = response.ec2_backend
    source = backend.get_volume(parameter(response, "SourceVolumeId"))
    check_source(backend, source)
    size = int(parameter(response, "Size") or source.size)
    if size < int(source.size):
        refuse(
            "InvalidParameterValue", "The size of the copy cannot be smaller than that of the source volume"
        )
    encrypted, key = parameter(response, "Encrypted"), parameter(response, "KmsKeyId")
    if source.encrypted and encrypted is False:
        refuse("UnsupportedOperation", "A copy of an encrypted volume must be encrypted.")
    volume_type, iops = parameter(response, "VolumeType", "gp2"), parameter(response, "Iops")
    check_iops(volume_type, size, int(iops) if iops else None)
    volume = backend.create_volume(
        size=size,
        zone_name=source.zone.name,
        encrypted=bool(source.encrypted or encrypted),
        kms_key_id=key or source.kms_key_id,
        volume_type=volume_type,
        iops=iops,
        throughput=parameter(response, "Throughput"),
    )
    volume.add_tags(tag_specifications(response).get("volume", {}))
    volume.source_volume_id = source.id
    volume.testbed_contents = list(contents_of(source))
    begin_initialization(volume)
    return ActionResult({"Volumes": [volume]})


def check_source(backend: Any, source: Any) -> None:
    """Refuse a copy that EBS does not make now (EBS user guide, "Copy an Amazon EBS volume").

    The guide names the code CopyVolumesLimitExceeded, and no other. A security researcher's notes on live
    calls name ConcurrentCopyVolumeLimitExceeded for the second copy of a source. The code IncorrectState, the
    messages, and that a deleted copy no longer counts, are guesses. A copy still completes if its source is
    deleted.
    """
    if source.status not in {"available", "in-use"} or _is_in_progress(source):
        refuse("IncorrectState", f"Volume '{source.id}' is being created or initialized.")
    if any(each.modification_state not in {"optimizing", "completed"} for each in source.modifications[-1:]):
        refuse("IncorrectState", f"Volume '{source.id}' is being modified.")
    in_progress = [each for each in backend.volumes.values() if _is_in_progress(each)]
    if any(each.source_volume_id == source.id for each in in_progress):
        refuse("ConcurrentCopyVolumeLimitExceeded", f"Volume '{source.id}' is already being copied.")
    if len(in_progress) >= MOST_IN_PROGRESS:
        refuse("CopyVolumesLimitExceeded", f"{MOST_IN_PROGRESS} volume copies are in progress.")


def _is_in_progress(volume: Any) -> bool:
    return bool(getattr(volume, "testbed_progress", INITIALIZED) < INITIALIZED)


@PATCHES.around(ElasticBlockStore, "describe_volume_status")
def initialization_status(original: Original, response: Any) -> Any:
    """EC2 shows how far a copy is initialized; moto lacks DescribeVolumeStatus.

    "Returns 100 when volume initialization has completed"; "not available for empty volumes created without a
    snapshot" (API model, InitializationStatusDetails, VolumeStatusItem).
    """
    del original
    volumes = response.ec2_backend.describe_volumes(parameter(response, "VolumeIds", []))
    states.look(response, "VolumeIds", volumes)
    return ActionResult({"VolumeStatuses": [_status(volume) for volume in volumes]})


def _status(volume: Any) -> dict[str, Any]:
    shown = {"VolumeId": volume.id, "AvailabilityZone": volume.zone.name, "VolumeStatus": {"Status": "ok"}}
    if not hasattr(volume, "testbed_progress"):
        return shown
    details = {"InitializationType": "volume-copy", "Progress": volume.testbed_progress}
    return {**shown, "InitializationStatusDetails": details}


@PATCHES.around(EBSBackend, "attach_volume")
def written_on(original: Original, backend: Any, volume_id: str, instance_id: str, *more: Any) -> Any:
    """An instance writes on the volumes that it gets."""
    attachment = original(backend, volume_id, instance_id, *more)
    volume = backend.get_volume(volume_id)
    volume.testbed_contents = [*contents_of(volume), instance_id]
    return attachment


@PATCHES.around(EBSBackend, "create_snapshot")
def snapshot_of_contents(original: Original, backend: Any, volume_id: str, *rest: Any, **more: Any) -> Any:
    """A snapshot holds what is written on its volume at that time."""
    snapshot = original(backend, volume_id, *rest, **more)
    snapshot.testbed_contents = list(contents_of(backend.get_volume(volume_id)))
    return snapshot


@PATCHES.around(EBSBackend, "create_volume")
def volume_with_contents(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """A volume from a snapshot has its contents."""
    volume = original(backend, *positional, **keywords)
    snapshot = backend.snapshots.get(volume.snapshot_id)
    if snapshot is not None:
        volume.testbed_contents = list(contents_of(snapshot))
    return volume
