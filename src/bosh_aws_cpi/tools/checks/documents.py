"""YAML files, read as BOSH reads them: into the values that JSON has, each with its place, path and line."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import yaml

from bosh_aws_cpi.config.bounded_yaml import BoundedLoader, OverLimitError
from bosh_aws_cpi.config.loading import content
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.types import Location
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.findings import Place

_STRING: Final = "tag:yaml.org,2002:str"
_FORMLESS: Final = ("binary", "omap", "pairs", "set")
"""YAML's types without a form in JSON, in which the Director sends cloud properties to the CPI."""
_QUOTED: Final = re.compile(r"""(?<!\s)\s*('[^']*'|"[^"]*")""")
"""A piece of the file in a message of YAML's parser, such as an alias's name: it may be a password."""


Places = Mapping[Location, tuple[int, int]]
"""Line and column of each value, from 1."""


class _Loader(BoundedLoader):
    """Reads keys and dates as strings, and refuses what JSON lacks."""

    max_values = 100_000

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.seen: set[int] = set()
        self.repeated: set[tuple[int, int]] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Resolve merge keys, and read all other keys as strings: JSON has no others.

        It is called again for each hash into which this one is merged.
        """
        own: set[str] = set()
        for key, _ in node.value if id(node) not in self.seen else ():
            if isinstance(key, yaml.ScalarNode):
                self.repeated |= {_place(key)} if key.value in own else set()
                own.add(key.value)
        self.seen.add(id(node))
        super().flatten_mapping(node)
        node.value = [(_as_string(key), value) for key, value in node.value]

    def construct_date(self, node: yaml.ScalarNode) -> str:
        """The text of a date, as the bosh CLI reads it."""
        return self.construct_scalar(node)

    def construct_checked(self, node: yaml.ScalarNode) -> Any:  # noqa: ANN401 - of one of three types
        """A number or a boolean, of those that JSON has; Python's own error would quote it."""
        kind = node.tag.rpartition(":")[2]
        try:
            value: Any = getattr(self, f"construct_yaml_{kind}")(node)
        except (ValueError, KeyError) as error:
            raise _refusal(f"a value can't be read as !!{kind}", node) from error
        if isinstance(value, float) and not math.isfinite(value):
            raise _refusal("a number must be finite", node)
        return value

    def construct_formless(self, node: yaml.Node) -> None:
        """Refuse a value that JSON lacks."""
        kind = node.tag.rpartition(":")[2]
        raise _refusal(f"a value is marked !!{kind}, which BOSH can't send to the CPI", node)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_date)
for _kind in ("float", "int", "bool"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_checked)
for _kind in _FORMLESS:
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_formless)


class _NativeLoader(_Loader):
    """Reads with libyaml, which BOSH uses too, in a tenth of the time.

    The values are composed and counted in Python.
    """

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        events = yaml.CSafeLoader(content)
        for name in ("check_event", "peek_event", "get_event"):
            setattr(self, name, getattr(events, name))


