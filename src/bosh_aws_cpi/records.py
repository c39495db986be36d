"""Values with named fields: the one kind of value that the program makes itself.

Like frozen dataclasses, but without their price. Python compiles the methods of each dataclass in every
process. To load `dataclasses` or `typing`, and to create a named tuple's class, would take more of `info`
than all of its own work (docs/decisions/start-up.md). Type checkers see frozen dataclasses.
"""

from __future__ import annotations

from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_: object) -> object:
        """Change nothing: only type checkers need it."""
        return lambda base: base


EMPTY: Mapping[Any, Any] = MappingProxyType({})
"""The default of a field that is a mapping: nobody can add to it."""


@dataclass_transform(frozen_default=True)
class Record:
    """A base class; the annotations of a derived class are its fields, and its attributes their defaults.

    Raises:
        TypeError: A field has no value, or a value has no field.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _required: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = (name for name in cls.__annotations__ if name not in cls._fields)
        cls._fields = (*cls._fields, *own)
        cls._required = frozenset(name for name in cls._fields if not hasattr(cls, name))

    def __init__(self, *values: object, **named: object) -> None:
        fields = self._fields
        given = dict(zip(fields, values, strict=False)) if values else {}
        if len(values) > len(fields) or not given.keys().isdisjoint(named):
            raise self._wrong(f"{len(values)} values, and {', '.join(named)}")
        given.update(named)
        if not self._required <= given.keys() or not given.keys() <= set(fields):
            raise self._wrong(", ".join(given))
        vars(self).update(given)

    def replaced(self, **named: object) -> Self:
        """Return a copy with other values in these fields."""
        return type(self)(**{**{name: getattr(self, name) for name in self._fields}, **named})

    def __setattr__(self, name: str, value: object) -> None:
        message = f"{type(self).__name__}.{name} can't be changed: use `replaced`"
        raise AttributeError(message)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _values(other) == _values(self)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _wrong(self, given: str) -> TypeError:
        fields = ", ".join(self._fields)
        return TypeError(f"{type(self).__name__} has the fields {fields}, but was given {given}")


class Entity(Record):
    """A record that equals only itself: a part of a document, which another part may look like."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _values(record: Record) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in record._fields)
