"""The cloud config: files merged as the Director merges them, and the Director's rules for the entries.

The rules are those of BOSH (src/bosh-director/lib/bosh/director): cloud_config/cloud_configs_consolidator.rb
and deployment_plan/cloud_manifest_parser.rb.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from bosh_aws_cpi.plan.vm_sizes import VM_SIZES, VmSize
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.rules import (
    hashes,
    name_of,
    refused,
    renamed,
    text_of,
    unknown_key,
    unknown_keys,
    unknown_name,
    unlike,
    wrong_keys,
)
from bosh_aws_cpi.tools.checks.bosh.shapes import CLOUD_CONFIG, EXTRA, LISTS, NETWORK_TYPES, Shape
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.findings import Finding

_DNS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
"""What the Director keeps of a network's name in DNS."""


class CloudConfig(Record):
    """The merged cloud config, or what a manifest for create-env has in its place.

    Attributes:
        lists: The entries of each list, from all files; only hashes.
        compilation: The compilation section, if there is one.
        open_lists: The lists that may have more entries, since a part of them is a variable.
        findings: What BOSH refuses, or ignores.
        sizes: What the CPI chooses from for ``vm_resources``; empty if that is not known.
        cpi: The name in the CPI config of the CPI whose azs are checked; empty for those that name none.
    """

    lists: dict[str, list[Node]]
    compilation: Node | None
    open_lists: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()
    sizes: Sequence[VmSize] = VM_SIZES
    cpi: str = ""

    @classmethod
    def merged(cls, documents: Sequence[Document], cpi: str = "") -> "CloudConfig":
        """Merge files: lists are joined, and only one may have ``compilation``.

        Args:
            documents: The files.
            cpi: See the attribute.
        """
        roots = [document.root for document in documents]
        findings = [finding for root in roots for finding in _top(root)]
        sections = [root for root in roots if isinstance(root.value, dict)]
        found = {key: [node for root in sections if (node := root.get(key))] for key in LISTS}
        open_lists = frozenset(key for key, nodes in found.items() if any(map(_is_open, nodes)))
        lists = {key: [entry for node in nodes for entry in hashes(node)] for key, nodes in found.items()}
        compilations = [node for root in sections if (node := root.get("compilation"))]
        remedy = "Keep it in one file"
        findings += [refused(each, "compilation is in several files", remedy) for each in compilations[1:]]
        for key in ("compilation", "networks"):
            present = compilations if key == "compilation" else [*lists[key], *open_lists & {key}]
            if sections and not present and not any(root.is_unknown for root in sections):
                add = f"Add {key}, or also check the cloud config that has it"
                remedy = renamed(sections[0], key, CLOUD_CONFIG) or add
                findings.append(refused(sections[0].at(key), f"there is no {key}", remedy))
        for key, nodes in found.items():
            findings += [finding for node in nodes for finding in _no_hashes(node)]
            findings += _of_entries(key, lists[key])
        compilation = compilations[0] if compilations else None
        return cls(lists, compilation, open_lists, tuple(findings), cpi=cpi)

    @cached_property
    def azs_of_others(self) -> list[Node]:
        """The azs of other CPIs; without a name of the CPI none, if all azs have the same one."""
        cpis = [(az, "" if az.get("cpi") is None else str(az.at("cpi").value)) for az in self.lists["azs"]]
        if not self.cpi and len({name for _, name in cpis}) == 1:
            return []
        return [az for az, name in cpis if name != self.cpi]

    @cached_property
    def of_vms(self) -> list[Node]:
        """All entries with cloud properties of VMs."""
        entries = [each for key in ("azs", "vm_types", "vm_extensions") for each in self.lists[key]]
        return [*entries, self.compilation] if self.compilation is not None else entries

    @cached_property
    def own_azs(self) -> list[Node]:
        """The azs whose cloud properties are for this CPI."""
        return [each for each in self.lists["azs"] if each not in self.azs_of_others]

    def is_of_others(self, subnet: Node) -> bool:
        """Whether a subnet is only in azs of other CPIs, so that this one never gets its properties."""
        names = zones_of(subnet)
        return bool(names) and set(names or ()) <= {name_of(each) for each in self.azs_of_others}

    def names(self, key: str) -> list[str]:
        """The names of a list's entries."""
        return [name for each in self.lists[key] if (name := name_of(each))]

    def named(self, key: str, name: object) -> Node | None:
        """The entry of a list with a name; the first one, if there are several."""
        return next((each for each in self.lists[key] if name and name_of(each) == name), None)

    def missing(self, node: Node | None, key: str) -> Iterator[Finding]:
        """A finding unless a name is that of a list's entry; a variable may be any name."""
        if node is None or node.is_unknown or key in self.open_lists or unlike(node, str):
            return
        if self.named(key, name := text_of(node)) is None:
            yield unknown_name(node, name, self.names(key), key)

    def missing_names(self, node: Node, shape: Shape) -> Iterator[Finding]:
        """A finding for each name in a hash, or in its lists, that no entry of the section has."""
        for name, key in shape.keys.items():
            value = node.get(name)
            if not key.names or value is None or (key.may_be_empty and value.value == ""):
                continue
            is_list = isinstance(value.value, list)
            if is_list == (key.kind is list):
                for each in value.entries() if is_list else [value]:
                    yield from self.missing(each, key.names)


