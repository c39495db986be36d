"""Values with named fields for what most calls load: like frozen dataclasses, but without their price.

Python compiles the methods of each dataclass in every process. To load `dataclasses` or `typing`, and to
create a named tuple's class, would take more of `info` than all of its own work
(docs/decisions/start-up.md). Type checkers see frozen dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, dataclass_transform
else:

    def dataclass_transform(**_: object) -> object:
        """Change nothing: only type checkers need it."""
        return lambda base: base


@dataclass_transform(frozen_default=True)
class Record:
    """A base class; the annotations of a derived class are its fields, and its attributes their defaults."""

    def __init__(self, *values: object, **named: object) -> None:
        vars(self).update(zip(type(self).__annotations__, values, strict=False), **named)

    def replaced(self, **named: object) -> Self:
        """Return a copy with other values in these fields."""
        return type(self)(**{**vars(self), **named})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and _fields(other) == _fields(self)

    def __hash__(self) -> int:
        return hash(_fields(self))


def _fields(record: Record) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in type(record).__annotations__)
