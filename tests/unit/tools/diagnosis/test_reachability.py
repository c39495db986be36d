"""The rules by which a VPC lets traffic through, each with its source in AWS's documents."""

from typing import Any

import pytest

from bosh_aws_cpi.aws.firewalls import ALL, ANY_PORT, Acl, AclRule, GroupRule
from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.tools.diagnosis.facts import (
    EPHEMERAL,
    Remote,
    Traffic,
    acl_share,
    groups_allow,
    route_to,
    table_of,
)

NATS = Traffic("tcp", 4222)
DIRECTOR = "10.0.2.6"
ANYWHERE = "0.0.0.0/0"


def table(table_id: str, *destinations: str, **more: Any) -> RouteTable:
    """Return a table of routes without black holes; the destination is the target's id."""
    routes = [Route(each, {"GatewayId": each}, is_blackhole=False) for each in destinations]
    return RouteTable(table_id, more.pop("vpc_id", "vpc-1"), routes, **more)


@pytest.mark.parametrize(
    ("subnet_id", "vpc_id", "expected"),
    [
        ("subnet-1", "vpc-1", "own"),
        ("subnet-2", "vpc-1", "main"),  # "implicitly associated with the main route table"
        ("subnet-3", "vpc-2", "other"),
        ("subnet-4", "vpc-3", None),
    ],
)
def test_table_of(subnet_id: str, vpc_id: str, expected: str | None) -> None:
    """A subnet has the table that it is associated with, else the VPC's main one (Subnet route tables)."""
    tables = [
        table("other", vpc_id="vpc-2", is_main=True),
        table("main", is_main=True),
        table("own", subnet_ids=frozenset({"subnet-1"})),
        table("neither"),
    ]
    found = table_of(tables, vpc_id, subnet_id)
    assert (found.table_id if found else None) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.0.1.1", "10.0.0.0/16"),
        ("10.0.7.7", "10.0.7.0/24"),  # "the most specific route that matches the traffic"
        ("10.0.7.9", "10.0.7.9/32"),
        ("52.1.2.3", ANYWHERE),
        ("2001:db8::1", "2001:db8::/56"),
        ("2001:db9::1", None),  # "routes for IPv4 and IPv6 addresses are independent of each other"
    ],
)
def test_route_to(address: str, expected: str | None) -> None:
    """The most specific route counts, and never a prefix list's (Route priority)."""
    routes = table("t", ANYWHERE, "10.0.7.0/24", "10.0.0.0/16", "10.0.7.9/32", "2001:db8::/56", "pl-1")
    found = route_to(routes, address)
    assert (found.destination if found else None) == expected


def test_black_hole() -> None:
    """A more specific route counts even if its target is gone: the traffic is dropped (Route, State)."""
    hole = Route("10.9.0.0/16", {"NatGatewayId": "nat-1"}, is_blackhole=True)
    whole = table("t", ANYWHERE)
    assert route_to(whole.replace(routes=[hole, *whole.routes]), "10.9.1.1") is hole


