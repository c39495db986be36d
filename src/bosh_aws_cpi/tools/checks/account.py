"""Checks what a cloud config names in AWS: that it exists, and fits. One listing for each kind of thing."""

from collections.abc import Callable, Collection, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from bosh_aws_cpi.aws import lookups, routes
from bosh_aws_cpi.aws.lookups import HeldAddress, SubnetFacts
from bosh_aws_cpi.aws.sdk.errors import described
from bosh_aws_cpi.plan import nics
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.ranges import aws_addresses, range_of, ranges_of
from bosh_aws_cpi.tools.checks.references import References, SubnetUse
from bosh_aws_cpi.tools.findings import Finding, Severity

if TYPE_CHECKING:
    from bosh_aws_cpi.aws.sdk.clients import Clients
    from bosh_aws_cpi.config.aws_config import AwsConfig

Result = TypeVar("Result")
_FEW: Final = 10
"""With fewer free addresses, a subnet gets a note."""


class Account:
    """The account, as far as a cloud config names parts of it.

    Args:
        clients: The AWS clients.
        aws: The configuration, for its defaults.
        references: What the cloud config names.
    """

    def __init__(self, clients: "Clients", aws: "AwsConfig", references: References) -> None:
        self._clients = clients
        self._aws = aws
        self._references = references
        self._refused: list[Finding] = []

    def findings(self) -> Iterator[Finding]:
        """Ask AWS, and compare."""
        ec2, uses = self._clients.ec2, self._references.subnets
        ids = {use.subnet_id for use in uses}
        subnets = self._ask("the subnets", lambda: lookups.subnets(ec2, ids)) if ids else {}
        if subnets is not None:
            yield from self._subnets(uses, subnets)
            yield from self._addresses(uses, subnets)
            yield from self._groups(uses, subnets)
            yield from self._balancers({each.vpc_id for each in subnets.values()})
        yield from self._types()
        yield from self._named()
        yield from self._refused

    def _ask(self, what: str, call: Callable[[], Result]) -> Result | None:
        """Call AWS; None, with a finding, when it refuses."""
        try:
            return call()
        except (ClientError, BotoCoreError) as error:
            message = f"{what} were not checked: {described(error)}"
            self._refused.append(Finding(Severity.NOT_CHECKED, message, source="AWS"))
            return None

    def _subnets(self, uses: Sequence[SubnetUse], found: dict[str, SubnetFacts]) -> Iterator[Finding]:
        for use in uses:
            facts = found.get(use.subnet_id)
            if facts is None:
                yield _error(use.node, f"subnet '{use.subnet_id}' does not exist in {self._aws.region}")
                continue
            for zone, node in use.zones:
                if zone != facts.zone:
                    what = f"subnet '{facts.subnet_id}' is in zone {facts.zone}, but the az's zone is {zone}"
                    yield _error(use.node, what, f"Use a subnet in {zone}, or correct {node.path}")
            yield from _other_range(use, facts)
            if facts.free < _FEW:
                what = f"subnet '{facts.subnet_id}' has {facts.free} free addresses"
                yield Finding(Severity.NOTE, what, "Use a larger subnet", use.node.place, "AWS")

    def _addresses(self, uses: Sequence[SubnetUse], found: dict[str, SubnetFacts]) -> Iterator[Finding]:
        """Addresses that BOSH may give to a VM, although somebody else's interface holds them."""
        manual = [use for use in uses if use.subnet_id in found and use.entry.get("range") is not None]
        ids = {use.subnet_id for use in manual}
        held = (
            self._ask("held addresses", lambda: lookups.held_addresses(self._clients.ec2, ids)) if ids else []
        )
        for use in manual:
            if foreign := _foreign(use, held or []):
                listed = ", ".join(foreign)
                what = f"interfaces that BOSH did not create hold addresses in the range: {listed}"
                remedy = f"Add to reserved: [{listed}]"
                yield Finding(Severity.WARNING, what, remedy, use.entry.at("range").place, "AWS")

    def _groups(self, uses: Sequence[SubnetUse], subnets: dict[str, SubnetFacts]) -> Iterator[Finding]:
        vpcs = {each.vpc_id for each in subnets.values()}
        found = (
            self._ask("security groups", lambda: lookups.security_groups(self._clients.ec2, vpcs))
            if vpcs
            else None
        )
        if found is None:
            return
        there = {(vpc, entry) for group_id, name, vpc in found for entry in (group_id, name)}
        own = [(vpc, node) for node in self._references.named["security_groups"] for vpc in sorted(vpcs)]
        for use in uses:
            node = use.entry.get("cloud_properties", "security_groups")
            if use.subnet_id in subnets and node is not None:
                own += [
                    (subnets[use.subnet_id].vpc_id, each) for each in node.entries() if not each.is_unknown
                ]
        for vpc, node in own:
            if isinstance(node.value, str) and (vpc, node.value) not in there:
                what = "id" if nics.is_group_id(node.value) else "name"
                yield _error(node, f"VPC '{vpc}' has no security group with the {what} '{node.value}'")
        for vpc in sorted(vpcs):
            for group in self._aws.default_security_groups:
                if (vpc, group) not in there:
                    what = f"aws.default_security_groups: VPC '{vpc}' has no security group '{group}'"
                    yield Finding(Severity.WARNING, what, "VMs without own groups need it", source="AWS")

    def _types(self) -> Iterator[Finding]:
        launches = self._references.launches
        names = {name for name, _ in launches}
        zones = self._ask("zones", lambda: lookups.zones(self._clients.ec2)) or set()
        offers = (
            self._ask("instance types", lambda: lookups.offered_types(self._clients.ec2, names))
            if names
            else None
        )
        for (name, zone), node in launches.items():
            if offers is None or not zone or (name, zone) in offers:
                continue
            if zones and zone not in zones:
                yield _error(node, f"zone '{zone}', in which '{name}' is to be launched, is not available")
            elif any(offered == name for offered, _ in offers):
                others = ", ".join(sorted(where for offered, where in offers if offered == name))
                yield _error(node, f"zone {zone} does not offer type '{name}'", f"These do: {others}")
            else:
                yield _error(node, f"there is no instance type '{name}' in {self._aws.region}")

    def _named(self) -> Iterator[Finding]:
        """Key pairs, placement groups and route tables."""
        ec2 = self._clients.ec2
        kinds: tuple[tuple[str, str, Callable[[Collection[str]], Collection[str]]], ...] = (
            ("key_name", "key pair", lambda names: lookups.key_pairs(ec2, names)),
            ("placement_group", "placement group", lambda names: lookups.placement_groups(ec2, names)),
            ("route_tables", "route table", lambda ids: routes.tables(ec2, sorted(ids))),
        )
        for key, what, look in kinds:
            nodes = self._references.named[key]
            yield from self._missing(nodes, what, look)
        if default := self._aws.default_key_name:
            there = self._ask("key pairs", lambda: lookups.key_pairs(ec2, [default]))
            if there is not None and default not in there:
                message = f"aws.default_key_name: there is no key pair '{default}'"
                yield Finding(Severity.WARNING, message, "VMs without key_name need it", source="AWS")

    def _missing(
        self, nodes: Sequence[Node], what: str, look: Callable[[Collection[str]], Collection[str]]
    ) -> Iterator[Finding]:
        names = {str(node.value) for node in nodes}
        there = self._ask(f"{what}s", lambda: look(names)) if names else None
        for node in nodes:
            if there is not None and node.value not in there:
                yield _error(node, f"there is no {what} '{node.value}' in {self._aws.region}")

    def _balancers(self, vpcs: set[str]) -> Iterator[Finding]:
        """Classic load balancers and target groups, which must be in the VMs' VPC."""
        elbs, groups = self._references.named["elbs"], self._references.named["lb_target_groups"]
        clients = self._clients
        found = self._ask("load balancers", lambda: lookups.load_balancers(clients.elb)) if elbs else None
        for node in elbs if found is not None else ():
            yield from _misplaced(node, "classic load balancer", (found or {}).get(node.value), vpcs)
        targets = self._ask("target groups", lambda: lookups.target_groups(clients.elbv2)) if groups else None
        for node in groups if targets is not None else ():
            kind, vpc = (targets or {}).get(node.value, ("instance", None))
            if kind != "instance":
                yield _error(node, f"target group '{node.value}' has target type {kind}", "Use type instance")
            yield from _misplaced(node, "target group", vpc, vpcs)


