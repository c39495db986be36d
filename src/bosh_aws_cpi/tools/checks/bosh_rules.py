"""The form of what BOSH and the CPI read: types, absent keys and unknown ones; and how BOSH reads a name.

A number is as good as a string for BOSH (src/bosh-director/lib/bosh/director/validation_helper.rb).
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Final, get_origin

from pydantic import ValidationError

from bosh_aws_cpi.log import nearest
from bosh_aws_cpi.plan.ebs import VOLUME_TYPES
from bosh_aws_cpi.properties.types import MISSING, UNKNOWN, Location, Properties, Truth, mistakes
from bosh_aws_cpi.properties.vm import MetadataOptions
from bosh_aws_cpi.tools.checks.bosh_models import (
    COSTS,
    BoshHash,
    BoshNetwork,
    CreateEnv,
    DynamicNetwork,
    DynamicSubnet,
    Manifest,
    keys_in,
    models_in,
    of_network,
)
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

Hashes = tuple[tuple[Node, type[Properties]], ...]
"""A hash and the model that reads it, behind those around it, from the outermost on."""
_MAX_PLACES: Final = 2
"""If a key may belong in more places than this, none is proposed."""
_SMALL: Final = 6
"""If a hash has more keys than this, they are not listed."""
_OPEN: Final = (BoshNetwork, Manifest, CreateEnv)
"""Hashes that may have other keys; only a key that resembles a known one is a mistake."""
_ONE_MEANING: Final = (
    {"vm_types", "resource_pools"},
    {"vm_type", "resource_pool", "instance_type", "flavor", "machine_type"},
    {"disk_types", "disk_pools"},
    {"persistent_disk_type", "persistent_disk_pool"},
    {"vm_extensions", "cloud_properties"},
    {"azs", "availability_zones"},
    {"az", "azs"},
    {"network", "networks"},
    {"availability_zone", "availability_zones", "zone"},
    {"endpoint", "host", "port"},
    {"tcp_established_timeout", "tcp_timeout"},
    {"iam_instance_profile", "iam_role"},
    {"elbs", "load_balancers"},
)
"""Names of one thing for the Director, bosh-cli, older CPIs and those of other clouds; and short names."""
DIRECTOR: Final = "Director"
BOSH_CLI: Final = "bosh create-env"
CPI: Final = "CPI"
EXTRA: Final = ("x-", "_", ".", "anchors", "meta")
"""Beginnings of top-level keys that people use for YAML anchors; the Director ignores them."""
_ALIKE: Final = 0.6
"""The least likeness of an unknown key and the key that is meant."""
SIMILAR: Final = 0.79
"""How alike "az" and "azs" are at least; newer versions of BOSH may have keys that are less alike."""
_BY_WORDS: Final = 0.75
"""How alike "size" and "disk_size" are at least."""
_BY_MORE_WORDS: Final = 0.7
"""How alike "volume_type" and "type" are at least."""
_ELSEWHERE: Final = 0.9
"""The factor for a key that belongs at another level."""
_FAR: Final = 0.89
"""The likeness of a key that belongs in another part of the file."""
QUOTED: Final = "Remove the quotation marks"
"""The remedy for a quoted number or boolean."""
_AS_STRING: Final[dict[type, str]] = {
    bool: "YAML reads yes, no, on and off as booleans: use quotation marks",
    dict: "Write the text alone, without a key",
}
"""How to write what stands in place of a string."""
_WORD: Final = re.compile("'([^']+)'")
"""A word in the message about a value that must be one of some."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
"""Python refuses to read thousands of digits."""


def hashes_in(around: Hashes, others: Sequence[Node] = ()) -> Iterator[Hashes]:
    """A hash, and the hashes in it.

    Args:
        around: The hash, behind those around it.
        others: The entries whose cloud properties are another CPI's, and so are left out.
    """
    yield around
    node, model = around[-1]
    for entry in node.entries():
        key = str(entry.route[-1])
        inner = keys_in(model).get(key)
        if inner is None or (key == "cloud_properties" and any(each.holds(node.place) for each in others)):
            continue
        is_list = key in model.model_fields and get_origin(model.model_fields[key].annotation) is tuple
        for each in entry.entries() if isinstance(entry.value, list) else [] if is_list else [entry]:
            if isinstance(each.value, dict):
                found = of_network(each.value) if inner is BoshNetwork else inner
                yield from hashes_in((*around, (each, found)), others)


def refusal(node: Node, what: str, remedy: str = "", source: str = DIRECTOR) -> Finding:
    """Return an error of BOSH."""
    return Finding(Severity.ERROR, what, remedy, node.place, source)


