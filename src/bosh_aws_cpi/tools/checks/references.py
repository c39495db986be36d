"""What a cloud config names in AWS, with the places that name it. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from bosh_aws_cpi.records import Entity, Record
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.bosh.rules import name_of
from bosh_aws_cpi.tools.checks.combinations import ZONE, Identity, Merged, identity
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.interfaces import Vm
from bosh_aws_cpi.tools.checks.network_properties import entries_of
from bosh_aws_cpi.tools.findings import Finding, Severity

User = TypeVar("User")
"""What names things: a combination for VMs, or the cloud properties of a managed network."""


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
        return list(node.texts()) if node is not None and isinstance(node.value, list) else []

    def serves(self, az: Node | None) -> bool:
        """Whether VMs of an az may be in it; those without an az only if it has none."""
        return self.azs is None or (name_of(az) in self.azs if az is not None else not self.azs)


class References(Record):
    """All that a cloud config names in the account; the azs of other CPIs are elsewhere.

    Attributes:
        subnets: The subnets.
        managed: The cloud properties of managed networks' subnets, which the CPI creates.
        combinations: The combinations for VMs, and the extensions that nobody is known to use.
        disk_types: The entries of disk types.
        knows_all_subnets: Whether each network of VMs names its subnets.
        vms: The VMs whose networks are known.
    """

    subnets: Sequence[SubnetUse]
    managed: Sequence[Node]
    combinations: Sequence[Merged]
    disk_types: Sequence[Node]
    knows_all_subnets: bool
    vms: Sequence[Vm]

    @classmethod
    def of(cls, config: CloudConfig, combinations: Sequence[Merged], known: Sequence[Vm]) -> "References":
        """Collect them.

        Args:
            config: The cloud config.
            combinations: The combinations for VMs.
            known: The VMs whose networks are known.
        """
        subnets = list(_subnets(config))
        return cls(
            [use for use in subnets if use is not None],
            list(_managed(config)),
            combinations,
            config.lists["disk_types"],
            knows_all_subnets=None not in subnets and "networks" not in config.open_lists,
            vms=known,
        )

    @property
    def distinct(self) -> list[Merged]:
        """The combinations that differ in more than the zone."""
        return list({each.identity: each for each in self.combinations}.values())


def grouped(
    users: Iterable[User], nodes_of: Callable[[User], Iterable[Node]]
) -> list[tuple[Node, list[User]]]:
    """The values that users name, each with all that name it.

    Args:
        users: Those that name them.
        nodes_of: Returns the places of the values in one of them.
    """
    found: dict[Identity, tuple[Node, list[User]]] = {}
    for user in users:
        for node in nodes_of(user):
            found.setdefault(identity(node), (node, []))[1].append(user)
    return list(found.values())


def judged(
    node: Node,
    users: Iterable[User],
    judge: Callable[[User], str],
    remedy: str = "",
    otherwise: Severity = Severity.WARNING,
) -> Iterator[Finding]:
    """An error if a value is wrong for all its users.

    A cloud config does not say which VM types are deployed in which zones, so what is wrong in some of
    them only is no error.

    Args:
        node: The value.
        users: Those that name it.
        judge: Says what is wrong for one of them; empty if nothing is.
        remedy: What to do about it.
        otherwise: The severity if it is wrong for some only.
    """
    said = [judge(user) for user in users]
    if what := next(filter(None, said), ""):
        yield Finding(Severity.ERROR if all(said) else otherwise, what, remedy, node.place, "AWS")


def _subnets(config: CloudConfig) -> Iterator[SubnetUse | None]:
    """The subnets, except those that are only in the azs of other CPIs; None for one without a known id."""
    zones = {name_of(az): az.get("cloud_properties", ZONE) for az in config.own_azs}
    for entry in (each for network in config.lists["networks"] for each in _entries(network)):
        if config.is_of_others(entry):
            continue
        azs, node = zones_of(entry), entry.get("cloud_properties", "subnet")
        if node is None or node.is_unknown or not isinstance(node.value, str) or not node.value:
            yield None
            continue
        own = [zone for name in azs or () if (zone := zones.get(name)) is not None]
        yield SubnetUse(entry, node, azs, [(str(each.value), each) for zone in own for each in zone.texts()])


def _managed(config: CloudConfig) -> Iterator[Node]:
    for network in config.lists["networks"]:
        for entry in _entries(network) if network.value.get("managed") is True else ():
            section = entry.get("cloud_properties")
            if section is not None and not config.is_of_others(entry):
                yield section


def _entries(network: Node) -> Sequence[Node]:
    """What names the subnets of a network; the network itself, if they are not known."""
    return entries_of(network) or ([network] if type_of(network) != "vip" else [])
