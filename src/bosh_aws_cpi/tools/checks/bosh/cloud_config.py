"""The cloud config: files merged as the Director merges them.

Names and references, networks and the compilation are the Director's: it refuses what is wrong with them
within seconds.
"""

from collections.abc import Sequence
from functools import cached_property

from bosh_aws_cpi.plan.vm_sizes import VM_SIZES, VmSize
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.models import LISTS
from bosh_aws_cpi.tools.checks.bosh.rules import hashes, name_of, text_of
from bosh_aws_cpi.tools.checks.documents import Document, Node


class CloudConfig(Record):
    """The merged cloud config, or what a manifest for create-env has in its place.

    Attributes:
        lists: The entries of each list, from all files; only hashes.
        compilation: The compilation section, if there is one.
        open_lists: The lists that may have more entries, since a part of them is a variable.
        sizes: What the CPI chooses from for ``vm_resources``; empty if that is not known.
        cpi: The name in the CPI config of the CPI whose azs are checked; empty for those that name none.
    """

    lists: dict[str, list[Node]]
    compilation: Node | None
    open_lists: frozenset[str] = frozenset()
    sizes: Sequence[VmSize] = VM_SIZES
    cpi: str = ""

    @classmethod
    def merged(cls, documents: Sequence[Document], cpi: str = "") -> "CloudConfig":
        """Merge files: lists are joined.

        Args:
            documents: The files.
            cpi: See the attribute.
        """
        roots = [document.root for document in documents]
        sections = [root for root in roots if isinstance(root.value, dict)]
        found = {key: [node for root in sections if (node := root.get(key))] for key in LISTS}
        open_lists = frozenset(key for key, nodes in found.items() if any(map(_is_open, nodes)))
        lists = {key: [entry for node in nodes for entry in hashes(node)] for key, nodes in found.items()}
        compilation = next((node for root in sections if (node := root.get("compilation"))), None)
        return cls(lists, compilation, open_lists, cpi=cpi)

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

    @cached_property
    def others(self) -> list[Node]:
        """The azs of other CPIs, and the subnets only in them."""
        subnets = (each for network in self.lists["networks"] for each in hashes(network.get("subnets")))
        return [*self.azs_of_others, *filter(self.is_of_others, subnets)]

    def is_of_others(self, subnet: Node) -> bool:
        """Whether a subnet is only in azs of other CPIs, so that this one never gets its properties."""
        names = zones_of(subnet)
        return bool(names) and set(names or ()) <= {name_of(each) for each in self.azs_of_others}

    @cached_property
    def _named(self) -> dict[str, dict[str, Node]]:
        return {key: {name_of(each): each for each in reversed(nodes)} for key, nodes in self.lists.items()}

    def named(self, key: str, name: str) -> Node | None:
        """The entry of a list with a name; the first one, if there are several."""
        return self._named[key].get(name) if name else None


def _is_open(node: Node) -> bool:
    entries = node.entries() if isinstance(node.value, list) else []
    return any(each.is_unknown or each.at("name").is_unknown for each in [node, *entries])


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
    kind = network.get("type")
    return text_of(kind) if kind is not None else "manual"
