"""Judges the volumes of an update_disk by a copy: the old volume, and a copy without its link. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bosh_aws_cpi.aws.inventory import Resource
from bosh_aws_cpi.aws.volume_copies import INITIALIZED
from bosh_aws_cpi.plan.replacements import REPLACED_BY_TAG, Step, source_of


@dataclass(frozen=True)
class Verdict:
    """Why a volume is a stray.

    Attributes:
        why: The reason, for the report.
        is_certain: Whether the Director certainly does not need it.
        since: The creation of the copy; None when that is not known.
    """

    why: str
    is_certain: bool
    since: datetime | None


def copies(resources: Iterable[Resource]) -> list[str]:
    """The ids of the listed volumes that replace another listed volume."""
    listed = list(resources)
    ids = {each.resource_id for each in listed if each.kind == "volume"}
    return sorted(ids & {each.tags.get(REPLACED_BY_TAG, "") for each in listed})


def is_of_update(volume: Resource, volumes: Sequence[Resource]) -> bool:
    """Whether a copy has replaced the volume, or the volume is a copy that the Director may not know."""
    return bool(volume.tags.get(REPLACED_BY_TAG)) or _is_unlinked(volume, volumes)


def judge(volume: Resource, volumes: Sequence[Resource], progress: Mapping[str, int]) -> Verdict | None:
    """Decide whether such a volume is a stray.

    Args:
        volume: The volume, which is not attached.
        volumes: The Director's volumes.
        progress: How far copies are initialized, in percent, by id.

    Returns:
        The verdict; None while EBS needs the volume, because its copy is not initialized.
    """
    copy_id = volume.tags.get(REPLACED_BY_TAG)
    if not copy_id:
        return Verdict("a copy that update_disk did not finish", is_certain=False, since=volume.created)
    copy = _by_id(copy_id, volumes)
    if copy is not None and progress.get(copy_id, INITIALIZED) < INITIALIZED:
        return None
    doubt = _doubt(volume, copy) or (None if copy_id in progress else "whose progress is not known")
    why = ", ".join(filter(None, [f"replaced by {copy_id}", doubt]))
    return Verdict(why, is_certain=doubt is None, since=(copy or volume).created)


def _doubt(old: Resource, copy: Resource | None) -> str | None:
    """Why the Director may need a volume that was replaced; None if it uses the copy."""
    if copy is None:
        return "which this Director does not have"
    link = source_of(copy.tags)
    if link is None or {link[0], copy.source_id} != {old.resource_id}:
        return "which is not its copy"
    return None if copy.state == "in-use" else "which is not attached"


def _is_unlinked(copy: Resource, volumes: Sequence[Resource]) -> bool:
    link = source_of(copy.tags)
    if link is None or link[1] is not Step.COPIED:
        return False
    source = _by_id(link[0], volumes)
    return source is None or source.tags.get(REPLACED_BY_TAG) != copy.resource_id


def _by_id(resource_id: str, volumes: Sequence[Resource]) -> Resource | None:
    return next((each for each in volumes if each.resource_id == resource_id), None)