def load_yaml(name: str, content: bytes) -> tuple[Any, Places, list[Location]]:
    """Load a YAML file: its value, the places in it, and the routes of repeated keys.

    Args:
        name: Its name, for messages.
        content: Its content.

    Raises:
        CloudError: It is not YAML, or has values that JSON lacks. The message never quotes the file, which
            may contain secrets.
    """
    try:
        loader = _NativeLoader(content) if yaml.__with_libyaml__ else _Loader(content)
        if (node := loader.get_single_node()) is None:
            return None, {}, []
        value = loader.construct_document(node)
    except OverLimitError as error:
        raise CloudError(f"{name}:{error.line} can't be read: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = (mark.line if mark is not None else content.count(b"\n", 0, getattr(error, "position", 0))) + 1
        problem = _plain(error, [*content.split(b"\n"), b""][line - 1])
        raise CloudError(f"{name}:{line} is not valid YAML: {_QUOTED.sub(_keep_sign, problem)}") from None
    places = dict(_places(node, ()))
    routes = {place: route for route, place in places.items() if place in loader.repeated}
    return value, places, [routes[place] for place in sorted(routes)]


def _plain(error: Exception, line: bytes) -> str:
    """What is wrong with a line, in words that need no knowledge of YAML's grammar."""
    if isinstance(error, yaml.reader.ReaderError):
        return "it is not in UTF-8, or has a control character: save it in UTF-8"
    if line.lstrip(b" ").startswith(b"\t"):
        return "a tab indents this line: use spaces"
    problem: str = getattr(error, "problem", None) or "it can't be parsed"
    is_second = problem == "but found another document"
    return (
        "a second document begins (---), but BOSH reads only the first: remove one" if is_second else problem
    )


def _keep_sign(quoted: re.Match[str]) -> str:
    return quoted[0] if len(quoted[1]) == len("']'") else ""


def _as_string(key: yaml.Node) -> yaml.Node:
    """The key as a string; a copy, because an alias may stand for the same node elsewhere."""
    if not isinstance(key, yaml.ScalarNode):
        raise _refusal("a key must be a string", key)
    return yaml.ScalarNode(_STRING, key.value, key.start_mark, key.end_mark)


def _refusal(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)


def _places(node: yaml.Node, route: Location) -> Iterator[tuple[Location, tuple[int, int]]]:
    """The place of each value; an entry of a hash has the place of its key."""
    yield route, _place(node)
    if isinstance(node, yaml.MappingNode):  # the constructor has resolved its merge keys
        for key, value in node.value:
            inner = (*route, key.value)
            yield from _places(value, inner)
            yield inner, _place(key)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _places(value, (*route, index))


def _place(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


_LARGEST: Final = 4
"""The maximum size of a file in MiB; a large part of it may be certificates."""
VARIABLE: Final = "((not known))"
"""Stands for a value that is not known."""
TEMPLATE: Final = "<%…%>"
"""Stands for a piece of ERB, whose code is not shown."""
_VARIABLE: Final = re.compile(r"\(\([^()]+\)\)|<%")


def variables_in(value: object) -> list[str]:
    """The variables in a text, or in the keys of a hash, as they are written: "((subnet_id))"."""
    texts = value if isinstance(value, dict) else [value]
    found = [name for each in texts if isinstance(each, str) for name in _VARIABLE.findall(each)]
    return [TEMPLATE if name == "<%" else name for name in found]


class Document(Record):
    """A file's content.

    Attributes:
        name: The path that the operator gave.
        value: What the YAML says; variables are still text.
        places: Line and column of each value, from 1.
        repeated: The locations of keys that a hash has twice.
    """

    name: str
    value: Any
    places: Places = EMPTY
    repeated: Sequence[Location] = ()

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
        return cls(name, *load_yaml(name, raw))

    @property
    def root(self) -> "Node":
        """The whole document."""
        return Node(self, (), "", self.value)


class Node(Record):
    """A value in a document; two of them are equal if they are the same place.

    Attributes:
        document: The document.
        route: The keys and indexes that lead to it.
        path: Its keys for people: list entries with a name have it in place of their index.
        value: The value.
    """

    document: Document
    route: Location
    path: str
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.document is other.document and self.route == other.route

    def __hash__(self) -> int:
        return hash(self.route)

    @property
    def place(self) -> Place:
        """Its place; an absent value has the place of the nearest value around it."""
        for end in range(len(self.route), -1, -1):
            if (found := self.document.places.get(self.route[:end])) is not None:
                position = (*found, *self.route[-1:])
                return Place(self.path, self.document.name, found[0], position, self.route)
        return Place(self.path, self.document.name, route=self.route)

    def holds(self, place: Place | None) -> bool:
        """Whether a place is this value, or within it."""
        return (
            place is not None
            and place.file == self.document.name
            and place.route[: len(self.route)] == self.route
        )

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
        keys: Any = self.value if isinstance(self.value, dict) else ()
        keys = range(len(self.value)) if isinstance(self.value, list) else keys
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
