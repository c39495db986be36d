"""The cloud config: several files merged as the Director merges them, and the Director's own rules.

The rules are those of BOSH (src/bosh-director/lib/bosh/director): cloud_config/cloud_configs_consolidator.rb
and deployment_plan/cloud_manifest_parser.rb.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from bosh_aws_cpi.jsontext import type_name
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.findings import Finding, Severity

LISTS: Final = ("azs", "vm_types", "vm_extensions", "disk_types", "networks")
_KEYS: Final = (*LISTS, "compilation")
_EXTRA: Final = ("x-", "_", "meta")
"""Beginnings of top-level keys that people use for YAML anchors; the Director ignores them."""
NETWORK_TYPES: Final = ("manual", "dynamic", "vip")


@dataclass(frozen=True)
class CloudConfig:
    """The merged cloud config.

    Attributes:
        lists: The entries of each list, from all files; only hashes with a name.
        compilation: The compilation section, if there is one.
        findings: What the Director refuses, or ignores.
    """

    lists: dict[str, list[Node]]
    compilation: Node | None
    findings: tuple[Finding, ...]

    @classmethod
    def merged(cls, documents: Sequence[Document]) -> "CloudConfig":
        """Merge files: lists are joined, and only one may have ``compilation``."""
        roots = [document.root for document in documents]
        findings = [finding for root in roots for finding in _top(root)]
        lists = {key: [entry for root in roots for entry in _entries(root, key)] for key in LISTS}
        compilations = [found for root in roots if (found := root.get("compilation"))]
        findings += [refused(each, "compilation is in several files") for each in compilations[1:]]
        for key, entries in lists.items():
            findings += _of_entries(key, entries)
        named = {key: [each for each in entries if name_of(each)] for key, entries in lists.items()}
        whole = cls(named, compilations[0] if compilations else None, tuple(findings))
        return cls(named, whole.compilation, (*findings, *_of_compilation(whole), *_of_disk_types(whole)))

    def names(self, key: str) -> list[str]:
        """The names of a list's entries."""
        return [name_of(each) for each in self.lists[key]]

    def named(self, key: str, name: object) -> Node | None:
        """The entry of a list with a name."""
        return next((each for each in self.lists[key] if name_of(each) == name), None)


def refused(node: Node, what: str, remedy: str = "") -> Finding:
    """What the Director refuses."""
    return Finding(Severity.ERROR, what, remedy, node.place, "Director")


def unknown_key(node: Node, key: str, known: Sequence[str], source: str = "Director") -> Finding:
    """A key that is ignored."""
    near = get_close_matches(key, known, n=1)
    remedy = f"Did you mean {near[0]}?" if near else "Remove it"
    return Finding(Severity.WARNING, f"'{key}' is unknown and ignored", remedy, node.place, source)


def name_of(entry: Node) -> str:
    """An entry's name; empty when it has none, or a variable."""
    node = entry.get("name")
    return node.value if node is not None and isinstance(node.value, str) and not node.is_unknown else ""


def unlike(node: Node | None, kind: type, noun: str) -> Finding | None:
    """A finding if a value has another type; a variable may have any."""
    if node is None or node.is_unknown:
        return None
    if isinstance(node.value, kind) and not (kind is int and isinstance(node.value, bool)):
        return None
    return refused(node, f"must be {noun}, got {type_name(node.value)}")


def _top(root: Node) -> Iterator[Finding]:
    if not isinstance(root.value, dict):
        yield refused(root, "is not a cloud config: a hash with azs, vm_types, networks and others is needed")
        return
    for entry in root.entries():
        key = str(entry.route[-1])
        if key not in _KEYS and not key.startswith(_EXTRA):
            yield unknown_key(entry, key, _KEYS)
        elif key in _KEYS:
            kind, noun = (dict, "a hash") if key == "compilation" else (list, "a list")
            yield from filter(None, [unlike(entry, kind, noun)])


def _entries(root: Node, key: str) -> list[Node]:
    node = root.get(key) if isinstance(root.value, dict) else None
    return node.entries() if node is not None and isinstance(node.value, list) else []


