"""The subnets and VMs of a cloud config, and what each names in AWS. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from bosh_aws_cpi.properties.vm_traffic import TargetGroup
from bosh_aws_cpi.records import Entity
from bosh_aws_cpi.tools.checks.bosh.rules import name_of
from bosh_aws_cpi.tools.checks.combinations import Merged
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import read_known

_TYPES: Final = ("instance_type", "instance_type_fallbacks")
_LISTS: Final = frozenset({"elbs", "instance_type_fallbacks", "security_groups"})


class SubnetUse(Entity):
    """A subnet of the cloud config that names one in AWS.

    Attributes:
        entry: The subnet's entry; a dynamic network without subnets is its own.
        node: Where its id is.
        azs: The names of its azs; empty if it has none; None if they aren't known.
        zones: AWS's zones of its azs, with the places that say so.
    """

    entry: Node
    node: Node
    azs: Sequence[str] | None
    zones: Sequence[tuple[str, Node]]

    @property
    def subnet_id(self) -> str:
        """The subnet's id in AWS."""
        return str(self.node.value)

    @property
    def fallbacks(self) -> list[Node]:
        """Where the known ids of its fallback subnets are."""
        node = self.entry.get("cloud_properties", "subnet_fallbacks")
        return list(texts(node)) if node is not None and isinstance(node.value, list) else []

    def serves(self, az: Node | None) -> bool:
        """Whether VMs of an az may be in it; those without an az only if it has none."""
        return self.azs is None or (name_of(az) in self.azs if az is not None else not self.azs)


class Launch(Entity):
    """A combination of zone, VM type and perhaps an extension.

    Attributes:
        merged: Its cloud properties.
        zone: AWS's zone; empty when it isn't known.
    """

    merged: Merged
    zone: str

    @property
    def types(self) -> list[Node]:
        """The known instance types, in the order in which they are tried."""
        return [each for key in _TYPES for each in self.named(key)]

    @property
    def knows_all_types(self) -> bool:
        """Whether no type is a variable."""
        return not any([*node.variables()] for key in _TYPES if (node := self.merged.nodes.get(key)))

    def get(self, *route: str | int) -> Node | None:
        """A property; None when there is none."""
        node = self.merged.nodes.get(str(route[0]))
        return node.get(*route[1:]) if node is not None else None

    def has(self, key: str) -> bool:
        """Whether a property is given, or may be, and so takes a default's place; an empty one does not."""
        node = self.merged.nodes.get(key)
        return self.merged.is_open or (node is not None and bool(node.value))

    def named(self, key: str) -> list[Node]:
        """The known texts of a property; none if it is no list and must be one, or the other way round."""
        node = self.get(key)
        has_right_form = node is not None and isinstance(node.value, list) == (key in _LISTS)
        return list(texts(node)) if node is not None and has_right_form else []

    def chosen(self, key: str, choice: str, beside: str = "") -> list[Node]:
        """The known text under a hash's key; none if the hash says more, which is refused.

        Args:
            key: The property that is the hash.
            choice: The key in it.
            beside: A key that the hash may have in addition.
        """
        node, whole = self.get(key, choice), self.get(key)
        if node is None or whole is None:
            return []
        given = [each for each in whole.entries() if each.value is not None and each.route[-1] != beside]
        return list(texts(node)) if len(given) == 1 else []

    def target_groups(self) -> list[Node]:
        """The known names and ARNs of target groups, alone or in a hash; not those of wrong entries."""
        groups = self.get("lb_target_groups")
        if groups is None or not isinstance(groups.value, list):
            return []
        found: list[Node | None] = []
        for entry in (each for each in groups.entries() if read_known(TargetGroup, each)):
            found += [entry.get("name"), entry.get("arn")] if isinstance(entry.value, dict) else [entry]
        return [each for node in found if node is not None for each in texts(node)]

    def tables(self) -> list[Node]:
        """The ids of the route tables of advertised_routes."""
        routes = self.get("advertised_routes")
        nodes = [entry.get("table_id") for entry in routes.entries()] if routes is not None else []
        return [each for node in nodes if node is not None for each in texts(node)]


def texts(node: Node) -> Iterator[Node]:
    """The known texts of a list, or the text itself."""
    for each in node.entries() if isinstance(node.value, list) else [node]:
        if isinstance(each.value, str) and each.value and not each.is_unknown:
            yield each
