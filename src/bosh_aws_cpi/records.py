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
        own = [name for name in cls.__annotations__ if name not in cls._fields]
        if shadowed := [name for name in own if hasattr(Record, name)]:
            raise cls._wrong(f"can't have a field {shadowed[0]}")
        cls._fields = (*cls._fields, *own)
        cls._required = frozenset(name for name in cls._fields if not hasattr(cls, name))

    def __init__(self, *values: object, **named: object) -> None:
        fields = self._fields
        if len(values) > len(fields):
            raise self._wrong(f"takes {len(fields)} values, not {len(values)}")
        given = dict(zip(fields, values, strict=False)) if values else {}
        if twice := given.keys() & named.keys():
            raise self._wrong(f"was given {', '.join(twice)} twice")
        given.update(named)
        if unknown := given.keys() - set(fields):
            raise self._wrong(f"has no field {', '.join(unknown)}")
        if missing := self._required - given.keys():
            raise self._wrong(f"lacks {', '.join(missing)}")
        vars(self).update(given)

    def replaced(self, **named: object) -> Self:
        """Return a copy with other values in these fields."""
        return type(self)(**{**{name: getattr(self, name) for name in self._fields}, **named})

    def __setattr__(self, name: str, value: object) -> None:
        self.__delattr__(name)

    def __delattr__(self, name: str) -> None:
        message = f"{type(self).__name__}.{name} can't be changed: use `replaced`"
        raise AttributeError(message)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _values(other) == _values(self)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    @classmethod
    def _wrong(cls, what: str) -> TypeError:
        return TypeError(f"{cls.__name__} {what}")


class Confidential(Record):
    """A record that may contain secrets, and so shows only its name."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class Entity(Record):
    """A record that equals only itself, because two parts of a document may have the same values."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _values(record: Record) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in record._fields)
