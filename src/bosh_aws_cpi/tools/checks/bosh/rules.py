"""The form of what BOSH and the CPI read: types, absent keys and unknown ones; and how BOSH reads a name.

A number is as good as a string for BOSH (src/bosh-director/lib/bosh/director/validation_helper.rb).
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from pydantic import ValidationError

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import nearest
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import MISSING, UNKNOWN, Properties, Route, mistakes
from bosh_aws_cpi.properties.vm import MetadataOptions, VmProperties
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.models import BoshHash, BoshNetwork, keys_in, of_network
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

Model = TypeVar("Model", bound=Properties)
_FEW: Final = (1, 2)
"""With more places for a key, none is proposed."""
_OWNERS: Final = {
    "VM types": VmProperties,
    "networks or their subnets": NetworkCloudProperties,
    "disk types": DiskProperties,
}
DIRECTOR: Final = "Director"
BOSH_CLI: Final = "bosh create-env"
CPI: Final = "CPI"
EXTRA: Final = ("x-", "_", ".", "anchors", "meta")
"""Beginnings of top-level keys that people use for YAML anchors; the Director ignores them."""
_ALMOST: Final = 0.85
"""How alike "network" and "networks" are at least."""
_SIMILAR: Final = 0.79
"""How alike "az" and "azs" are at least; newer versions of BOSH may have keys that are less alike."""
QUOTED: Final = "Remove the quotation marks"
"""The remedy for a quoted number or boolean."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
"""Python refuses to read thousands of digits."""
_SIZE: Final = re.compile(rf"({_NUMBER.pattern}) *([MGT])i?B?", re.IGNORECASE)
_MIB_OF: Final = {"M": 1, "G": 1024, "T": 1024 * 1024}
DISK_SIZES: Final = ("size", "disk_size", "persistent_disk", "ephemeral_disk_size")
"""Keys of disks' sizes in MiB."""
_IN_MIB: Final = (*DISK_SIZES, "ram")


class Level(Record):
    """A hash.

    Attributes:
        node: Where it is.
        model: The model that reads it.
        above: The hash around it.
    """

    node: Node
    model: type[Properties]
    above: "Level | None" = None

    def within(self, others: Sequence[Node] = ()) -> "Iterator[Level]":
        """It, and the hashes in it.

        Args:
            others: The entries whose cloud properties are another CPI's, and so are left out.
        """
        yield self
        for entry in self.node.entries():
            key = str(entry.route[-1])
            inner = keys_in(self.model).get(key)
            if inner is None or (key == "cloud_properties" and any(map(self.node.is_within, others))):
                continue
            for each in entry.entries() if isinstance(entry.value, list) else [entry]:
                if isinstance(each.value, dict):
                    model = of_network(each.value) if inner is BoshNetwork else inner
                    yield from Level(each, model, self).within(others)

    def elsewhere(self, key: str) -> str:
        """The remedy for a key that is ignored here, and known at another level; empty if it is not."""
        for outer, beside in self._around():
            if key in keys_in(outer.model) and outer.node.child(key) is None:
                return f"Move it up, beside {beside}"
        inner = _below(self.model, key)
        if len(inner) in _FEW:
            return f"Move it into {' or '.join(inner)}"
        owners = [words for words, model in _OWNERS.items() if key in keys_in(model)]
        if self.model in _OWNERS.values() and len(owners) == 1:
            return f"Move it into the cloud_properties of {owners[0]}"
        return ""

    def misplaced(self, key: str) -> str:
        """The remedy for an absent key that stands one level higher or lower; empty if it does not."""
        for outer, beside in self._around():
            if key not in keys_in(outer.model) and outer.node.child(key) is not None:
                return f"Move it down: it stands beside {beside}"
        for child in self.node.entries():
            inner = keys_in(self.model).get(str(child.route[-1]))
            if inner is not None and key not in keys_in(inner) and child.child(key) is not None:
                return f"Move it up: it stands in {child.route[-1]}"
        return ""

    def _around(self) -> "Iterator[tuple[Level, str | int]]":
        """The hashes around it, from the nearest on, and their keys that lead here."""
        outer = self.above
        while outer is not None:
            yield outer, self.node.route[len(outer.node.route)]
            outer = outer.above


def _below(model: type[Properties], key: str) -> list[str]:
    """The nearest hashes in a hash that have a key."""
    inner = {name: each for name, each in keys_in(model).items() if each is not None}
    found = [name for name, each in inner.items() if key in keys_in(each)]
    return found or [f"{rest} of {name}" for name, each in inner.items() for rest in _below(each, key)]


def refused(node: Node, what: str, remedy: str = "", source: str = DIRECTOR) -> Finding:
    """What BOSH refuses."""
    return Finding(Severity.ERROR, what, remedy, node.place, source)


