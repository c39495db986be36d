"""Reads YAML as BOSH does: into the values that JSON has, each with its place."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from bosh_aws_cpi.config.bounded_yaml import BoundedLoader, OverLimitError
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.types import Route

_STRING: Final = "tag:yaml.org,2002:str"
_MERGE: Final = "tag:yaml.org,2002:merge"
_FORMLESS: Final = ("binary", "omap", "pairs", "set")
"""YAML's types without a form in JSON, in which the Director sends cloud properties to the CPI."""
_QUOTED: Final = re.compile(r"""(?<!\s)\s*('[^']*'|"[^"]*")""")
"""A piece of the file in a message of YAML's parser, such as an alias's name: it may be a password."""


Places = Mapping[Route, tuple[int, int]]
"""Line and column of each value, from 1."""


class _Loader(BoundedLoader):
    """Reads keys and dates as strings, and refuses what JSON lacks."""

    most_values = 100_000

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
            if key.tag != _MERGE and isinstance(key, yaml.ScalarNode):
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
    """The loader with the events of libyaml, with which BOSH reads YAML, in a tenth of the time.

    The values are composed and counted in Python.
    """

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        events = yaml.CSafeLoader(content)
        for name in ("check_event", "peek_event", "get_event"):
            setattr(self, name, getattr(events, name))


def loaded(name: str, content: bytes) -> tuple[Any, Places, list[Route]]:
    """The value of a YAML file, the places in it, and what leads to keys that a hash has twice.

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
        problem = _plain(error, [*content.split(b"\n"), b""][line - 1])
        raise CloudError(f"{name}:{line} is not valid YAML: {_QUOTED.sub(_harmless, problem)}") from None


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


def _harmless(quoted: re.Match[str]) -> str:
    return quoted[0] if len(quoted[1]) == len("']'") else ""


def _loaded(loader: _Loader) -> tuple[Any, Places, list[Route]]:
    node = loader.get_single_node()
    if node is None:
        return None, {}, []
    value = loader.construct_document(node)
    places = dict(_places(node, ()))
    routes = {place: route for route, place in reversed(places.items()) if place in loader.repeated}
    return value, places, [routes[place] for place in sorted(routes)]


def _as_string(key: yaml.Node) -> yaml.Node:
    """The key as a string; a copy, because an alias may stand for the same node elsewhere."""
    if not isinstance(key, yaml.ScalarNode):
        raise _refusal("a key must be a string", key)
    return yaml.ScalarNode(_STRING, key.value, key.start_mark, key.end_mark)


def _refusal(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)


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
