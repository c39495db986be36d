"""YAML files whose values know their place: path and line."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.types import Route
from bosh_aws_cpi.tools.findings import Place

_VARIABLE: Final = re.compile(r"\(\([^()]+\)\)")
_MOST_VALUES: Final = 200_000
"""A file whose aliases stand for more values than this is refused: no cloud config is so large."""


class _Loader(yaml.SafeLoader):
    """Reads a date as a string, as the bosh CLI does, and no infinite numbers, which JSON lacks."""

    def construct_date(self, node: yaml.ScalarNode) -> str:
        """The text of a date."""
        return self.construct_scalar(node)

    def construct_finite(self, node: yaml.ScalarNode) -> float:
        """A number; the CPI's JSON has no others."""
        number = self.construct_yaml_float(node)
        if not math.isfinite(number):
            raise yaml.constructor.ConstructorError(
                problem="a number must be finite", problem_mark=node.start_mark
            )
        return number


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_date)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_finite)


@dataclass(frozen=True)
class Document:
    """A file's content.

    Attributes:
        name: The path that the operator gave.
        value: What the YAML says; variables are still text.
        lines: The line of each value, from 1.
        repeated: Keys that a hash has twice: what leads to them, and the line of the later one.
    """

    name: str
    value: Any
    lines: dict[Route, int] = field(default_factory=dict)
    repeated: tuple[tuple[Route, int], ...] = ()

    @classmethod
    def read(cls, name: str) -> "Document":
        """Read a YAML file.

        Raises:
            CloudError: It can't be read, or is no YAML.
        """
        try:
            content = Path(name).read_bytes()
        except OSError as error:
            raise CloudError(f"'{name}' can't be read: {error.strerror}") from error
        try:
            return cls._parsed(name, content)
        except (yaml.YAMLError, ValueError) as error:  # a number such as 0b is a ValueError
            raise CloudError(f"'{name}' is not valid YAML: {' '.join(str(error).split())}") from error
        except RecursionError as error:
            raise CloudError(f"'{name}' can't be read: its values are nested too deeply") from error

    @classmethod
    def _parsed(cls, name: str, content: bytes) -> "Document":
        loader = _Loader(content)
        node = loader.get_single_node()
        if node is None:
            return cls(name, None)
        if _size(node, {}) > _MOST_VALUES:
            raise CloudError(f"'{name}' can't be read: its aliases (*NAME) stand for too many values")
        repeated = tuple(_repeated(node, (), set()))
        value = loader.construct_document(node)
        return cls(name, value, dict(_lines(node, ())), repeated)

    @property
    def root(self) -> "Node":
        """The whole document."""
        return Node(self, (), "", self.value)


@dataclass(frozen=True, eq=False)
class Node:
    """A value in a document.

    Attributes:
        document: The document.
        route: What leads to it.
        path: The same for people: list entries with a name have it in place of their index.
        value: The value.
    """

    document: Document
    route: Route
    path: str
    value: Any

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.path, self.document.name, self._line)

    @property
    def _line(self) -> int | None:
        """Its line, or that of the nearest value around it."""
        for end in range(len(self.route), -1, -1):
            if (line := self.document.lines.get(self.route[:end])) is not None:
                return line
        return None

    @property
    def is_unknown(self) -> bool:
        """Whether it contains a variable, whose value only the Director knows."""
        return isinstance(self.value, str) and _VARIABLE.search(self.value) is not None

    @property
    def variable_names(self) -> list[str]:
        """The variables in it, as they are written; empty when it is no text."""
        return _VARIABLE.findall(self.value) if isinstance(self.value, str) else []

    def get(self, *keys: str | int) -> "Node | None":
        """A value within it; None when there is none, or null."""
        node: Node | None = self
        for key in keys:
            node = node.child(key) if node is not None else None
        return None if node is None or node.value is None else node

    def at(self, *keys: str | int) -> "Node":
        """The same, or the nearest value around it: for messages.

        An index counts only the entries that `known` keeps, since it comes from a check of those.
        """
        node = self
        for key in keys:
            kept = [each for each in node.entries() if not each.is_unknown]
            child = node.child(key) if isinstance(key, str) else next(iter(kept[key:]), None)
            if child is None:
                break
            node = child
        return node

    def entries(self) -> "list[Node]":
        """The entries of a list, or the values of a hash."""
        keys: Any = ()
        if isinstance(self.value, dict):
            keys = [key for key in self.value if isinstance(key, str)]
        elif isinstance(self.value, list):
            keys = range(len(self.value))
        return [child for key in keys if (child := self.child(key)) is not None]

    def child(self, key: str | int) -> "Node | None":
        """The value of a key or an index; None when there is none. A value may be null."""
        value, shown = self.value, str(key)
        if isinstance(value, dict) and key in value:
            inner = value[key]
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            inner = value[key]
            named = inner.get("name") if isinstance(inner, dict) else None
            shown = named if isinstance(named, str) else shown
        else:
            return None
        return Node(self.document, (*self.route, key), f"{self.path}/{shown}".lstrip("/"), inner)

    @property
    def has_variables(self) -> bool:
        """Whether it, or a value within it, contains a variable."""
        return next(self.variables(), None) is not None

    def variables(self) -> "Iterator[Node]":
        """All values within it that contain a variable."""
        if self.is_unknown:
            yield self
        for entry in self.entries():
            yield from entry.variables()

    def known(self) -> Any:  # noqa: ANN401 - whatever the YAML holds
        """The value without what contains variables."""
        if isinstance(self.value, dict | list):
            kept = {entry.route[-1]: entry.known() for entry in self.entries() if not entry.is_unknown}
            return kept if isinstance(self.value, dict) else list(kept.values())
        return None if self.is_unknown else self.value


def _size(node: yaml.Node, known: dict[int, int | None]) -> int:
    """How many values a node stands for, with aliases in full."""
    if id(node) not in known:
        known[id(node)] = None
        inner: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            inner = [each for pair in node.value for each in pair]
        elif isinstance(node, yaml.SequenceNode):
            inner = node.value
        known[id(node)] = 1 + sum(_size(each, known) for each in inner)
    size = known[id(node)]
    return _MOST_VALUES + 1 if size is None else size  # an alias within its own anchor never ends


def _repeated(node: yaml.Node, route: Route, seen: set[int]) -> Iterator[tuple[Route, int]]:
    """The keys that a hash has twice, before the constructor resolves merge keys."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in keys:
                    yield (*route, key.value), key.start_mark.line + 1
                keys.add(key.value)
            yield from _repeated(value, (*route, key.value if isinstance(key.value, str) else ""), seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, each in enumerate(node.value):
            yield from _repeated(each, (*route, index), seen)


def _lines(node: yaml.Node, route: Route) -> Iterator[tuple[Route, int]]:
    """The line of each value; that of a hash's entry is its key's."""
    yield route, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):  # the constructor has resolved its merge keys
        for key, value in node.value:
            inner = (*route, key.value if isinstance(key.value, str) else "")
            yield from _lines(value, inner)
            yield inner, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _lines(value, (*route, index))
