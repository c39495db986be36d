"""What `cpi diagnose` knows about a VM, and whether a VPC's rules let its traffic through. Pure.

The rules are those of the VPC user guide: "Route priority", "Network ACL rules" and "Security group rules".
"""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Final, Literal

from bosh_aws_cpi.aws.firewalls import ALL, Acl, AclRule, Group, GroupRule
from bosh_aws_cpi.aws.instances import Health
from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.aws.subnets import Vpc
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.diagnosis.agent_settings import Address, AgentSettings, is_ip
from bosh_aws_cpi.tools.findings import Finding

EPHEMERAL: Final = (32768, 60999)
"""The ports from which Linux opens connections (ip_local_port_range), and so the ports of the answers."""
Share = Literal["all", "some", "none"]
_PROTOCOL_NUMBERS: Final = {"tcp": "6", "udp": "17"}
"""The protocols' numbers, which network ACLs use."""


class Traffic(Record):
    """Packets of one protocol to one port: a connection, or the question to a server.

    Attributes:
        protocol: "tcp" or "udp".
        port: The port on the side that listens.
    """

    protocol: str
    port: int

    def __str__(self) -> str:
        return f"{self.protocol} {self.port}"


class Remote(Record):
    """The other side of some traffic, as a rule sees it.

    Attributes:
        address: Its address; empty when it is not known: then any source that a rule names may be it.
        group_ids: Its security groups; empty if it is seen by a public address, or has none.
    """

    address: str
    group_ids: frozenset[str] = frozenset()


def table_of(tables: Iterable[RouteTable], vpc_id: str, subnet_id: str) -> RouteTable | None:
    """The route table of a subnet: its own, or else the VPC's main one."""
    of_vpc = [table for table in tables if table.vpc_id == vpc_id]
    own = [table for table in of_vpc if subnet_id in table.subnet_ids]
    return next(iter([*own, *(table for table in of_vpc if table.is_main)]), None)


def route_to(table: RouteTable, address: str) -> Route | None:
    """The route for an address: the most specific one that matches, even if its target is gone.

    Routes to prefix lists don't count, because their entries are not known.
    """
    matching = [route for route in table.routes if is_within(address, route.destination)]
    return max(matching, key=lambda route: int(route.destination.partition("/")[2]), default=None)


def is_internet(route: Route | None) -> bool:
    """Whether a route leads to an internet gateway."""
    return route is not None and str(route.target.get("GatewayId", "")).startswith("igw-")


def is_within(address: str, cidr: str) -> bool:
    """Whether an address lies in a range; False for a text that is no range, such as a prefix list's id."""
    return "/" in cidr and ip_address(address) in ip_network(cidr, strict=False)


def groups_allow(rules: Iterable[GroupRule], traffic: Traffic, remote: Remote) -> bool:
    """Whether security groups let traffic through: any rule of any of the groups suffices.

    Groups are stateful: the answers may always pass. A rule with a prefix list counts as if it matched, and
    so does an outbound rule that names a group behind a transit gateway, which AWS does not support.
    """
    return any(
        rule.protocol in {ALL, traffic.protocol, _PROTOCOL_NUMBERS[traffic.protocol]}
        and rule.ports[0] <= traffic.port <= rule.ports[1]
        and _names(rule, remote)
        for rule in rules
    )


def _names(rule: GroupRule, remote: Remote) -> bool:
    if rule.prefix_lists or (not remote.address and (rule.cidrs or rule.group_ids)):
        return True
    within = any(is_within(remote.address, cidr) for cidr in rule.cidrs if remote.address)
    return within or not remote.group_ids.isdisjoint(rule.group_ids)


def acl_share(acl: Acl, *, egress: bool, protocol: str, ports: tuple[int, int], address: str) -> Share:
    """Whether a network ACL lets packets through to all, some or none of the ports.

    An ACL is stateless: the answers need a rule of their own. For each packet the matching rule with the
    lowest number decides; without one, the packet is dropped.

    Args:
        acl: The ACL.
        egress: Whether the packets leave the subnet.
        protocol: "tcp" or "udp".
        ports: The first and the last destination port.
        address: The address outside the subnet; empty when it is not known: then only the rules for all
            addresses count, and a rule that allows some addresses.
    """
    rules = sorted(
        (rule for rule in acl.rules if rule.is_egress is egress and _concerns(rule, protocol, address)),
        key=lambda rule: rule.number,
    )
    first, last = ports
    edges = {first, last} | {edge for rule in rules for edge in (rule.ports[0], rule.ports[1] + 1)}
    allowed = {_is_allowed(rules, port) for port in edges if first <= port <= last}
    return "all" if allowed == {True} else "none" if allowed == {False} else "some"


def _concerns(rule: AclRule, protocol: str, address: str) -> bool:
    if rule.protocol not in {ALL, _PROTOCOL_NUMBERS[protocol]}:
        return False
    if address:
        return is_within(address, rule.cidr)
    return rule.is_allowing or rule.cidr in {"0.0.0.0/0", "::/0"}


def _is_allowed(rules: Iterable[AclRule], port: int) -> bool:
    """Whether the first rule for a port allows it; the rules of an ACL for all protocols have no ports."""
    return next((rule.is_allowing for rule in rules if rule.ports[0] <= port <= rule.ports[1]), False)