def _misplaced(node: Node, what: str, vpc: str | None, vpcs: set[str]) -> Iterator[Finding]:
    if vpc is None:
        yield _error(node, f"there is no {what} '{node.value}'")
    elif vpc and vpcs and vpc not in vpcs:
        yield _error(
            node, f"{what} '{node.value}' is in VPC '{vpc}', but the subnets are in {', '.join(sorted(vpcs))}"
        )


def _other_range(use: SubnetUse, facts: SubnetFacts) -> Iterator[Finding]:
    node = use.entry.get("range")
    wanted = range_of(node.value) if node is not None else None
    if node is not None and wanted is not None and facts.cidr not in {"", str(wanted)}:
        yield _error(node, f"subnet '{facts.subnet_id}' has the range {facts.cidr}", f"Use {facts.cidr}")


def _foreign(use: SubnetUse, held: Sequence[HeldAddress]) -> list[str]:
    """Held addresses that are neither BOSH's, nor reserved, nor kept by AWS, as ranges."""
    node = use.entry.get("range")
    whole = range_of(node.value) if node is not None else None
    if not isinstance(whole, IPv4Network) or [*use.entry.at("reserved").variables()]:
        return []
    reserved = [network for each in ranges_of(use.entry.get("reserved"))[0] for network in each.networks]
    kept = [*reserved, *aws_addresses(whole)]
    found = {
        IPv4Address(each.address)
        for each in held
        if each.subnet_id == use.subnet_id and not each.is_of_bosh and IPv4Address(each.address) in whole
    }
    return list(_joined(sorted(each for each in found if not any(each in network for network in kept))))


def _joined(addresses: Sequence[IPv4Address]) -> Iterator[str]:
    """Neighbouring addresses as ranges: "10.0.1.7-10.0.1.9"."""
    start = None
    for index, address in enumerate(addresses):
        start = address if start is None else start
        if index + 1 < len(addresses) and int(addresses[index + 1]) == int(address) + 1:
            continue
        yield str(start) if start == address else f"{start}-{address}"
        start = None


def _error(node: Node, what: str, remedy: str = "") -> Finding:
    return Finding(Severity.ERROR, what, remedy, node.place, "AWS")
