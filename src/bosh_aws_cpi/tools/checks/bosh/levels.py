"""Where a key belongs that BOSH or the CPI ignores where it stands. Pure.

The levels are those of `models`, and of the cloud properties in them.
"""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.config.cpi_config import KEYS
from bosh_aws_cpi.properties.types import Properties, Route
from bosh_aws_cpi.tools.checks.bosh.models import AnyFile, keys_in
from bosh_aws_cpi.tools.checks.documents import Node

Level = type[Properties]
"""A hash."""
_FEW: Final = (1, 2)
"""With more places for a key, none is proposed."""
_OWNERS: Final = {"vm_types": "VM types", "networks": "networks or their subnets", "disk_types": "disk types"}
"""The sections whose cloud properties differ, in words."""


def elsewhere(unknown: Node) -> str:
    """The remedy for an ignored key that is known one level higher or lower; empty if it is not.

    Args:
        unknown: The key's value.
    """
    key, levels = str(unknown.route[-1]), [*_levels(unknown.route[:-1])]
    if not levels:
        return ""
    for end, level in reversed(levels[:-1]):
        if unknown.route[end] == "instance_groups":
            break  # no manifest has the other keys of a cloud config
        if key in keys_in(level) and _at(unknown, unknown.route[:end]).child(key) is None:
            return f"Move it up, beside {unknown.route[end]}"
    inner = [each for each in _below(levels[-1][1], key) if _has(unknown, each)]
    return f"Move it into {' or '.join(inner)}" if len(inner) in _FEW else ""


def belonging(unknown: Node) -> str:
    """The remedy for an ignored cloud property that only one other section has, or the configuration.

    It is empty for another one. The keys that the Ruby release has, too, are no remedy: a setting for all VMs
    is not what a VM's `region` or `default_security_groups` means.

    Args:
        unknown: The property's value.
    """
    key, root = str(unknown.route[-1]), unknown.document.root
    if any(key in keys_in(level) for _, level in _levels(unknown.route[:-1])):
        return ""
    owners = [
        words
        for name, words in _OWNERS.items()
        if root.child(name) is not None and key in _cloud_properties_of(name)
    ]
    if len(owners) == 1:
        return f"Move it into the cloud_properties of {owners[0]}"
    is_key = any(row.is_new and row.path == f"aws.{key}" for row in KEYS)
    return f"Set aws.{key} in the CPI's configuration" if is_key else ""


def _cloud_properties_of(section: str) -> dict[str, Level | None]:
    level = keys_in(AnyFile)[section]
    own = keys_in(level)["cloud_properties"] if level else None
    return keys_in(own) if own else {}


def misplaced(node: Node, key: str) -> str:
    """The remedy for an absent key that stands one level higher or lower; empty if it does not.

    Args:
        node: The hash that lacks it.
        key: The key.
    """
    levels = [*_levels(node.route)]
    for end, level in reversed(levels[:-1]):
        if key not in keys_in(level) and _at(node, node.route[:end]).child(key) is not None:
            return f"Move it down: it stands beside {node.route[end]}"
    known = keys_in(levels[-1][1]) if levels else {}
    for child in node.entries():
        inner = known.get(str(child.route[-1]))
        if inner is not None and key not in keys_in(inner) and child.child(key) is not None:
            return f"Move it up: it stands in {child.route[-1]}"
    return ""


def _has(unknown: Node, inner: str) -> bool:
    """Whether the file is of the kind that has the place: only manifests have instance groups."""
    return not inner.endswith("instance_groups") or unknown.document.root.child("instance_groups") is not None


def _levels(route: Route) -> Iterator[tuple[int, Level]]:
    """The hashes on the way, and the lengths of the routes that lead to them; none if one is not known."""
    found: list[tuple[int, Level]] = [(0, AnyFile)]
    for index, key in enumerate(route, 1):
        if isinstance(key, str):
            inner = keys_in(found[-1][1]).get(key)
            if inner is None:
                return
            found.append((index, inner))
        else:
            found[-1] = (index, found[-1][1])
    yield from found


def _at(node: Node, route: Route) -> Node:
    found = node.document.root
    for key in route:
        found = found.child(key) or found
    return found


def _below(level: Level, key: str) -> list[str]:
    """The nearest hashes in a hash that have a key."""
    inner = {name: each for name, each in keys_in(level).items() if each is not None}
    found = [name for name, each in inner.items() if key in keys_in(each)]
    return found or [f"{rest} of {name}" for name, each in inner.items() for rest in _below(each, key)]