def _of_entries(key: str, entries: Sequence[Node]) -> Iterator[Finding]:
    """Each entry is a hash with a name of its own, and its cloud properties are a hash."""
    seen: dict[str, Node] = {}
    for entry in entries:
        if entry.is_unknown:
            continue
        if not isinstance(entry.value, dict):
            yield refused(entry, f"must be a hash, got {type_name(entry.value)}")
            continue
        name = entry.get("name")
        if name is None:
            yield refused(entry, "has no name", "Add name")
        elif not isinstance(name.value, str | int | float):
            yield refused(name, f"must be a string, got {type_name(name.value)}")
        elif not name.is_unknown and str(name.value) in seen:
            first = seen[str(name.value)].place
            yield refused(name, f"the name is already used in {key}, at {first.file}:{first.line}")
        else:
            seen[str(name.value)] = entry
        if wrong := unlike(entry.get("cloud_properties"), dict, "a hash"):
            yield wrong


def _of_disk_types(config: CloudConfig) -> Iterator[Finding]:
    for entry in config.lists["disk_types"]:
        size = entry.get("disk_size")
        if size is None:
            yield refused(entry, "has no disk_size", "Add disk_size, in MiB")
        elif wrong := unlike(size, int, "a whole number of MiB"):
            yield wrong
        elif isinstance(size.value, int) and size.value < 0:
            yield refused(size, f"must not be negative, got {size.value}")


def _of_compilation(config: CloudConfig) -> Iterator[Finding]:
    """The compilation section names a network, a zone that the network has, and one kind of VM."""
    node = config.compilation
    if node is None or not isinstance(node.value, dict):
        return
    workers = node.get("workers")
    if workers is None:
        yield refused(node, "has no workers", "Add workers, the number of VMs that compile")
    elif wrong := unlike(workers, int, "a whole number"):
        yield wrong
    elif isinstance(workers.value, int) and workers.value < 1:
        yield refused(workers, f"must be at least 1, got {workers.value}")
    if node.get("network") is None:
        yield refused(node, "has no network", "Add network, the name of one of networks")
    for key, target in (("network", "networks"), ("az", "azs"), ("vm_type", "vm_types")):
        yield from _reference(config, node.get(key), target)
    extensions = node.get("vm_extensions")
    for each in extensions.entries() if extensions else ():
        yield from _reference(config, each, "vm_extensions")
    given = [key for key in ("vm_type", "vm_resources", "cloud_properties") if node.get(key)]
    if len(given) > 1:
        yield refused(node, f"has {' and '.join(given)}: only one is allowed")
    yield from _zone_of_compilation(config, node)


def _reference(config: CloudConfig, node: Node | None, target: str) -> Iterator[Finding]:
    """A name must be that of an entry."""
    if node is None or node.is_unknown or any(not name_of(each) for each in config.lists[target]):
        return
    if node.value not in config.names(target):
        near = get_close_matches(str(node.value), config.names(target), n=1)
        remedy = f"Did you mean {near[0]}?" if near else f"Add it to {target}"
        yield refused(node, f"'{node.value}' is not in {target}", remedy)


def _zone_of_compilation(config: CloudConfig, node: Node) -> Iterator[Finding]:
    zone = node.get("az")
    network = config.named("networks", node.value.get("network"))
    subnets = network.get("subnets") if network else None
    if zone is None or zone.is_unknown or network is None or subnets is None:
        return
    zones = [zones_of(subnet) for subnet in subnets.entries()]
    if all(each is not None and zone.value not in each for each in zones) and any(zones):
        yield refused(zone, f"network '{name_of(network)}' has no subnet in '{zone.value}'")


def zones_of(subnet: Node) -> list[str] | None:
    """The names of a subnet's availability zones, empty without any; None when they aren't known."""
    if subnet.is_unknown:
        return None
    many, single = subnet.get("azs"), subnet.get("az")
    nodes = many.entries() if many is not None else [single] if single is not None else []
    if (many is not None and many.is_unknown) or any(each.is_unknown for each in nodes):
        return None
    return [str(each.value) for each in nodes]
