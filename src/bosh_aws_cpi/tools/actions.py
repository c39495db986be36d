"""What `cpi sweep` does with each stray, by the operator's options. Pure."""

from datetime import datetime
from enum import Enum
from typing import Final

from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.strays import Removal, Stray


class Action(Enum):
    """What a run does with a stray, in the words of the report."""

    LIST = "stray"
    UNKNOWN = "age unknown"
    YOUNG = "too young"
    LOOK = "left to you"
    ASK = "left to you: name it with --disk"
    ASK_INSTANCE = "left to you: name it with --instance"
    MARK = "marked"
    REMOVE = "removed"


class Wish(Record):
    """The operator's options."""

    older_than: float = 24.0
    """Hours."""
    delete: bool = False
    disks: frozenset[str] = frozenset()
    """The ids of the disks that may be deleted too."""
    instances: frozenset[str] = frozenset()
    """The ids of the instances that may be deleted too, whatever their age."""


_LEFT_TO_PEOPLE: Final = {Removal.HAND: Action.LOOK, Removal.INSTANCE: Action.ASK_INSTANCE}


def action(stray: Stray, wish: Wish, now: datetime) -> Action | None:
    """Decide what to do with a stray; None when the report does not list it yet."""
    age = stray.age(now)
    if age is None and stray.is_marked:
        return Action.MARK if wish.delete else Action.UNKNOWN
    is_due = age is not None and age >= wish.older_than
    if stray.removal is Removal.INSTANCE and stray.resource.resource_id in wish.instances:
        return Action.REMOVE
    if stray.removal in _LEFT_TO_PEOPLE:  # a young one may belong to a call that is still running
        return _LEFT_TO_PEOPLE[stray.removal] if is_due else None
    if not is_due:
        return Action.UNKNOWN if age is None else Action.YOUNG
    if stray.removal is Removal.DISK and stray.resource.resource_id not in wish.disks:
        return Action.ASK
    return Action.REMOVE if wish.delete else Action.LIST
