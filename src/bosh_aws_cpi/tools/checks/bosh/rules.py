"""What all rules of BOSH share: how the Director reads a value, and findings about values.

The Director's reading is that of BOSH, src/bosh-director/lib/bosh/director/validation_helper.rb: a key whose
value is null is there, and has the wrong type; a number is as good as a string.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from pydantic import ValidationError

from bosh_aws_cpi.jsontext import type_name
from bosh_aws_cpi.properties.types import MISSING, Route, mistakes
from bosh_aws_cpi.tools.checks.bosh.levels import elsewhere, misplaced
from bosh_aws_cpi.tools.checks.bosh.models import Bosh, Network, keys_in, of_network
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

DIRECTOR: Final = "Director"
BOSH_CLI: Final = "bosh create-env"
_NOUNS: Final = {
    dict: "a hash",
    list: "a list",
    str: "a string",
    int: "a whole number",
    bool: "true or false",
}
_ALMOST: Final = 0.85
"""How alike "network" and "networks" are at least; `get_close_matches` asks for 0.6."""
_SIMILAR: Final = 0.79
"""How alike "az" and "azs" are at least; newer versions of BOSH may have keys that are less alike."""
QUOTED: Final = "Remove the quotation marks"
"""The remedy for a quoted number or boolean."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
"""Python refuses to read thousands of digits."""
_SIZE: Final = re.compile(rf"({_NUMBER.pattern}) *([MGT])i?B?", re.IGNORECASE)
_MIB_OF: Final = {"M": 1, "G": 1024, "T": 1024 * 1024}
_IN_MIB: Final = ("size", "disk_size", "persistent_disk", "ephemeral_disk_size", "ram")
"""Keys of sizes, which are numbers of MiB."""


def refused(node: Node, what: str, remedy: str = "", source: str = DIRECTOR) -> Finding:
    """What BOSH refuses."""
    return Finding(Severity.ERROR, what, remedy, node.place, source)


def unknown_key(node: Node, key: str, known: Sequence[str], source: str = DIRECTOR) -> Finding:
    """A key that is ignored."""
    own = _nearest(key, known, _ALMOST) if isinstance(node.value, list | dict) else ""
    remedy = own or elsewhere(node) or _nearest(key, known) or "Remove it"
    return Finding(Severity.WARNING, f"'{key}' is unknown and ignored", remedy, node.place, source)


def _nearest(name: str, known: Sequence[str], cutoff: float = 0.6) -> str:
    longer = [each for each in known if each.endswith(f"_{name}")]
    near = get_close_matches(name, known, n=1, cutoff=cutoff)
    if len(longer) == 1 and not (near and near[0].startswith(name)):
        near = longer
    return f"Did you mean {near[0]}?" if near else ""


def unlike(node: Node | None, kind: type, source: str = DIRECTOR) -> Finding | None:
    """A finding if a value has another type; a variable may have any."""
    if node is None or node.is_unknown or _is(node.value, kind):
        return None
    what = f"must be {_NOUNS[kind]}"
    return refused(node, f"{what}, got {type_name(node.value)}", rewritten(node, what), source)


def rewritten(node: Node, what: str) -> str:
    """How to write a text that stands in place of another type; empty if that is not known.

    Args:
        node: The value.
        what: What it must be: "must be a list".
    """
    text = node.value
    if not isinstance(text, str):
        return ""
    if _NOUNS[list] in what:
        return "Write a list also for one entry: [NAME]"
    if _NOUNS[int] in what and _NUMBER.fullmatch(text):
        return QUOTED if str(int(text)) == text else f"Write {int(text)}"
    if _NOUNS[bool] in what and text in {"true", "false"}:
        return QUOTED
    size = _SIZE.fullmatch(text) if node.route[-1:] and node.route[-1] in _IN_MIB else None
    return f"Give the number of MiB: {int(size[1]) * _MIB_OF[size[2].upper()]}" if size is not None else ""


def keys_of(
    node: Node, model: type[Bosh], source: str = DIRECTOR, extra: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """What BOSH ignores or refuses of a hash, and of the hashes in it: unknown keys, absent ones, types.

    Args:
        node: The hash.
        model: What it is.
        source: Who reads it.
        extra: Beginnings of keys that are ignored on purpose.
    """
    if node.is_unknown:
        return
    try:
        model.model_validate(node.known())
    except ValidationError as error:
        for route, text in mistakes(error):
            if "cloud_properties" not in route[:-1]:  # these are checked with the methods' own models
                yield from _mistake(node, route, text, source)
    yield from _unknown(node, model, source, extra)


def _mistake(node: Node, route: Route, text: str, source: str) -> Iterator[Finding]:
    place, around, name = node.at(*route), node.at(*route[:-1]), str(route[-1])
    if text != MISSING:
        yield refused(place, text, rewritten(place, text), source)
    elif around.get(name) is None and not around.is_unknown:
        remedy = renamed(around, name) or misplaced(around, name) or f"Add {name}"
        yield refused(around, f"has no {name}", remedy, source)


def _unknown(node: Node, model: type[Bosh], source: str, extra: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Keys that are ignored.

    A key of a hash that may have more is ignored if it is misspelt, or stands at another level.
    """
    if not isinstance(node.value, dict) or node.is_unknown:
        return
    known = keys_in(model)
    for entry in node.entries():
        own = str(entry.route[-1])
        inner = known.get(own)
        if own not in known and not (extra and own.startswith(extra)):
            if not model.may_have_more or _nearest(own, list(known), _SIMILAR) or elsewhere(entry):
                yield unknown_key(entry, own, list(known), source)
        elif inner is not None and issubclass(inner, Bosh):
            for each in entry.entries() if isinstance(entry.value, list) else [entry]:
                if inner is Network and isinstance(each.value, dict):
                    yield from _of_network(each, source)
                else:
                    yield from _unknown(each, inner, source)


def _of_network(node: Node, source: str) -> Iterator[Finding]:
    """The type of a network decides on its keys."""
    if not node.is_unknown:
        yield from keys_of(node, of_network(node.value), source)


def renamed(node: Node, name: str, known: Collection[str] = ()) -> str:
    """The remedy for an absent key that is there under a similar name."""
    others = [str(each.route[-1]) for each in node.entries() if each.route[-1] not in known]
    near = get_close_matches(name, others, n=1)
    return f"Rename {near[0]} to {name}" if near else ""


def _is(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, kind) or (kind is str and isinstance(value, int | float))


def text_of(node: Node | None) -> str:
    """A name: a string, or a number in its place; empty for a variable and for anything else."""
    is_text = node is not None and _is(node.value, str) and not node.is_unknown
    return str(node.value) if node is not None and is_text else ""


def name_of(entry: Node) -> str:
    """An entry's name; empty when it has none, or a variable."""
    return text_of(entry.get("name"))


def hashes(node: Node | None) -> list[Node]:
    """The hashes in a list, without those that have variables as keys; none when it is not a list."""
    entries = node.entries() if node is not None and isinstance(node.value, list) else []
    return [each for each in entries if isinstance(each.value, dict) and not each.is_unknown]
