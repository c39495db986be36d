"""What the demo expects: documents with names in them for ids that EC2 gives out."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import Any


class Id(str):
    """An id of EC2's; in a template `{disk}` is the id, `{disk.bare}` the id without its hyphen."""

    __slots__ = ()

    @property
    def bare(self) -> str:
        """The id as a device path has it."""
        return self.replace("-", "", 1)


class Names(dict[str, Id]):
    """Ids by the names that the expectations use."""

    def __missing__(self, name: str) -> Id:
        """Show unknown values unchanged."""
        return Id(f"<no {name}>")


@dataclass(frozen=True)
class New:
    """Stands in an expected document for a text that is seen there first, and gives it a name."""

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
    """Put the ids into a document, wherever it has their names."""
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
    """Show where two documents differ; empty when they are the same in JSON, where 1 is not true."""
    before, after = (
        json.dumps(document, indent=2, sort_keys=True).splitlines() for document in (expected, actual)
    )
    return "\n".join(difflib.unified_diff(before, after, "expected", "found", lineterm=""))
