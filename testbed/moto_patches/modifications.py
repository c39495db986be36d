"""ModifyVolume: the new figures of a volume, and the states on the way to them."""

from types import SimpleNamespace
from typing import Any

from moto.core.utils import utcnow
from moto.ec2.models.elastic_block_store import EBSBackend, VolumeModification
from moto.ec2.responses.elastic_block_store import ElasticBlockStore

from testbed.moto_patches import states
from testbed.moto_patches.patching import Original, Patches, refuse, show
from testbed.moto_patches.volumes import check_iops, check_size, settle_performance

PATCHES = Patches()

FIGURES = ("size", "volume_type", "iops", "throughput")
PROVISIONED = {"gp3", "io1", "io2"}
PROGRESS = {"optimizing": 50, "completed": 100}
DEFAULT_IOPS = 3000
"""For a volume whose new type has provisioned iops, when the request names none."""


def check_idle(volume: Any) -> None:
    """Refuse to change a volume that is being changed."""
    for modification in volume.modifications:
        if modification.modification_state in {"modifying", "optimizing"}:
            refuse(
                "IncorrectModificationState",
                f"Volume '{volume.id}' can't be modified in modification state "
                f"{modification.modification_state.upper()}.",
            )


def check_supported(target: SimpleNamespace, iops: int | None, throughput: int | None) -> None:
    """Refuse figures that the new type does not support."""
    for name, given, types in (("iops", iops, PROVISIONED), ("throughput", throughput, {"gp3"})):
        if given and target.volume_type not in types:
            refuse(
                "InvalidParameterCombination",
                f"The parameter {name} is not supported for {target.volume_type} volumes.",
            )


def target_of(
    volume: Any, size: int | None, volume_type: str | None, iops: int | None, throughput: int | None
) -> SimpleNamespace:
    """Return the figures after a modification; a new type has its own, otherwise the old ones stay."""
    target = SimpleNamespace(
        size=size or volume.size,
        volume_type=volume_type or volume.volume_type,
        iops=iops,
        throughput=throughput,
    )
    check_supported(target, iops, throughput)
    if target.volume_type == volume.volume_type:
        target.iops = iops or volume.iops
        target.throughput = throughput or volume.throughput
    elif target.volume_type in PROVISIONED:
        target.iops = iops or DEFAULT_IOPS
    settle_performance(target)
    check_size(target.volume_type, int(target.size))
    check_iops(target.volume_type, int(target.size), int(target.iops) if target.iops else None)
    return target


def begin_modification(modification: Any, volume: Any, target: SimpleNamespace) -> None:
    """Let a modification go through its states; the volume changes when the state is "optimizing"."""
    modification.end_time = None

    def enter(state: str, reason: str) -> None:
        modification.testbed_state = state
        modification.status_message = reason or None
        if state in {"completed", "failed"}:
            modification.end_time = utcnow()
        if state in {"optimizing", "completed"}:
            for name in FIGURES:
                setattr(volume, name, getattr(target, name))

    states.begin(modification, "completed", enter)


@PATCHES.around(EBSBackend, "modify_volume")
def modified_volume(
    original: Original,
    backend: Any,
    volume_id: str,
    size: int | None = None,
    volume_type: str | None = None,
    iops: int | None = None,
    throughput: int | None = None,
    *more: Any,
) -> Any:
    """EC2 changes a volume gradually, to the figures of its new type, and never to a smaller size.

    It refuses a volume that is being changed, and records the old and the new value of every
    figure of the last modification. moto changed everything at once and at any time, shrank
    volumes, recorded only the figures that were named, and kept those of the old type.
    """
    volume = backend.get_volume(volume_id)
    if size is not None and int(size) < int(volume.size):
        refuse("InvalidParameterValue", "New size cannot be smaller than existing size")
    check_idle(volume)
    target = target_of(volume, size, volume_type, iops, throughput)
    before = {name: getattr(volume, name) for name in FIGURES}
    original(backend, volume_id, size, volume_type, iops, throughput, *more)
    modification = volume.modifications[-1]
    for name in FIGURES:
        setattr(volume, name, before[name])
        setattr(modification, f"original_{name}", before[name])
        setattr(modification, f"target_{name}", getattr(target, name))
    volume.modifications = [modification]
    begin_modification(modification, volume, target)
    return volume


@PATCHES.around(VolumeModification, "modification_state")
def modification_state(original: Original, modification: Any) -> Any:
    """In EC2 a modification goes through several states; in moto it was always completed."""
    return getattr(modification, "testbed_state", None) or original(modification)


@PATCHES.around(VolumeModification, "progress")
def modification_progress(original: Original, modification: Any) -> Any:
    """The same for its progress."""
    del original
    return PROGRESS.get(modification.modification_state, 0)


@PATCHES.around(ElasticBlockStore, "modify_volume")
def begun_modification(original: Original, response: Any) -> Any:
    """EC2 answers that the volume is being modified; moto answered that the modification is completed."""
    result = original(response)
    path = "ModifyVolumeResult.VolumeModification"
    show(response, {f"{path}.ModificationState": "modifying", f"{path}.Progress": 0})
    return result


@PATCHES.around(ElasticBlockStore, "describe_volumes_modifications")
def modification_states(original: Original, response: Any) -> Any:
    """The same for the call that shows them."""
    result = original(response)
    states.look(response, "VolumeIds", result.result["VolumesModifications"])
    return result


@PATCHES.around(EBSBackend, "describe_volumes_modifications")
def known_modifications(
    original: Original,
    backend: Any,
    volume_ids: list[str] | None = None,
    filters: Any = None,
) -> Any:
    """EC2 refuses the id of a volume that was never modified; moto answered an empty list."""
    for volume in backend.describe_volumes(volume_ids) if volume_ids else []:
        if not volume.modifications:
            refuse(
                "InvalidVolumeModification.NotFound",
                f"Modification for volume '{volume.id}' does not exist.",
            )
    return original(backend, volume_ids=volume_ids, filters=filters)
