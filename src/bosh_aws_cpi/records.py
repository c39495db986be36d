"""Records: immutable values with named fields, which replace dataclasses in this program.

Python compiles the methods of each dataclass in every process. To load `dataclasses`, or to create a named
tuple's class, would take more of `info` than all of its own work (docs/performance.md). Type checkers see
frozen dataclasses.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from typing import Generic, TypeVar, dataclass_transform

    T = TypeVar("T")
else:  # only type checkers need these
    T = object

    class Generic:
        """A base class that takes the argument of a type, without effect."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    def dataclass_transform(**_: object) -> object:
        return lambda base: base


__all__ = ["EMPTY", "Confidential", "Entity", "Generic", "Record", "T"]

EMPTY: Mapping[Any, Any] = MappingProxyType({})
"""The default of fields that are mappings; it is immutable."""


@dataclass_transform(frozen_default=True)
class Record:
    """A base class; the annotations of a derived class define the fields, and its attributes their defaults.

    Raises:
        TypeError: A required field has no value, or there is no field for a value.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _known: ClassVar[frozenset[str]] = frozenset()
    _required: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = cls.__annotations__
        cls._fields += tuple(name for name in own if name not in cls._known)
        cls._known |= own.keys()
        cls._required = (cls._required | own.keys()) - vars(cls).keys()

    def __init__(self, *values: object, **named: object) -> None:
        given = self.__dict__
        given.update(named)
        if values:
            given.update(zip(self._fields, values, strict=False))
        if len(given) != len(values) + len(named) or not self._required <= given.keys() <= self._known:
            fields, required = ", ".join(self._fields), ", ".join(sorted(self._required))
            raise TypeError(f"{type(self).__name__} has the fields {fields}, and needs {required}")

    def replace(self, **named: object) -> Self:
        """Return a copy with other values in these fields."""
        return type(self)(**{**{name: getattr(self, name) for name in self._fields}, **named})

    def __setattr__(self, name: str, value: object) -> None:
        self.__delattr__(name)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} can't be changed: use `replace`")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _values(other) == _values(self)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__qualname__}({', '.join(shown)})"


class Confidential(Record):
    """A record that may contain secrets, so its repr shows only the name of the class."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class Entity(Record):
    """A record that equals only itself: two parts of a document may have the same values."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _values(record: Record) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in record._fields)
