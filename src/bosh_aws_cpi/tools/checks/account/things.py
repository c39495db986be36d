"""The things that properties name, kind by kind: each exists, and fits what names it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws import (
    firewalls,
    instance_types,
    instances,
    load_balancers,
    placement_groups,
    routes,
    subnets,
)
from bosh_aws_cpi.aws.instance_types import ACTIVE, Host, Reservation
from bosh_aws_cpi.aws.load_balancers import Misfit
from bosh_aws_cpi.aws.placement_groups import PlacementGroup
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.log import counted
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.account.subnets import KnownSubnets
from bosh_aws_cpi.tools.checks.combinations import Merged
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.property_values import name_in_arn, near_existing
from bosh_aws_cpi.tools.checks.references import grouped, judged
from bosh_aws_cpi.tools.findings import Finding, Place, Severity, as_warning

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_TO_COME: Final = frozenset({"assessing", "delayed", "payment-pending", "pending", "scheduled"})
"""States of a reservation that may become active (EC2's API model, CapacityReservation, State)."""
_RESERVATION: Final = "capacity_reservation"
_NOTE: Final = Severity.NOTE
_REMEDY: Final = "Use another one, or correct what names it"


class ThingKind(Record):
    """A kind of things.

    Attributes:
        what: What one is called.
        nodes_of: The places where a combination, or a managed network's properties, name some.
        lookup: Returns what AWS says of those that exist, by name or id, or only these.
        judge: Says why one does not fit what names it; empty if it does.
        otherwise: The severity if one does not fit some of those that name it.
        doubt: Says why one may not be usable; empty if it is.
        default: The key of the configuration's default, if there is one.
        service: The SDK's name of the service.
        takes_names: Whether `lookup` gets the names, besides the service's client.
    """

    what: str
    nodes_of: Callable[[Any], Iterable[Node]]
    lookup: Callable[..., Collection[str]]
    judge: Callable[[str, Any, Any], str] = lambda *_: ""
    otherwise: Severity = Severity.WARNING
    doubt: Callable[[Any], str] = lambda *_: ""
    default: str = ""
    service: str = "ec2"
    takes_names: bool = False

    def findings(self, users: Iterable[Any], ask: Callable[..., Any], aws: AwsConfig) -> Iterator[Finding]:
        """Compare those that are named with those that exist.

        Args:
            users: What may name some.
            ask: Makes a lookup.
            aws: The configuration, for its defaults.
        """
        users = list(users)
        found = grouped(users, self.nodes_of)
        default = getattr(aws, self.default) if self.default else None
        if not found and not default:
            return
        names = [{str(node.value) for node, _ in found}] if self.takes_names else []
        there = ask(f"{self.what}s", self.lookup, *names, service=self.service)
        if there is None:
            return
        for node, its_users in found:
            name = f"{self.what} '{node.value}'"
            if node.value not in there:
                yield absent(self.what, node.value, node.place, there)
                continue
            thing = there[node.value] if isinstance(there, Mapping) else None
            yield from judged(node, its_users, partial(self.judge, name, thing), _REMEDY, self.otherwise)
            if what := self.doubt(thing):
                yield Finding(Severity.WARNING, f"{name} {what}", "", node.place, "AWS")
        if default and default not in there:
            wrong = absent(self.what, default, Place(f"aws.{self.default}"), there)
            key = self.default.removeprefix("default_")
            is_used = any(not each.is_extension and not each.has(key) for each in users)
            yield wrong if is_used else as_warning(wrong)


def absent(what: str, name: str, place: Place, there: Collection[str] = ()) -> Finding:
    """An error about something that does not exist.

    Args:
        what: What it is: "key pair".
        name: Its name or id.
        place: Where it is named.
        there: The names of those that exist, if they are known.
    """
    own = name_in_arn(name) if name_in_arn(name) in there else ""
    remedy = f"Use its name, {own}" if own else near_existing(name, there)
    return Finding(Severity.ERROR, f"there is no {what} '{name}'", remedy, place, "AWS")


def _in_vpc(known: KnownSubnets, name: str, vpc: str, merged: Merged) -> str:
    """Why it is not in the VPC of the VMs; a balancer of EC2-Classic has no VPC."""
    vpcs = known.vpcs(merged)
    if not vpc or not vpcs or vpc in vpcs:
        return ""
    return f"{name} is in VPC '{vpc}', but the subnets are in {', '.join(vpcs)}"


def _takes_vms(known: KnownSubnets, name: str, group: tuple[Misfit | None, str], merged: Merged) -> str:
    wrong, vpc = group
    return f"{name} {wrong.why}" if wrong is not None else _in_vpc(known, name, vpc, merged)


def _in_vpc_of_network(name: str, vpc: str, section: Node) -> str:
    own = section.at("vpc_id").value
    return (
        f"{name} is in VPC '{vpc}', but the network in '{own}'" if isinstance(own, str) and own != vpc else ""
    )


def _has_partition(name: str, group: PlacementGroup, merged: Merged) -> str:
    """Why a group can't be used, or lacks a partition (EC2's API model, Placement, PartitionNumber)."""
    wanted = merged.get("placement_partition")
    if group.state != "available":
        return f"{name} is {group.state}"
    if wanted is None or not isinstance(wanted.value, int):
        return ""
    if group.strategy and group.strategy != "partition":
        return f"{name} has no partitions: its strategy is {group.strategy}, not partition"
    if group.partitions and wanted.value > group.partitions:
        return (
            f"{name} has {counted(group.partitions, 'partition')}, but placement_partition is {wanted.value}"
        )
    return ""


def _reserves(name: str, entry: Reservation, merged: Merged) -> str:
    """Why a reservation never takes a VM; only the first type is launched in it."""
    tenancy, market = merged.get("tenancy"), merged.get(_RESERVATION, "market")
    given = market.value if market is not None else ""
    if entry.state not in {ACTIVE, *_TO_COME}:
        return f"{name} is in state {entry.state}, not {ACTIVE}"
    if entry.instance_type not in {_first_type(merged) or entry.instance_type, ""}:
        return f"{name} is for {entry.instance_type}, but the VM's type is {_first_type(merged)}"
    if tenancy is not None and tenancy.value == "dedicated" != entry.tenancy:
        return f"{name} is for VMs with tenancy {entry.tenancy}, but the VM's is dedicated"
    if given != entry.market and not (market is not None and market.is_unknown):
        kind = f"the market type {entry.market}" if entry.market else "no market type"
        return f"{name} has {kind}, but {_RESERVATION}.market is {given or 'not set'}"
    return _elsewhere(name, entry.zone, merged)


def _has_no_room(entry: Reservation) -> str:
    """Why a reservation may take no VM yet; one that shows pending may take launches already.

    EC2 user guide, "View the state of a Capacity Reservation".
    """
    if entry.state in _TO_COME:
        return f"is in state {entry.state}, not {ACTIVE}: EC2 may refuse the VM until it is"
    return "has no room left for new VMs" if entry.state == ACTIVE and not entry.free else ""


def _hosts(name: str, entry: Host, merged: Merged) -> str:
    wanted = _first_type(merged)
    if entry.state != "available":
        return f"{name} is in state {entry.state}, not available"
    if wanted and not entry.runs(wanted):
        return f"{name} runs {entry.instance_type or entry.family}, but the VM's type is {wanted}"
    return _elsewhere(name, entry.zone, merged)


def _elsewhere(name: str, zone: str, merged: Merged) -> str:
    is_elsewhere = merged.zone and zone and merged.zone != zone
    return f"{name} is in zone {zone}, but the VM in {merged.zone}" if is_elsewhere else ""


def _first_type(merged: Merged) -> str:
    """``instance_type``; empty if it is not known."""
    return next((str(node.value) for node in merged.types), "")


def _vpcs_of_tables(ec2: "EC2Client", ids: set[str]) -> dict[str, str]:
    return {table_id: table.vpc_id for table_id, table in routes.tables(ec2, sorted(ids)).items()}


def _vpcs_of_acls(ec2: "EC2Client", ids: set[str]) -> dict[str, str]:
    return {acl_id: acl.vpc_id for acl_id, acl in firewalls.acls_by_id(ec2, ids).items()}


def _names(key: str) -> Callable[[Merged], list[Node]]:
    """The names that a property has; an ARN in place of one is refused anyway."""
    return lambda merged: [node for node in merged.named(key) if not name_in_arn(node.value)]


def _texts(key: str) -> Callable[[Node], list[Node]]:
    """The text that a property of a managed network has."""
    return lambda section: [
        each for node in [section.get(key)] if node and isinstance(node.value, str) for each in node.texts()
    ]


def _reservation(merged: Merged) -> list[Node]:
    return merged.chosen(_RESERVATION, "id", "market")


def _host(merged: Merged) -> list[Node]:
    return merged.chosen("dedicated_host", "id")


def of_vms(known: KnownSubnets) -> list[ThingKind]:
    """What VMs name."""
    in_vpc, takes_vms = partial(_in_vpc, known), partial(_takes_vms, known)
    return [
        ThingKind("key pair", _names("key_name"), instances.key_pairs, default="default_key_name"),
        ThingKind(
            "instance profile",
            _names("iam_instance_profile"),
            instances.instance_profiles,
            default="default_iam_instance_profile",
            service="iam",
        ),
        ThingKind("placement group", _names("placement_group"), placement_groups.by_name, _has_partition),
        ThingKind(
            "classic load balancer",
            _names("elbs"),
            load_balancers.vpcs_of_balancers,
            in_vpc,
            _NOTE,
            service="elb",
        ),
        ThingKind(
            "target group",
            Merged.target_groups,
            load_balancers.all_target_groups,
            takes_vms,
            _NOTE,
            service="elbv2",
        ),
        ThingKind("route table", Merged.route_tables, _vpcs_of_tables, in_vpc, _NOTE, takes_names=True),
        ThingKind(
            "capacity reservation", _reservation, instance_types.reservations, _reserves, doubt=_has_no_room
        ),
        ThingKind("Dedicated Host", _host, instance_types.hosts, _hosts),
    ]


OF_MANAGED: Final = [
    ThingKind("VPC", _texts("vpc_id"), subnets.vpcs, takes_names=True),
    ThingKind("route table", _texts("route_table"), _vpcs_of_tables, _in_vpc_of_network, takes_names=True),
    ThingKind("network ACL", _texts("network_acl"), _vpcs_of_acls, _in_vpc_of_network, takes_names=True),
]
"""What managed networks name."""
