"""Whether the rules of a VPC let traffic through: routes, network ACLs, security groups. Pure.

The rules are those of the VPC user guide: "Route priority", "Network ACL rules" and "Security group rules".
"""

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Final, Literal

from bosh_aws_cpi.aws.firewalls import ALL, Acl, AclRule, GroupRule
from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.records import Record

EPHEMERAL: Final = (32768, 60999)
"""The ports from which Linux opens connections (ip_local_port_range), and so the ports of the answers."""
Share = Literal["all", "some", "none"]
_NUMBERS: Final = {"tcp": "6", "udp": "17"}
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
        rule.protocol in {ALL, traffic.protocol, _NUMBERS[traffic.protocol]}
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
    """For which of some ports a network ACL lets packets through.

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
    if rule.protocol not in {ALL, _NUMBERS[protocol]}:
        return False
    if address:
        return is_within(address, rule.cidr)
    return rule.is_allowing or rule.cidr in {"0.0.0.0/0", "::/0"}


def _is_allowed(rules: Iterable[AclRule], port: int) -> bool:
    """Whether the first rule for a port allows it; the rules of an ACL for all protocols have no ports."""
    return next((rule.is_allowing for rule in rules if rule.ports[0] <= port <= rule.ports[1]), False)