def _is_open(node: Node) -> bool:
    entries = node.entries() if isinstance(node.value, list) else []
    return any(each.is_unknown or each.at("name").is_unknown for each in [node, *entries])


def _top(root: Node) -> Iterator[Finding]:
    if not isinstance(root.value, dict):
        what = "is empty" if root.value is None else "is not a hash"
        yield refused(root, f"{what}: a cloud config is a hash with azs, vm_types, networks and others")
        return
    for entry in root.entries() if not root.is_unknown else ():
        key = str(entry.route[-1])
        if key not in CLOUD_CONFIG.keys and not key.startswith(EXTRA):
            yield unknown_key(entry, key, list(CLOUD_CONFIG.keys))
    yield from wrong_keys(root, CLOUD_CONFIG)


def _no_hashes(node: Node) -> Iterator[Finding]:
    for entry in node.entries() if isinstance(node.value, list) else ():
        if wrong := unlike(entry, dict):
            yield wrong


def _of_entries(key: str, entries: Sequence[Node]) -> Iterator[Finding]:
    """Each entry has a name of its own, and values of the right types (networks.py: those of networks)."""
    shape = CLOUD_CONFIG.keys[key].entries
    seen: dict[str, Node] = {}
    for entry in entries:
        if shape is not None:
            yield from wrong_keys(entry, shape)
            yield from unknown_keys(entry, shape)
        name = canonical(name_of(entry)) if key == "networks" else name_of(entry)
        if key == "networks" and name != name.strip("-"):
            yield refused(
                entry.at("name"), "must not begin or end with a hyphen, for DNS", "Use another name"
            )
        if name and name in seen:
            first = seen[name].place
            as_text = " (written in the same way for DNS)" if key == "networks" else ""
            yield refused(
                entry.at("name"), f"the name is already used in {key}{as_text}, at {first.file}:{first.line}"
            )
        seen.setdefault(name, entry)


def canonical(name: str) -> str:
    """A network's name in DNS, which must be unique (BOSH: dns/canonicalizer.rb)."""
    return "".join(each for each in name.lower().replace("_", "-") if each in _DNS)


def zones_of(subnet: Node) -> list[str] | None:
    """The names of a subnet's availability zones, empty without any; None when they aren't known."""
    if subnet.is_unknown:
        return None
    many, single = subnet.get("azs"), subnet.get("az")
    nodes = many.entries() if many is not None else [single] if single is not None else []
    if (many is not None and many.is_unknown) or any(each.is_unknown for each in nodes):
        return None
    return [str(each.value) for each in nodes if each.value is not None]


def type_of(network: Node) -> str:
    """A network's type; empty when it isn't known."""
    node = network.get("type")
    if node is None:
        return "manual"
    return node.value if node.value in NETWORK_TYPES else ""


def unserved(network: Node, zones: Sequence[str]) -> list[str]:
    """The zones that a network has no subnet for; "" stands for no zone.

    BOSH: NetworkWithSubnets#has_azs? in deployment_plan/network.rb. What isn't known counts as served.
    """
    subnets = network.get("subnets")
    if type_of(network) in {"vip", ""} or (
        subnets is not None and subnets.has_variables and subnets.is_unknown
    ):
        return []
    given = [zones_of(each) for each in hashes(subnets)] if subnets is not None else [[]]
    if any(each is None for each in given) or (subnets is not None and _is_open(subnets)):
        return []
    there = {zone for each in given for zone in (each or [""])}
    return [zone for zone in zones if zone not in there] if there or any(zones) else []