def quoted_boolean(value: object, place: Place | None) -> Iterator[Finding]:
    """Find a boolean that is a string."""
    if isinstance(value, str):
        what = f"'{value}' is a string, and any string counts as true"
        remedy = QUOTED if value in {"true", "false"} else "Write true or false"
        yield Finding(Severity.WARNING, what, remedy, place)


def did_you_mean(name: str, known: Collection[str], cutoff: float = _ALIKE) -> str:
    """The remedy for an unknown name that is like one of the known ones; empty if it is not."""
    near = nearest(name, known, cutoff)
    return f"Did you mean {near}?" if near else ""


@cache
def likeness(name: str, key: str) -> float:
    """How well an unknown key fits a known one, from 0 to 1, by its meaning, letters or words."""
    if name == key or any({name, key} <= each for each in _ONE_MEANING):
        return 1.0
    letters = SequenceMatcher(None, name.lower(), key.lower()).ratio()
    words, others = {*name.split("_")}, {*key.split("_")}
    related = _BY_WORDS if words < others else _BY_MORE_WORDS if others < words else -1.0
    return max(letters, related + letters / 30)


def _most_alike(entry: Node, model: type[Properties], least: float) -> tuple[float, str]:
    """The likeness of an unknown key and the best known one that accepts its value, and that key."""
    name = str(entry.route[-1])
    found = ((likeness(name, key), key) for key in keys_in(model))
    fit = (each for each in found if each[0] >= least and (each[0] == 1.0 or _takes(model, each[1], entry)))
    return max(fit, default=(0.0, ""))


def _takes(model: type[Properties], key: str, entry: Node) -> bool:
    """Whether a key accepts a value, alone or in a list; a variable may be any value."""
    is_truth = key in model.model_fields and model.model_fields[key].annotation in {bool, Truth | None}
    if is_truth and not entry.is_unknown:  # which takes any value
        return isinstance(entry.value, bool)
    for value in (entry.value, [entry.value]):
        try:
            model.model_validate({key: value})
        except ValidationError as error:
            if any(route in {(key,), (key, 0)} and text != MISSING for route, text in mistakes(error)):
                continue
        return True
    return entry.is_unknown


def _proposals(around: Hashes, entry: Node) -> Iterator[tuple[float, str, str]]:
    """What an unknown key may mean: likeness, key, and where it belongs (empty for its own hash)."""
    *outward, (node, own) = around
    yield *_most_alike(entry, own, _ALIKE), ""
    for path, model in models_in(own):
        likely, key = _most_alike(entry, model, _BY_MORE_WORDS)
        yield likely * (_ELSEWHERE - path.count(" of ") / 1000), key, f"into {path}"
    if node.route and isinstance(node.route[-1], int) and not issubclass(own, BoshHash):
        return  # one of a property's own list
    for outer, model in outward:
        keys = [each for each in node.route[len(outer.route) :] if isinstance(each, str)]
        here = f" of {' of '.join(reversed(keys))}"
        likely, key = _most_alike(entry, model, _BY_WORDS)
        if outer.get(key) is None:
            yield likely * _ELSEWHERE, key, f"beside {node.route[len(outer.route)]}"
        for path, each in models_in(model):
            is_alike = ("cloud_properties" in path) == ("cloud_properties" in node.route)
            is_here = f" of {path}".endswith(here)  # `own` knows better what belongs here
            if is_alike and not is_here and entry.route[-1] in keys_in(each):
                yield _FAR, str(entry.route[-1]), f"into {path}"


def _best_match(around: Hashes, entry: Node) -> tuple[float, str, str]:
    """The best match for an unknown key: likeness, key and remedy; the last two may be empty."""
    found: dict[tuple[float, str], list[str]] = {}
    for likely, key, place in _proposals(around, entry):
        found.setdefault((likely, key), []).append(place)
    few = {meant: places for meant, places in found.items() if len(places) <= _MAX_PLACES}
    (likely, key), places = max(few.items(), default=((0.0, ""), [""]))
    named = f", as {key}" if key != entry.route[-1] else ""
    where = f"It belongs {' or '.join(places)}{named}" if places[0] else f"Did you mean {key}?"
    return likely, key, where if key else ""


