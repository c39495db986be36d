"""The files to check: cloud configs, merged as the Director merges them, or a manifest for create-env.

Names and references, networks and the compilation are the Director's: it refuses what is wrong with them
within seconds.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.plan.vm_sizes import VmSize
from bosh_aws_cpi.records import Entity
from bosh_aws_cpi.tools.checks.bosh_models import LISTS
from bosh_aws_cpi.tools.checks.bosh_rules import hashes, name_of, text_of
from bosh_aws_cpi.tools.checks.documents import Document, Node

_POOLS: Final = {"vm_types": "resource_pools", "disk_types": "disk_pools"}
"""The lists of a manifest for create-env that have the same cloud properties as those of a cloud config."""


class Files(Entity):
    """The files to check.

    Attributes:
        documents: The cloud configs, or one manifest for create-env.
        manifest: A deployment manifest, if one is given.
        aws: The ``aws`` section of cpi.json, or that of create-env.
        cpi: The name in the CPI config of the CPI whose azs are checked; empty for those that name none.
        is_for_create_env: Whether they are a manifest for create-env.
        sizes: What the CPI chooses from for ``vm_resources``; empty if that is not known.
    """

    documents: Sequence[Document]
    manifest: Document | None
    aws: AwsConfig
    cpi: str = ""
    is_for_create_env: bool = False
    sizes: Sequence[VmSize] = ()

    @property
    def all(self) -> list[Document]:
        """The documents, and the manifest."""
        return [*self.documents, *([self.manifest] if self.manifest is not None else [])]

    @cached_property
    def sections(self) -> Mapping[str, list[Node]]:
        """The sections of each list."""
        names = _POOLS if self.is_for_create_env else {}
        roots = [document.root for document in self.documents if isinstance(document.value, dict)]
        return {key: [node for root in roots if (node := root.get(names.get(key, key)))] for key in LISTS}

    @cached_property
    def lists(self) -> Mapping[str, list[Node]]:
        """The entries of each list, from all files; only hashes."""
        return {
            key: [each for node in found for each in hashes(node)] for key, found in self.sections.items()
        }

    @cached_property
    def open_lists(self) -> frozenset[str]:
        """The lists that may have more entries, since a part of them is a variable, or they are no list."""
        return frozenset(key for key, found in self.sections.items() if any(map(_is_open, found)))

    @cached_property
    def compilation(self) -> Node | None:
        """The compilation section; create-env has none."""
        found = (document.root.get("compilation") for document in self.documents)
        nodes = [each for each in found if each is not None and isinstance(each.value, dict)]
        return nodes[0] if nodes and not self.is_for_create_env else None

    @cached_property
    def tags(self) -> Node | None:
        """The manifest's tags, which BOSH gives all of its VMs; None if they are not known."""
        manifest = self.documents[0] if self.is_for_create_env else self.manifest
        node = manifest.root.get("tags") if manifest is not None else None
        return None if node is None or node.is_unknown or not isinstance(node.value, dict) else node

    @cached_property
    def groups(self) -> list[Node]:
        """The instance groups: of the manifest, or those of create-env, of which bosh-cli accepts one."""
        if self.is_for_create_env:
            root = self.documents[0].root
            return [each for key in ("instance_groups", "jobs") for each in hashes(root.get(key))]
        return hashes(self.manifest.root.get("instance_groups")) if self.manifest is not None else []

    @property
    def users(self) -> list[Node]:
        """Who asks for VMs: the groups, and the compilation."""
        return [*self.groups, *([self.compilation] if self.compilation is not None else [])]

    @cached_property
    def azs_of_others(self) -> list[Node]:
        """The azs of other CPIs; without a name of the CPI none, if all azs have the same one."""
        cpis = [(az, "" if az.get("cpi") is None else str(az.at("cpi").value)) for az in self.lists["azs"]]
        if not self.cpi and len({name for _, name in cpis}) == 1:
            return []
        return [az for az, name in cpis if name != self.cpi]

    @cached_property
    def own_azs(self) -> list[Node]:
        """The azs whose cloud properties are for this CPI."""
        return [each for each in self.lists["azs"] if each not in self.azs_of_others]

    @cached_property
    def others(self) -> list[Node]:
        """The azs of other CPIs, and the subnets only in them."""
        names = {name_of(each) for each in self.azs_of_others}
        subnets = (each for network in self.lists["networks"] for each in hashes(network.get("subnets")))
        return [
            *self.azs_of_others,
            *(each for each in subnets if (azs := zones_of(each)) and {*azs} <= names),
        ]

    @cached_property
    def _named(self) -> dict[str, dict[str, Node]]:
        return {key: {name_of(each): each for each in nodes} for key, nodes in self.lists.items()}

    def find(self, key: str, node: Node | None) -> Node | None:
        """The entry of a list that a value names; of several, which the Director refuses, one."""
        name = text_of(node)
        return self._named[key].get(name) if name else None

    @cached_property
    def subnets(self) -> list[tuple[Node, Node]]:
        """The networks with interfaces, each with one of its subnets; a dynamic one may be its own."""
        found = []
        for network in self.lists["networks"]:
            kind, subnets = type_of(network), network.get("subnets")
            if kind == "dynamic" and (subnets is None or self.is_for_create_env):
                found.append((network, network))
            elif kind in {"manual", "dynamic"}:
                read = 1 if self.is_for_create_env else None  # bosh-cli: network.go, Interface
                found += [(network, each) for each in hashes(subnets)[:read]]
        return [(network, each) for network, each in found if each not in self.others]

    @cached_property
    def subnet_ids(self) -> list[tuple[Node, Node]]:
        """The entries of networks that name subnets in AWS, with each id, also of fallbacks."""
        keys = ("subnet", "subnet_fallbacks")
        nodes = [(entry, entry.get("cloud_properties", key)) for _, entry in self.subnets for key in keys]
        return [(entry, text) for entry, node in nodes if node is not None for text in node.texts()]


def _is_open(node: Node) -> bool:
    is_list = isinstance(node.value, list)
    return not is_list or any(each.is_unknown or each.at("name").is_unknown for each in node.entries())


def zones_of(subnet: Node) -> list[str]:
    """The names of a subnet's availability zones; empty without any, or if one isn't known."""
    many = subnet.get("azs")
    names = [text_of(each) for each in (many.entries() if many is not None else [subnet.get("az")])]
    return names if all(names) else []


def type_of(network: Node) -> str:
    """A network's type; empty when it isn't known."""
    kind = network.get("type")
    return text_of(kind) if kind is not None else "manual"


def is_managed(network: Node) -> bool:
    """Whether the CPI creates a network's subnets; so it does for any value that is true in Ruby."""
    return type_of(network) == "manual" and bool(network.value.get("managed"))
