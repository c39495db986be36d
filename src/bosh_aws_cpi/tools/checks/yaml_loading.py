"""Reads YAML as BOSH does: into the values that JSON has, each with its place."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from bosh_aws_cpi.config.bounded_yaml import BoundedLoader, OverLimitError
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.types import Route
from bosh_aws_cpi.records import EMPTY, Record

_STRING: Final = "tag:yaml.org,2002:str"
_MERGE: Final = "tag:yaml.org,2002:merge"
_FORMLESS: Final = ("binary", "omap", "pairs", "set")
"""YAML's types without a form in JSON, in which the Director sends cloud properties to the CPI."""
_QUOTED: Final = re.compile(r"""\s*('[^']*'|"[^"]*")""")
"""A piece of the file in a message of YAML's parser, such as an alias's name: it may be a password."""


class Loaded(Record):
    """What a YAML file says.

    Attributes:
        value: The whole; variables are still text, and keys are always text.
        places: Line and column of each value, from 1.
        repeated: Keys that a hash has twice: what leads to them, and the line of the later one.
    """

    value: Any
    places: Mapping[Route, tuple[int, int]] = EMPTY
    repeated: tuple[tuple[Route, int], ...] = ()


class _Loader(BoundedLoader):
    """Reads keys and dates as strings, and refuses what JSON lacks."""

    most_values = 100_000

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Resolve merge keys, and read all other keys as strings: JSON has no others."""
        super().flatten_mapping(node)
        node.value = [(_as_string(key), value) for key, value in node.value]

    def construct_date(self, node: yaml.ScalarNode) -> str:
        """The text of a date, as the bosh CLI reads it."""
        return self.construct_scalar(node)

    def construct_finite(self, node: yaml.ScalarNode) -> float:
        """A number; not .inf or .nan, which JSON lacks."""
        try:
            number = self.construct_yaml_float(node)
        except ValueError as error:
            raise _refusal("a number can't be read", node) from error
        if not math.isfinite(number):
            raise _refusal("a number must be finite", node)
        return number

    def construct_whole(self, node: yaml.ScalarNode) -> int:
        """A whole number; Python's own error would quote it."""
        try:
            return self.construct_yaml_int(node)
        except ValueError as error:
            raise _refusal("a number can't be read", node) from error

    def construct_truth(self, node: yaml.ScalarNode) -> bool:
        """A boolean; Python's own error would quote what is only marked as one."""
        try:
            return self.construct_yaml_bool(node)
        except KeyError as error:
            raise _refusal("a value is marked !!bool, and is none", node) from error

    def construct_formless(self, node: yaml.Node) -> None:
        """Refuse a value that JSON lacks."""
        kind = node.tag.rpartition(":")[2]
        raise _refusal(f"a value is marked !!{kind}, which BOSH can't send to the CPI", node)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_date)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_finite)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_whole)
_Loader.add_constructor("tag:yaml.org,2002:bool", _Loader.construct_truth)
for _kind in _FORMLESS:
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_formless)


class _NativeLoader(_Loader):
    """The loader with the events of libyaml, with which BOSH reads YAML, in a tenth of the time.

    The values are composed and counted in Python.
    """

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._events = yaml.CSafeLoader(content)

    def check_event(self, *choices: Any) -> bool:  # noqa: ANN401 - as PyYAML's
        """Whether the next event is one of these, or any."""
        return bool(self._events.check_event(*choices))

    def peek_event(self) -> Any:  # noqa: ANN401 - as PyYAML's
        """The next event."""
        return self._events.peek_event()

    def get_event(self) -> Any:  # noqa: ANN401 - as PyYAML's
        """The next event, which is then the last one."""
        return self._events.get_event()


def loaded(name: str, content: bytes) -> Loaded:
    """Read a YAML file.

    Args:
        name: Its name, for messages.
        content: Its content.

    Raises:
        CloudError: It is not YAML, or has values that JSON lacks. The message never quotes the file, which
            may contain secrets.
    """
    try:
        return _loaded(_NativeLoader(content) if yaml.__with_libyaml__ else _Loader(content))
    except OverLimitError as error:
        raise CloudError(f"{name}:{error.line} can't be read: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = (mark.line if mark is not None else content.count(b"\n", 0, getattr(error, "position", 0))) + 1
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be parsed"
        raise CloudError(f"{name}:{line} is not valid YAML: {_QUOTED.sub(_harmless, problem)}") from None


def _harmless(quoted: re.Match[str]) -> str:
    return quoted[0] if len(quoted[1]) == len("']'") else ""


def _loaded(loader: _Loader) -> Loaded:
    node = loader.get_single_node()
    if node is None:
        return Loaded(None)
    repeated = tuple(_repeated(node, (), set()))
    value = loader.construct_document(node)
    return Loaded(value, dict(_places(node, ())), repeated)


def _as_string(key: yaml.Node) -> yaml.Node:
    """The key as a string; a copy, because an alias may stand for the same node elsewhere."""
    if not isinstance(key, yaml.ScalarNode):
        raise _refusal("a key must be a string", key)
    return yaml.ScalarNode(_STRING, key.value, key.start_mark, key.end_mark)


def _refusal(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)


def _repeated(node: yaml.Node, route: Route, seen: set[int]) -> Iterator[tuple[Route, int]]:
    """The keys that a hash has twice, before the constructor resolves merge keys."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in keys:
                    yield (*route, key.value), key.start_mark.line + 1
                keys.add(key.value)
            yield from _repeated(value, (*route, key.value if isinstance(key.value, str) else ""), seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, each in enumerate(node.value):
            yield from _repeated(each, (*route, index), seen)


def _places(node: yaml.Node, route: Route) -> Iterator[tuple[Route, tuple[int, int]]]:
    """The place of each value; that of a hash's entry is its key's."""
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
