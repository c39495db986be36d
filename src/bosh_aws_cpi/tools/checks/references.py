"""What a cloud config names in AWS, with the places that name it. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.combinations import Merged, vms
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.rules import name_of

_SINGLE: Final = ("key_name", "placement_group")
_LISTS: Final = ("elbs", "lb_target_groups", "security_groups")
"""Cloud properties of VMs that name things in AWS: one, or a list of them."""


@dataclass(frozen=True, eq=False)
class SubnetUse:
    """A subnet of the cloud config that names one in AWS.

    Attributes:
        entry: The subnet's entry; a dynamic network without subnets is its own.
        node: Where its id is.
        zones: AWS's zones of its azs, with the places that say so.
    """

    entry: Node
    node: Node
    zones: Sequence[tuple[str, Node]]

    @property
    def subnet_id(self) -> str:
        """The subnet's id in AWS."""
        return str(self.node.value)


@dataclass(frozen=True)
class References:
    """All that a cloud config names.

    Attributes:
        subnets: The subnets.
        named: The other things, by the property that names them.
        launches: The places of instance types, by type and AWS's zone; the zone may be empty.
    """

    subnets: Sequence[SubnetUse]
    named: Mapping[str, Sequence[Node]]
    launches: Mapping[tuple[str, str], Node]

    @classmethod
    def of(cls, config: CloudConfig) -> "References":
        """Collect them."""
        named: dict[str, list[Node]] = {key: [] for key in (*_SINGLE, *_LISTS, "route_tables")}
        launches: dict[tuple[str, str], Node] = {}
        seen: set[tuple[str, ...]] = set()
        for merged in vms(config):
            for key, node in _named(merged):
                if (place := (key, node.document.name, *map(str, node.route))) not in seen:
                    seen.add(place)
                    named[key].append(node)
            for node in _types(merged):
                launches.setdefault((str(node.value), _zone(merged)), node)
        return cls(list(_subnets(config)), named, launches)


def _named(merged: Merged) -> Iterator[tuple[str, Node]]:
    for key in (*_SINGLE, *_LISTS):
        node = merged.nodes.get(key)
        if node is not None and isinstance(node.value, list) == (key in _LISTS):
            yield from ((key, each) for each in texts(node))
    table_routes = merged.nodes.get("advertised_routes")
    for entry in table_routes.entries() if table_routes is not None else ():
        if (table := entry.get("table_id")) is not None:
            yield from (("route_tables", each) for each in texts(table))


def _types(merged: Merged) -> Iterator[Node]:
    for key in ("instance_type", "instance_type_fallbacks"):
        if (node := merged.nodes.get(key)) is not None:
            yield from texts(node)


def texts(node: Node) -> Iterator[Node]:
    """The known texts of a list, or the text itself."""
    for each in node.entries() if isinstance(node.value, list) else [node]:
        if isinstance(each.value, str) and not each.is_unknown:
            yield each


def _zone(merged: Merged) -> str:
    node = merged.nodes.get("availability_zone")
    return next((str(each.value) for each in texts(node)), "") if node is not None else ""


def _subnets(config: CloudConfig) -> Iterator[SubnetUse]:
    zones = {name_of(az): node for az in config.lists["azs"] if (node := _zone_of(az)) is not None}
    for network in config.lists["networks"]:
        if type_of(network) not in {"manual", "dynamic"}:
            continue
        listed = network.get("subnets")
        for entry in listed.entries() if listed is not None else [network]:
            node = entry.get("cloud_properties", "subnet")
            for each in texts(node) if node is not None else ():
                own = [
                    (str(zones[name].value), zones[name]) for name in zones_of(entry) or () if name in zones
                ]
                yield SubnetUse(entry, each, own)


def _zone_of(az: Node) -> Node | None:
    node = az.get("cloud_properties", "availability_zone")
    return next(texts(node), None) if node is not None else None
