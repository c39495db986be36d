"""Judges the volumes of an update_disk by a copy: the old volume, and a copy without its link. Pure."""

from collections.abc import Sequence
from datetime import datetime

from bosh_aws_cpi.aws.inventory import Resource
from bosh_aws_cpi.plan.replacements import REPLACED_BY_TAG, Step, source_of
from bosh_aws_cpi.records import Record


class Verdict(Record):
    """Why a volume is a stray.

    Attributes:
        why: The reason, for the report.
        is_certain: Whether the Director certainly does not need it.
        since: The creation of the copy; None when that is not known.
    """

    why: str
    is_certain: bool
    since: datetime | None


def is_of_update(volume: Resource, volumes: Sequence[Resource]) -> bool:
    """Whether a copy has replaced the volume, or the volume is a copy that the Director may not know."""
    has_copy = volume.tags.get(REPLACED_BY_TAG) or _keeper(volume, volumes)
    return bool(has_copy) or _is_unlinked(volume, volumes)


def judge(volume: Resource, volumes: Sequence[Resource]) -> Verdict:
    """Decide what kind of stray such a volume is.

    Args:
        volume: The volume, which is not attached.
        volumes: The Director's volumes.
    """
    if copy_id := volume.tags.get(REPLACED_BY_TAG):
        copy = _by_id(copy_id, volumes)
        doubt = _doubt(volume, copy)
        why = f"replaced by {copy_id}" + (f", {doubt}" if doubt else "")
        return Verdict(why, is_certain=doubt is None, since=(copy or volume).created)
    if keeper := _keeper(volume, volumes):
        why = f"replaced by {keeper.resource_id}, and perhaps used again since"
        return Verdict(why, is_certain=False, since=keeper.created)
    return Verdict(
        "a copy of update_disk that the Director may not know", is_certain=False, since=volume.created
    )


def _doubt(old: Resource, copy: Resource | None) -> str | None:
    """Why the Director may need a volume that was replaced; None if it uses the copy."""
    if copy is None:
        return "which this Director does not have"
    link = source_of(copy.tags)
    if link is None or {link[0], copy.source_id} != {old.resource_id}:
        return "which is not its copy"
    if copy.state != "in-use":
        return "which is not attached"
    return "which the Director may not know" if link[1] is Step.COPIED else None


def _keeper(old: Resource, volumes: Sequence[Resource]) -> Resource | None:
    """The copy of a volume that the CPI keeps, because the volume was used again after the copy."""
    kept = (old.resource_id, Step.KEPT)
    return next((each for each in volumes if source_of(each.tags) == kept), None)


def _is_unlinked(copy: Resource, volumes: Sequence[Resource]) -> bool:
    link = source_of(copy.tags)
    if link is None or link[1] is not Step.COPIED:
        return False
    source = _by_id(link[0], volumes)
    return source is None or source.tags.get(REPLACED_BY_TAG) != copy.resource_id


def _by_id(resource_id: str, volumes: Sequence[Resource]) -> Resource | None:
    return next((each for each in volumes if each.resource_id == resource_id), None)
