"""YAML files whose values know their place: path and line."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from bosh_aws_cpi.config.loading import content
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.types import Route
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.checks.yaml_loading import Places, loaded
from bosh_aws_cpi.tools.findings import Place

_LARGEST: Final = 4
"""The maximum size of a file in MiB; a large part of it may be certificates."""
VARIABLE: Final = "((not known))"
"""Stands for a value that is not known."""
_VARIABLE: Final = re.compile(r"\(\([^()]+\)\)")


def variables_in(value: object) -> list[str]:
    """The variables in a text, or in the keys of a hash, as they are written: "((subnet_id))"."""
    texts = value if isinstance(value, dict) else [value]
    return [name for each in texts if isinstance(each, str) for name in _VARIABLE.findall(each)]


class Document(Record):
    """A file's content.

    Attributes:
        name: The path that the operator gave.
        value: What the YAML says; variables are still text.
        places: Line and column of each value, from 1.
        repeated: What leads to keys that a hash has twice.
    """

    name: str
    value: Any
    places: Places = EMPTY
    repeated: Sequence[Route] = ()

    @classmethod
    def read(cls, name: str) -> "Document":
        """Read a YAML file.

        Raises:
            CloudError: It can't be read, or is not YAML.
        """
        try:
            raw = content(name, _LARGEST)
        except ValueError as error:
            raise CloudError(f"'{name}' can't be read: {error}") from error
        return cls(name, *loaded(name, raw))

    @property
    def root(self) -> "Node":
        """The whole document."""
        return Node(self, (), "", self.value)


class Node(Record):
    """A value in a document; two of them are equal if they are the same place.

    Attributes:
        document: The document.
        route: What leads to it.
        path: Its keys for people: list entries with a name have it in place of their index.
        value: The value.
    """

    document: Document
    route: Route
    path: str
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.document is other.document and self.route == other.route

    def __hash__(self) -> int:
        return hash(self.route)

    @property
    def place(self) -> Place:
        """Where it is; what is absent is at the nearest value around it."""
        for end in range(len(self.route), -1, -1):
            if (found := self.document.places.get(self.route[:end])) is not None:
                position = (*found, *self.route[-1:])
                return Place(self.path, self.document.name, found[0], position, self.route)
        return Place(self.path, self.document.name, route=self.route)

    def holds(self, place: Place) -> bool:
        """Whether a place is this value, or within it."""
        return place.file == self.document.name and place.route[: len(self.route)] == self.route

    @property
    def is_unknown(self) -> bool:
        """Whether its text, or a key of its hash, has a variable, whose value only the Director knows."""
        return bool(variables_in(self.value))

    def get(self, *keys: str | int) -> "Node | None":
        """A value within it; None when there is none, or null."""
        node: Node | None = self
        for key in keys:
            node = node.child(key) if node is not None else None
        return None if node is None or node.value is None else node

    def is_within(self, whole: "Node") -> bool:
        """Whether this value is ``whole``, or a part of it."""
        return self.document is whole.document and self.route[: len(whole.route)] == whole.route

    def at(self, *keys: str | int) -> "Node":
        """A value within it, or the nearest value around a missing one: for messages."""
        node = self
        for key in keys:
            if (child := node.child(key)) is None:
                break
            node = child
        return node

    def entries(self) -> "list[Node]":
        """The entries of a list, or the values of a hash."""
        keys: Any = ()
        if isinstance(self.value, dict):
            keys = self.value
        elif isinstance(self.value, list):
            keys = range(len(self.value))
        return [child for key in keys if (child := self.child(key)) is not None]

    def child(self, key: str | int) -> "Node | None":
        """The value of a key or an index; None when there is none. A value may be null."""
        value, shown = self.value, str(key)
        if isinstance(value, dict) and key in value:
            inner = value[key]
        elif isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
            inner = value[key]
            named = inner.get("name") if isinstance(inner, dict) else None
            shown = named if isinstance(named, str) else shown
        else:
            return None
        return Node(self.document, (*self.route, key), f"{self.path}/{shown}".lstrip("/"), inner)

    @cached_property
    def properties(self) -> "dict[str, Node]":
        """Its cloud properties; none if they are a variable, or no hash."""
        node = self.get("cloud_properties")
        nodes = node.entries() if node is not None and not self.is_open else []
        return {str(each.route[-1]): each for each in nodes}

    @cached_property
    def is_open(self) -> bool:
        """Whether its cloud properties may hold anything: they or a key are a variable, or no hash."""
        node = self.get("cloud_properties")
        return node is not None and (node.is_unknown or not isinstance(node.value, dict))

    @cached_property
    def has_variables(self) -> bool:
        """Whether it, or a value within it, contains a variable."""
        return next(self.variables(), None) is not None

    def variables(self) -> "Iterator[Node]":
        """All values within it that contain a variable."""
        if self.is_unknown:
            yield self
        for entry in self.entries():
            yield from entry.variables()

    def texts(self) -> "Iterator[Node]":
        """The known texts of a list, and of lists in it, or the text itself."""
        for each in self.entries() if isinstance(self.value, list) else ():
            yield from each.texts()
        if isinstance(self.value, str) and self.value and not self.is_unknown:
            yield self
