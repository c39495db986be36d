"""What a cloud config names in AWS, with the places that name it. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.combinations import Identity, Merged, Use, identity, vms
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.rules import name_of
from bosh_aws_cpi.tools.findings import Finding, Severity

_TYPES: Final = ("instance_type", "instance_type_fallbacks")
_LISTS: Final = frozenset({"elbs", "instance_type_fallbacks", "security_groups"})


@dataclass(frozen=True, eq=False)
class SubnetUse:
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


@dataclass(frozen=True, eq=False)
class Launch:
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
        """The known names and ARNs of target groups, whether they stand alone or in a hash."""
        groups = self.get("lb_target_groups")
        if groups is None or not isinstance(groups.value, list):
            return []
        found: list[Node | None] = []
        for entry in groups.entries():
            found += [entry.get("name"), entry.get("arn")] if isinstance(entry.value, dict) else [entry]
        return [each for node in found if node is not None for each in texts(node)]

    def tables(self) -> list[Node]:
        """The ids of the route tables of advertised_routes."""
        routes = self.get("advertised_routes")
        nodes = [entry.get("table_id") for entry in routes.entries()] if routes is not None else []
        return [each for node in nodes if node is not None for each in texts(node)]


@dataclass(frozen=True)
class References:
    """All that a cloud config names in the account; the azs of other CPIs are elsewhere.

    Attributes:
        subnets: The subnets.
        managed: The cloud properties of managed networks' subnets, which the CPI creates.
        launches: The combinations for VMs.
        disk_types: The entries of disk types.
        knows_all_subnets: Whether each network of VMs names its subnets.
        has_other_cpis: Whether some azs have another CPI, which VM types and disk types may be for.
    """

    subnets: Sequence[SubnetUse]
    managed: Sequence[Node]
    launches: Sequence[Launch]
    disk_types: Sequence[Node]
    knows_all_subnets: bool
    has_other_cpis: bool

    @classmethod
    def of(cls, config: CloudConfig, uses: Iterable[Use] | None = None) -> "References":
        """Collect them.

        Args:
            config: The cloud config.
            uses: What a manifest asks for; None without a manifest.
        """
        subnets = list(_subnets(config))
        return cls(
            [use for use in subnets if use is not None],
            list(_managed(config)),
            [Launch(each, _zone(each)) for each in vms(config, uses)],
            config.lists["disk_types"],
            knows_all_subnets=None not in subnets and "networks" not in config.open_lists,
            has_other_cpis=bool(config.azs_of_others),
        )

    @property
    def plain(self) -> list[Launch]:
        """The combinations that can be deployed: an extension may fit few VM types."""
        return [each for each in self.launches if each.merged.use is not None or not each.merged.extensions]


@dataclass(frozen=True)
class Named:
    """A value of the cloud config, with all combinations that it is part of."""

    node: Node
    launches: Sequence[Launch]

    def findings_if_wrong(
        self,
        judge: Callable[[Launch], str],
        remedy: str = "",
        otherwise: Severity = Severity.WARNING,
    ) -> Iterator[Finding]:
        """An error if it is wrong in all combinations.

        A cloud config does not say which VM types are deployed in which zones, so what is wrong in some of
        them only is no error.

        Args:
            judge: Says what is wrong in one combination; empty if nothing is.
            remedy: What to do about it.
            otherwise: The severity if it is wrong in some combinations only.
        """
        said = [judge(launch) for launch in self.launches]
        if any(said):
            severity = Severity.ERROR if all(said) else otherwise
            what = next(filter(None, said))
            yield Finding(severity, what, remedy, self.node.place, "AWS")


def named(launches: Iterable[Launch], nodes_of: Callable[[Launch], Iterable[Node]]) -> list[Named]:
    """Group combinations by a value.

    Args:
        launches: The combinations.
        nodes_of: Returns the places of the values in one of them.
    """
    found: dict[Identity, tuple[Node, list[Launch]]] = {}
    for launch in launches:
        for node in nodes_of(launch):
            found.setdefault(identity(node), (node, []))[1].append(launch)
    return [Named(node, its_launches) for node, its_launches in found.values()]


def values(found: Iterable[Named]) -> set[str]:
    """The distinct values."""
    return {str(each.node.value) for each in found}


def texts(node: Node) -> Iterator[Node]:
    """The known texts of a list, or the text itself."""
    for each in node.entries() if isinstance(node.value, list) else [node]:
        if isinstance(each.value, str) and each.value and not each.is_unknown:
            yield each


def _zone(merged: Merged) -> str:
    node = merged.nodes.get("availability_zone")
    return next((str(each.value) for each in texts(node)), "") if node is not None else ""


def _subnets(config: CloudConfig) -> Iterator[SubnetUse | None]:
    """The subnets, except those that are only in the azs of other CPIs; None for one without a known id."""
    zones = {name_of(az): node for az in config.own_azs if (node := _zone_of(az)) is not None}
    for entry in (each for network in config.lists["networks"] for each in _entries(network)):
        if config.is_of_others(entry):
            continue
        azs = zones_of(entry)
        node = entry.get("cloud_properties", "subnet")
        if node is None or node.is_unknown or not isinstance(node.value, str) or not node.value:
            yield None
            continue
        own = [zones[name] for name in azs or () if name in zones]
        yield SubnetUse(entry, node, azs, [(str(each.value), each) for each in own])


def _managed(config: CloudConfig) -> Iterator[Node]:
    for network in config.lists["networks"]:
        for entry in _entries(network) if network.value.get("managed") is True else ():
            section = entry.get("cloud_properties")
            if section is not None and not config.is_of_others(entry):
                yield section


def _entries(network: Node) -> Sequence[Node]:
    """What names the subnets of a network; the network itself, if it has none."""
    subnets = network.get("subnets")
    if type_of(network) == "vip":
        return []
    return subnets.entries() if subnets is not None and not subnets.is_unknown else [network]


def _zone_of(az: Node) -> Node | None:
    node = az.get("cloud_properties", "availability_zone")
    return next(texts(node), None) if node is not None else None