def how_to_write(node: Node, what: str, inner: type[Properties] | None = None) -> str:
    """How to write a value that stands in place of another one; empty if that is not known.

    Args:
        node: The value.
        what: What it must be: "must be a list".
        inner: The model that reads a hash in its place.
    """
    value, text = node.value, str(node.value)
    if "a hash" in what and inner is not None:
        return _as_hash(value, inner)
    if "a string" in what:
        return _AS_STRING.get(type(value), "")
    if "a list" in what and isinstance(value, str | dict):
        return f"Write a list also for one entry: [{'NAME' if inner is None else '{…}'}]"
    if "a whole number" in what and _NUMBER.fullmatch(text):
        return QUOTED if str(int(text)) == text else f"Write {int(text)}"
    if "true or false" in what and text in {"true", "false"}:
        return QUOTED
    return did_you_mean(text, {*_WORD.findall(what)} - {text})  # the message may quote the value, too


def _as_hash(value: object, inner: type[Properties]) -> str:
    """The hash that a lone value was meant for; empty if that is not known."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return ""
    is_id = re.fullmatch(r"[a-z]+-[0-9a-f]+", str(value))
    key = "id" if is_id else "type" if value in VOLUME_TYPES else "size" if isinstance(value, int) else "name"
    return f"Write {{{key}: {value}}}" if key in keys_in(inner) else ""


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
        yield refusal(node, f"{what}: it must be a hash with {keys} and others", "", source)
        return
    found = {around[-1][0].route: around for around in hashes_in(((node, model),), others)}
    for around in found.values():
        inner, reader = around[-1]
        if inner is node or reader is MetadataOptions:
            yield from _wrong_values(inner, reader, found, source, others)
        if not inner.is_unknown:
            yield from unknown_keys_in(around, source if issubclass(reader, BoshHash) else CPI)


def _wrong_values(
    node: Node, model: type[Properties], found: Mapping[Location, Hashes], source: str, others: Sequence[Node]
) -> Iterator[Finding]:
    """Values of wrong types, and absent ones; a variable may be anything."""
    is_options = model is MetadataOptions
    try:
        model.model_validate(MetadataOptions.renamed(node.value) if is_options else node.value)
    except ValidationError as error:
        for route, text in mistakes(error):
            place, around = node.at(*route), found.get((*node.route, *route[:-1]))
            own = CPI if is_options or "cloud_properties" in route[:-1] else source
            if place.is_unknown or (own == CPI and any(each.holds(place.place) for each in others)):
                continue
            if text.startswith(UNKNOWN):  # see `unknown_keys_in`
                continue
            name, keys = str(route[-1]) if route else "", keys_in(around[-1][1]) if around is not None else {}
            if text != MISSING:
                yield refusal(place, text, how_to_write(place, text, keys.get(name)), own)
            elif around is not None:
                yield refusal(place, f"has no {name}", f"Add {name}", own)


def unknown_keys_in(around: Hashes, source: str) -> Iterator[Finding]:
    """Find keys that are refused or ignored; in a hash of `_OPEN`, only those like a known one."""
    node, model = around[-1]
    for entry in node.entries():
        key = str(entry.route[-1])
        if key in keys_in(model) or (len(around) == 1 and key.startswith(EXTRA)):
            continue
        likely, meant, remedy = _best_match(around, entry)
        remedy = remedy or f"Remove it{_form(node, model)}"
        if model.refuses(key):
            yield refusal(entry, f"'{key}' {UNKNOWN}", remedy, source)
        elif likely >= SIMILAR or model not in _OPEN:
            where = " in a dynamic network" if model in {DynamicNetwork, DynamicSubnet} else ""
            what = f"'{key}' is unknown and ignored{where}" + (f": {COSTS[meant]}" if meant in COSTS else "")
            yield Finding(Severity.WARNING, what, remedy, entry.place, source)


def _form(node: Node, model: type[Properties]) -> str:
    """The keys of a property's hash, if they are few."""
    name = next((each for each in reversed(node.route) if isinstance(each, str)), "")
    is_small = name and not issubclass(model, BoshHash) and len(keys_in(model)) <= _SMALL
    return f": {name} takes {', '.join(keys_in(model))}" if is_small else ""


def text_of(node: Node | None) -> str:
    """A name: a string, or a number in its place; empty for a variable and for anything else."""
    value = None if node is None or node.is_unknown else node.value
    return str(value) if isinstance(value, str | int | float) else ""


def name_of(entry: Node) -> str:
    """An entry's name; empty when it has none, or a variable."""
    return text_of(entry.get("name"))


def hashes(node: Node | None) -> list[Node]:
    """The hashes in a list, without those that have variables as keys; none when it is not a list."""
    entries = node.entries() if node is not None and isinstance(node.value, list) else []
    return [each for each in entries if isinstance(each.value, dict) and not each.is_unknown]
