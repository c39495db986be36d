"""YAML files whose values know their place: path and line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.types import Route
from bosh_aws_cpi.tools.findings import Place

_VARIABLE: Final = re.compile(r"\(\([^)]+\)\)")


@dataclass(frozen=True)
class Document:
    """A file's content.

    Attributes:
        name: The path that the operator gave.
        value: What the YAML says; variables are still text.
        lines: The line of each value, from 1.
    """

    name: str
    value: Any
    lines: dict[Route, int]

    @classmethod
    def read(cls, name: str) -> "Document":
        """Read a YAML file.

        Raises:
            CloudError: It can't be read, or is no YAML.
        """
        try:
            loader = yaml.SafeLoader(Path(name).read_bytes())
            node = loader.get_single_node()
            value = loader.construct_document(node) if node else None
        except OSError as error:
            raise CloudError(f"'{name}' can't be read: {error.strerror}") from error
        except yaml.YAMLError as error:
            raise CloudError(f"'{name}' is not valid YAML: {' '.join(str(error).split())}") from error
        return cls(name, value, dict(_lines(node, ())) if node else {})

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

    def get(self, *keys: str | int) -> "Node | None":
        """A value within it; None when there is none, or null."""
        node: Node | None = self
        for key in keys:
            node = node.child(key) if node is not None else None
        return None if node is None or node.value is None else node

    def at(self, *keys: str | int) -> "Node":
        """The same, or the nearest value around it: for messages."""
        node = self
        for key in keys:
            child = node.child(key)
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


def _lines(node: yaml.Node, route: Route) -> Iterator[tuple[Route, int]]:
    """The line of each value; that of a hash's entry is its key's."""
    yield route, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):  # the constructor has resolved its merge keys
        for key, value in node.value:
            inner = (*route, key.value)
            yield from _lines(value, inner)
            yield inner, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _lines(value, (*route, index))
