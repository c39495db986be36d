"""The documents that the demo expects, with names in the place of EC2's ids."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import Any


class Id(str):
    """An id of EC2's; a template writes it as `{disk}`, or without its hyphen as `{disk.bare}`."""

    __slots__ = ()

    @property
    def bare(self) -> str:
        """The id as it is written in a device path."""
        return self.replace("-", "", 1)


class Names(dict[str, Id]):
    """The ids, by their names in the expected documents."""

    def __missing__(self, name: str) -> Id:
        """Show unknown values unchanged."""
        return Id(f"<no {name}>")


@dataclass(frozen=True)
class New:
    """A placeholder in an expected document for a new text, which gets a name."""

    name: str
    pattern: str


def learn(expected: Any, actual: Any, names: Names) -> None:
    """Name new values that match the pattern."""
    if isinstance(expected, New):
        if isinstance(actual, str) and re.fullmatch(expected.pattern, actual):
            names[expected.name] = Id(actual)
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            learn(value, actual.get(resolve(key, names)), names)
    elif isinstance(expected, list) and isinstance(actual, list):
        for value, found in zip(expected, actual, strict=False):
            learn(value, found, names)


def resolve(expected: Any, names: Names) -> Any:
    """Replace the names in a document by their ids."""
    if isinstance(expected, New):
        return names[expected.name]
    if isinstance(expected, str):
        return expected.format_map(names)
    if isinstance(expected, dict):
        return {resolve(key, names): resolve(value, names) for key, value in expected.items()}
    if isinstance(expected, list):
        return [resolve(value, names) for value in expected]
    return expected


def difference(expected: Any, actual: Any) -> str:
    """Describe the differences of two documents; empty if their JSON is the same (1 is not true)."""
    before, after = (
        json.dumps(document, indent=2, sort_keys=True).splitlines() for document in (expected, actual)
    )
    return "\n".join(difflib.unified_diff(before, after, "expected", "found", lineterm=""))