@pytest.mark.parametrize(
    ("rules", "traffic", "expected"),
    [
        ([], NATS, False),  # "if you remove all rules, no traffic is allowed"
        ([GroupRule("tcp", (4222, 4222), (ANYWHERE,))], NATS, True),
        ([GroupRule("6", (4222, 4222), (ANYWHERE,))], NATS, True),
        ([GroupRule("udp", (0, 65535), (ANYWHERE,))], NATS, False),
        ([GroupRule(ALL, ANY_PORT, (ANYWHERE,))], NATS, True),
        ([GroupRule("tcp", (4000, 4222), (ANYWHERE,))], NATS, True),
        ([GroupRule("tcp", (4223, 5000), (ANYWHERE,))], NATS, False),
        ([GroupRule("tcp", (4222, 4222), ("10.0.3.0/24", "::/0"))], NATS, False),
        ([GroupRule("tcp", (4222, 4222), ("10.0.3.0/24", "10.0.2.0/24"))], NATS, True),
        # "Security groups as a source": the private addresses of the group's members
        ([GroupRule("tcp", (4222, 4222), group_ids=("sg-1",))], NATS, True),
        ([GroupRule("tcp", (4222, 4222), group_ids=("sg-2",))], NATS, False),
        ([GroupRule("tcp", (4222, 4222), prefix_lists=("pl-1",))], NATS, True),
        ([GroupRule("udp", ANY_PORT, (ANYWHERE,)), GroupRule("tcp", ANY_PORT, (ANYWHERE,))], NATS, True),
    ],
)
def test_groups_allow(rules: list[GroupRule], traffic: Traffic, *, expected: bool) -> None:
    """A security group has only rules that allow, and any of them suffices (Security group rules)."""
    assert groups_allow(rules, traffic, Remote(DIRECTOR, frozenset({"sg-1"}))) is expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (GroupRule("tcp", (4222, 4222), ("192.0.2.7/32",)), True),
        (GroupRule("tcp", (4222, 4222), group_ids=("sg-9",)), True),
        (GroupRule("tcp", (4222, 4222)), False),
        (GroupRule("tcp", (22, 22), (ANYWHERE,)), False),
    ],
)
def test_groups_allow_somebody(rule: GroupRule, *, expected: bool) -> None:
    """An unknown address may be any that a rule names."""
    assert groups_allow([rule], NATS, Remote("")) is expected


def acl_rule(number: int, action: str, ports: tuple[int, int] = ANY_PORT, **more: Any) -> AclRule:
    """Return a rule for outgoing TCP to any address."""
    given = {"protocol": "6", "cidr": ANYWHERE, "is_egress": True, **more}
    return AclRule(number, ports=ports, is_allowing=action == "allow", **given)


ALLOW, DENY = acl_rule(100, "allow"), acl_rule(32767, "deny", protocol=ALL)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], "none"),  # the last rule, an asterisk, denies what no other one matches
        ([ALLOW], "all"),
        ([DENY, ALLOW], "all"),  # "starting with the lowest numbered rule"
        ([acl_rule(99, "deny", cidr="10.0.2.0/24"), ALLOW], "none"),
        ([acl_rule(99, "deny", cidr="10.0.3.0/24"), ALLOW], "all"),
        ([acl_rule(100, "allow", protocol="17"), DENY], "none"),
        ([acl_rule(100, "allow", protocol=ALL), DENY], "all"),
        ([acl_rule(100, "allow", is_egress=False), DENY], "none"),  # inbound rules do not count: stateless
        ([acl_rule(100, "allow", cidr="::/0"), DENY], "none"),
        ([acl_rule(100, "allow", (4222, 4222)), DENY], "none"),
        ([acl_rule(100, "allow", (32768, 60999)), DENY], "all"),
        ([acl_rule(100, "allow", (32769, 65535)), DENY], "some"),
        ([acl_rule(100, "allow", (1024, 60998)), DENY], "some"),
        ([acl_rule(100, "allow", (1024, 40000)), acl_rule(110, "allow", (40001, 65535)), DENY], "all"),
        ([acl_rule(100, "allow", (1024, 40000)), acl_rule(110, "allow", (40002, 65535)), DENY], "some"),
        ([acl_rule(90, "deny", (50000, 50000)), ALLOW], "some"),
    ],
)
def test_acl_share(rules: list[AclRule], expected: str) -> None:
    """The rule with the lowest number that matches a packet decides about it (Network ACL rules)."""
    acl = Acl("acl-1", "vpc-1", frozenset(), tuple(rules))
    assert acl_share(acl, egress=True, protocol="tcp", ports=EPHEMERAL, address=DIRECTOR) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([acl_rule(100, "allow", cidr="192.0.2.0/24"), DENY], "all"),
        ([acl_rule(100, "deny", cidr="192.0.2.0/24"), acl_rule(110, "allow"), DENY], "all"),
        ([acl_rule(100, "deny"), acl_rule(110, "allow"), DENY], "none"),
        ([DENY], "none"),
    ],
)
def test_acl_share_of_somebody(rules: list[AclRule], expected: str) -> None:
    """An unknown address may be any that a rule allows, unless all are denied before."""
    acl = Acl("acl-1", "vpc-1", frozenset(), tuple(rules))
    assert acl_share(acl, egress=True, protocol="tcp", ports=(6868, 6868), address="") == expected