def did_you_mean(name: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """The remedy for an unknown name that is like one of the known ones; empty if it is not."""
    longer = [each for each in known if each.endswith(f"_{name}")]
    near = nearest(name, known, cutoff)
    if len(longer) == 1 and not near.startswith(name):
        near = longer[0]
    return f"Did you mean {near}?" if near else ""


def rewritten(node: Node, what: str) -> str:
    """How to write a text that stands in place of another type; empty if that is not known.

    Args:
        node: The value.
        what: What it must be: "must be a list".
    """
    text = node.value
    if not isinstance(text, str):
        return ""
    if "a list" in what:
        return "Write a list also for one entry: [NAME]"
    if "a whole number" in what and _NUMBER.fullmatch(text):
        return QUOTED if str(int(text)) == text else f"Write {int(text)}"
    if "true or false" in what and text in {"true", "false"}:
        return QUOTED
    size = _SIZE.fullmatch(text) if node.route[-1:] and node.route[-1] in _IN_MIB else None
    return f"Give the number of MiB: {int(size[1]) * _MIB_OF[size[2].upper()]}" if size is not None else ""


def keys_of(
    node: Node, model: type[Properties], source: str = DIRECTOR, others: Sequence[Node] = ()
) -> Iterator[Finding]:
    """What is wrong with the form of a hash, and of the hashes in it: types, absent and unknown keys.

    Args:
        node: The hash.
        model: The model that reads it.
        source: Who reads it; the CPI reads the cloud properties in it.
        others: The entries whose cloud properties are another CPI's.
    """
    if not isinstance(node.value, dict):
        what = "is empty" if node.value is None else "is not a hash"
        keys = ", ".join(list(keys_in(model))[:3])
        yield refused(node, f"{what}: it must be a hash with {keys} and others", "", source)
        return
    levels = {level.node.route: level for level in Level(node, model).within(others)}
    for level in levels.values():
        if level.above is None or level.model is MetadataOptions:
            yield from _wrong_values(level, levels, source, others)
        if not level.node.is_unknown:
            yield from _unknown(level, source if issubclass(level.model, BoshHash) else CPI)


def _wrong_values(
    level: Level, levels: Mapping[Route, Level], source: str, others: Sequence[Node]
) -> Iterator[Finding]:
    """Values of wrong types, and absent ones; a variable may be anything."""
    value = level.node.value
    try:
        level.model.model_validate(MetadataOptions.renamed(value) if level.above else value)
    except ValidationError as error:
        for route, text in mistakes(error):
            place, around = level.node.at(*route), levels.get((*level.node.route, *route[:-1]))
            own = CPI if level.above or "cloud_properties" in route[:-1] else source
            if place.is_unknown or (own == CPI and any(map(place.is_within, others))):
                continue
            if text.startswith(UNKNOWN):  # see `_unknown`
                continue
            if text != MISSING:
                yield refused(place, text, rewritten(place, text), own)
            elif around is not None:
                name = str(route[-1])
                remedy = renamed(place, name) or around.misplaced(name) or f"Add {name}"
                yield refused(place, f"has no {name}", remedy, own)


def _unknown(level: Level, source: str) -> Iterator[Finding]:
    """Keys that are ignored, or refused.

    A key of a hash that may have more is ignored if it is misspelt, or stands at another level.
    """
    known = list(keys_in(level.model))
    may_have_more = issubclass(level.model, BoshHash) and level.model.others
    for entry in level.node.entries():
        key = str(entry.route[-1])
        if key in known or (level.above is None and key.startswith(EXTRA)):
            continue
        place = level.elsewhere(key)
        if level.model.refuses(key):
            remedy = place or did_you_mean(key, known) or "Remove it"
            yield refused(entry, f"'{key}' {UNKNOWN}", remedy, source)
        elif not may_have_more or place or did_you_mean(key, known, _SIMILAR):
            own = did_you_mean(key, known, _ALMOST) if isinstance(entry.value, list | dict) else ""
            yield ignored(entry, own or place or did_you_mean(key, known), source)


def ignored(node: Node, remedy: str, source: str) -> Finding:
    """A key that is ignored."""
    what = f"'{node.route[-1]}' is unknown and ignored"
    return Finding(Severity.WARNING, what, remedy or "Remove it", node.place, source)


def renamed(node: Node, name: str, known: Collection[str] = ()) -> str:
    """The remedy for an absent key that is there under a similar name."""
    others = [str(each.route[-1]) for each in node.entries() if each.route[-1] not in known]
    near = nearest(name, others)
    return f"Rename {near} to {name}" if near else ""


def read_known(model: type[Model], values: Json) -> Model | None:
    """Properties, read with a model; None if one is wrong, which `keys_of` reports."""
    try:
        return model.model_validate(values)
    except ValidationError:
        return None


def text_of(node: Node | None) -> str:
    """A name: a string, or a number in its place; empty for a variable and for anything else."""
    value = None if node is None or node.is_unknown or isinstance(node.value, bool) else node.value
    return str(value) if isinstance(value, str | int | float) else ""


def name_of(entry: Node) -> str:
    """An entry's name; empty when it has none, or a variable."""
    return text_of(entry.get("name"))


def hashes(node: Node | None) -> list[Node]:
    """The hashes in a list, without those that have variables as keys; none when it is not a list."""
    entries = node.entries() if node is not None and isinstance(node.value, list) else []
    return [each for each in entries if isinstance(each.value, dict) and not each.is_unknown]
