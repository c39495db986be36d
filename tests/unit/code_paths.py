"""Which names a function of the program can get at, read from its source."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2] / "src"
PACKAGE = "bosh_aws_cpi"


def reachable(start: str) -> set[str]:
    """All functions, classes and values of modules that a function mentions, and those that they mention.

    A class counts as a whole, and what is only given to a function as an argument is mentioned by the giver.

    Args:
        start: Its full name, as `bosh_aws_cpi.cpi.vms.existing.delete_vm`.
    """
    seen: set[str] = set()
    left = [start]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left += _mentions().get(name, set())
    return seen


@cache
def _mentions() -> dict[str, set[str]]:
    """What each function and class of the program mentions, by full names."""
    return {name: found for path in (ROOT / PACKAGE).rglob("*.py") for name, found in _of_module(path)}


def _of_module(path: Path) -> Iterator[tuple[str, set[str]]]:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    tree = ast.parse(path.read_text())
    names = {**dict(_imported(tree)), **{name: f"{module}.{name}" for name in _defined(tree)}}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield f"{module}.{node.name}", set(_mentioned(node, names))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):  # some imports stand within functions
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _mentioned(tree: ast.AST, names: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            yield names[node.id]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            yield f"{names[node.value.id]}.{node.attr}"