_UNFILTERED: Final = ("169.254.0.0/16", "fd00:ec2::/32")
"""Amazon's DNS, NTP and metadata servers: traffic to them needs no route, and neither security groups nor
network ACLs filter it."""
_RESOLVER: Final = 2
"""The VPC's DNS server is this address of its primary range."""


class Side(Record):
    """One end of a connection, with its filters and routes; None for what is not known."""

    interface: Nic
    groups: tuple[Group, ...] | None
    acl: Acl | None
    table: RouteTable | None

    @property
    def groups_text(self) -> str:
        """The ids and names of its security groups."""
        return ", ".join(f"{group.group_id} ({group.name})" for group in self.groups or ())

    def lets(self, traffic: Traffic, remote: Remote, *, is_out: bool) -> bool:
        """Whether its security groups let traffic through; they do if they are not known."""
        rules = [rule for each in self.groups or () for rule in (each.egress if is_out else each.ingress)]
        return self.groups is None or groups_allow(rules, traffic, remote)

    def as_seen_from(self, other: str) -> Remote:
        """This side as the rules at another address see it, unless a gateway changes its address."""
        own = next((each for each in self.interface.addresses if (":" in each) is (":" in other)), "")
        return Remote(own, frozenset(self.interface.group_ids))

    def route_to(self, address: str) -> Route | None:
        """The route of its subnet for an address; None also when the routes are not known."""
        return route_to(self.table, address) if self.table else None


def side(
    interface: Nic,
    groups: Mapping[str, Group] | None,
    acls: Iterable[Acl] | None,
    tables: Iterable[RouteTable] | None,
) -> Side:
    """An interface with its groups, its subnet's network ACL and its subnet's route table.

    The groups count only if all are known. In a shared VPC, another account's are not; some interfaces of
    AWS, such as those of load balancers, have none.
    """
    known, ids = groups or {}, interface.group_ids
    return Side(
        interface,
        tuple(known[each] for each in ids) if ids and known.keys() >= set(ids) else None,
        next((acl for acl in acls or () if interface.subnet_id in acl.subnet_ids), None),
        table_of(tables or (), interface.vpc_id, interface.subnet_id),
    )


class Facts(Record):
    """Everything that is known; None for what could not be looked at, or does not exist.

    Attributes:
        instance: The instance.
        health: The instance's state and status checks.
        console: The console's text, without secrets.
        settings: The agent settings in user data.
        mbus: The agent's message bus: from user data, else from the configuration.
        remote: The address of the other side of the agent's connections: the Director, or the operator's
            machine; empty when it is not known.
        is_remote_given: Whether the operator gave that address (``--director-address``).
        vm: The interface through which the VM reaches the other side.
        peer: The interface of the other side, if it is in the same account.
        holders: All interfaces that have the other side's address, or that of a DNS server in the VPC, by
            the address.
        peer_health: The state and status checks of the other side's instance.
        vpc: The VM's VPC.
        has_dns: Whether the VPC's own DNS server answers.
        not_checked: Findings about what could not be looked at.
    """

    instance: Instance
    health: Health | None = None
    console: str | None = None
    settings: AgentSettings | None = None
    mbus: Address | None = None
    remote: str = ""
    is_remote_given: bool = False
    vm: Side | None = None
    peer: Side | None = None
    holders: Mapping[str, Sequence[Nic] | None] = EMPTY
    peer_health: Health | None = None
    vpc: Vpc | None = None
    has_dns: bool | None = None
    not_checked: tuple[Finding, ...] = ()

    @property
    def is_inbound(self) -> bool:
        """Whether the other side connects to the agent, as `bosh create-env` does."""
        return self.mbus is not None and self.mbus.is_of_agent


def own_interface(interfaces: Sequence[Nic], gateway: str, peer: Nic | None) -> Nic | None:
    """The interface through which a VM reaches a peer.

    It is the interface in the peer's subnet, else the one of the default gateway, else the first.
    """
    near = [each for each in interfaces if peer is not None and each.subnet_id == peer.subnet_id]
    default = [each for each in interfaces if gateway in each.addresses]
    return next(iter([*near, *default, *interfaces]), None)


def peer_interface(holders: Iterable[Nic], vpc_ids: set[str], *, is_local: bool) -> Nic | None:
    """Choose the interface that an address belongs to: the one in the VM's own VPC, or else the only one.

    Args:
        holders: All interfaces with the address.
        vpc_ids: The VM's VPC.
        is_local: Whether the address is in the range of the VM's VPC: then no other VPC's interface is meant.
    """
    found = list(holders)
    near = [each for each in found if each.vpc_id in vpc_ids]
    only = found[0] if len(found) == 1 and not is_local else None
    return near[0] if near else only


def is_in_vpc(vpc: Vpc | None, address: str) -> bool:
    """Whether a host is an address in one of a VPC's ranges."""
    return vpc is not None and is_ip(address) and any(is_within(address, cidr) for cidr in vpc.cidrs)


def is_of_amazon(vpc: Vpc | None, host: str) -> bool:
    """Whether an address is one of Amazon's own servers."""
    if is_ip(host) and any(is_within(host, cidr) for cidr in _UNFILTERED):
        return True
    primary = vpc.cidrs[0] if vpc and vpc.cidrs else ""
    return is_ip(host) and bool(primary) and ip_address(host) == ip_network(primary)[_RESOLVER]
