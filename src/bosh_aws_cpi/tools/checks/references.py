"""What a cloud config names in AWS, with the places that name it. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.bosh.rules import name_of
from bosh_aws_cpi.tools.checks.combinations import Identity, Merged, Use, identity, vms
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.interfaces import Vm
from bosh_aws_cpi.tools.checks.naming import Launch, SubnetUse, texts
from bosh_aws_cpi.tools.findings import Finding, Severity


class References(Record):
    """All that a cloud config names in the account; the azs of other CPIs are elsewhere.

    Attributes:
        subnets: The subnets.
        managed: The cloud properties of managed networks' subnets, which the CPI creates.
        launches: The combinations for VMs.
        disk_types: The entries of disk types.
        knows_all_subnets: Whether each network of VMs names its subnets.
        vms: The VMs whose networks are known.
    """

    subnets: Sequence[SubnetUse]
    managed: Sequence[Node]
    launches: Sequence[Launch]
    disk_types: Sequence[Node]
    knows_all_subnets: bool
    vms: Sequence[Vm]

    @classmethod
    def of(cls, config: CloudConfig, uses: Iterable[Use] | None, known: Sequence[Vm]) -> "References":
        """Collect them.

        Args:
            config: The cloud config.
            uses: What a manifest asks for; None without a manifest.
            known: The VMs whose networks are known.
        """
        subnets = list(_subnets(config))
        return cls(
            [use for use in subnets if use is not None],
            list(_managed(config)),
            [Launch(each, _zone(each)) for each in vms(config, uses)],
            config.lists["disk_types"],
            knows_all_subnets=None not in subnets and "networks" not in config.open_lists,
            vms=known,
        )

    @property
    def plain(self) -> list[Launch]:
        """The combinations that can be deployed: an extension may fit few VM types."""
        return [each for each in self.launches if each.merged.use is not None or not each.merged.extensions]


class Named(Record):
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
