"""The tags that link a disk's volume with the copy that replaces it."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from bosh_aws_cpi.model import Volume
from bosh_aws_cpi.plan.tags import CALL_TAG, of_origin, without_own
from bosh_aws_cpi.tag_names import ATTACHED_AT

REPLACES_TAG: Final = "bosh_replaces"
"""On a copy: the volume that it was copied from, and how far the replacement is; see `Step`."""
REPLACED_BY_TAG: Final = "bosh_replaced_by"
"""On the volume that was copied: the copy. Empty if the copy was discarded."""


class Step(Enum):
    """How far the replacement of a volume is; the values are the second word of the copy's tag."""

    COPIED = ""
    """The Director may not know the copy yet."""
    KNOWN = "known"
    """The Director has attached, detached or updated the copy, so it knows the copy."""
    DELETED = "deleted"
    """The old volume is deleted."""
    KEPT = "kept"
    """Somebody uses the old volume again, so the CPI does not delete it."""


_SETTLED: Final = frozenset({Step.DELETED, Step.KEPT})
_REPLACED: Final = frozenset({Step.KNOWN, Step.DELETED})


def link(source_cid: str, step: Step) -> str:
    """The value of a copy's tag: "vol-1", "vol-1 known"."""
    return f"{source_cid} {step.value}".rstrip()


def links(source_cid: str) -> list[str]:
    """All values of the tag for copies of a volume."""
    return [link(source_cid, step) for step in Step]


def source_of(tags: Mapping[str, str]) -> tuple[str, Step] | None:
    """The volume that a copy replaces, and how far that is; None for a volume that is no copy."""
    source, _, word = tags.get(REPLACES_TAG, "").partition(" ")
    step = next((step for step in Step if step.value == word), None)
    return (source, step) if source and step is not None else None


def pending_source(tags: Mapping[str, str]) -> str | None:
    """The volume that a copy replaces, if the CPI has yet to decide about its deletion."""
    found = source_of(tags)
    return found[0] if found is not None and found[1] not in _SETTLED else None


def is_unknown_copy(copy: Volume, source: Volume) -> bool:
    """Whether a volume is certainly a copy of another one, and nothing shows that the Director knows it."""
    is_used = copy.attachments or _was_attached_later(copy, source)
    return _is_new_copy(copy, source) and not is_used


def is_noted(copy: Volume) -> bool:
    """Whether the link of a copy says that the Director has used the copy."""
    found = source_of(copy.tags)
    return found is not None and found[1] is not Step.COPIED


def is_unnoted_copy(copy: Volume, source: Volume) -> bool:
    """Whether the Director has used a copy although the copy's link does not say so."""
    return _is_new_copy(copy, source) and _was_attached_later(copy, source)


def is_the_disk(copy: Volume, source: Volume) -> bool:
    """Whether a copy is attached in place of the volume that it replaces, and that names it."""
    is_named = source.tags.get(REPLACED_BY_TAG) == copy.disk_cid
    return bool(copy.attachments) and is_named and copy.source_cid == source.disk_cid


def is_successor(copy: Volume, source_cid: str) -> bool:
    """Whether a volume is certainly a copy of another one, and the Director uses it in place of that one."""
    link = source_of(copy.tags)
    return copy.source_cid == source_cid and link is not None and link[1] in _REPLACED


def _is_new_copy(copy: Volume, source: Volume) -> bool:
    return copy.source_cid == source.disk_cid and source_of(copy.tags) == (source.disk_cid, Step.COPIED)


def _was_attached_later(copy: Volume, source: Volume) -> bool:
    """Whether the Director has attached a copy, which at first has its source's time of attachment.

    The Director writes it in UTC, as "2026-05-01T00:00:00Z".
    """
    return copy.tags.get(ATTACHED_AT, "") > source.tags.get(ATTACHED_AT, "")


def of_volume_copy(volume: Volume, director_uuid: str | None, call: str) -> dict[str, str]:
    """The tags of a new copy: those of the volume, and those that say where the copy comes from.

    Args:
        volume: The volume that is copied. Its tags that begin with "aws:" are left out: EC2 reserves them. So
            are the CPI's own, which are about that volume, and which anybody may have written.
        director_uuid: The Director's UUID.
        call: The id of the call.
    """
    kept = without_own(volume.tags, frozenset({ATTACHED_AT}))
    found = {key: value for key, value in kept.items() if not key.lower().startswith("aws:")}
    return {**found, **of_origin(director_uuid), CALL_TAG: call, REPLACES_TAG: volume.disk_cid}
