"""What stops connections between a VM and another address, where no story shows it."""

from typing import Any

import pytest

from bosh_aws_cpi.aws.firewalls import GroupRule
from bosh_aws_cpi.tools.diagnosis.facts import Side, Traffic
from bosh_aws_cpi.tools.diagnosis.paths import Path, inbound, outbound
from bosh_aws_cpi.tools.findings import Severity
from tests.unit.tools.diagnosis.diagnosis_facts import DIRECTOR, LOCAL, VM, routed, side

NATS = Path(Traffic("tcp", 4222), "the Director's message bus (NATS)", Severity.ERROR)
AGENT = Path(Traffic("tcp", 6868), "the agent's message bus", Severity.ERROR)
BY_GROUP = GroupRule("tcp", (4222, 4222), group_ids=("sg-vm",))
PUBLIC = "52.1.2.3"
FAR = "10.50.1.6"


def stopped(vm: Side, address: str, peer: Side | None = None) -> list[str]:
    """What stops connections from the VM."""
    return [finding.what for finding in outbound(NATS, vm, address, peer)]


def unlike(there: Side, **changes: Any) -> Side:
    """A side whose interface differs."""
    return there.replace(interface=there.interface.replace(**changes))


def closed(there: Side) -> Side:
    """A side whose network ACL lets nothing pass."""
    assert there.acl is not None
    return there.replace(acl=there.acl.replace(rules=()))


VM_SIDE = side("vm", VM)
PEER = side("director", DIRECTOR, BY_GROUP)
FAR_PEER = routed(side("far", FAR, BY_GROUP, vpc_id="vpc-2"), "10.0.0.0/16", VpcPeeringConnectionId="pcx-1")
PEERED = routed(VM_SIDE, "10.50.0.0/16", VpcPeeringConnectionId="pcx-1")
BY_IGW = routed(VM_SIDE, "0.0.0.0/0", GatewayId="igw-1")
BY_NAT = routed(VM_SIDE, "0.0.0.0/0", NatGatewayId="nat-1")


@pytest.mark.parametrize(
    ("vm", "address", "peer"),
    [
        (VM_SIDE, DIRECTOR, PEER),
        (VM_SIDE, VM, None),  # a VM that is its own Director
        (PEERED, FAR, FAR_PEER),
        (BY_NAT, PUBLIC, None),
        (unlike(BY_IGW, public=("52.9.9.9",)), PUBLIC, None),
        (routed(VM_SIDE, "10.50.0.0/16", TransitGatewayId="tgw-1"), FAR, None),
        (routed(VM_SIDE, "10.50.0.0/16", GatewayId="vgw-1"), FAR, None),
        (routed(VM_SIDE, "pl-1", NatGatewayId="nat-1"), PUBLIC, None),  # the list may have the address
        (routed(VM_SIDE, "::/0", EgressOnlyInternetGatewayId="eigw-1"), "2600::6", None),
        (routed(VM_SIDE, "::/0", GatewayId="igw-1"), "2600::6", None),  # IPv6 has no private addresses
        (VM_SIDE.replace(groups=None, acl=None, table=None), PUBLIC, None),  # nothing is known
        (BY_NAT, PUBLIC, closed(side("director", DIRECTOR))),  # behind NAT the source is not known
        (closed(VM_SIDE), "10.0.1.6", closed(side("near", "10.0.1.6", BY_GROUP, subnet_id="subnet-vm"))),
    ],
)
def test_open(vm: Side, address: str, peer: Side | None) -> None:
    """Nothing stops a connection that all known rules allow."""
    inside = vm.replace(acl=None) if ":" in address else vm  # its ACL's rules are for IPv4
    assert stopped(inside, address, peer) == []


@pytest.mark.parametrize(
    ("vm", "address", "what"),
    [
        (VM_SIDE, FAR, f"has no route to {FAR}"),
        (routed(VM_SIDE, "10.50.0.0/16", is_blackhole=True, NatGatewayId="nat-1"), FAR, "a black hole"),
        (BY_IGW, PUBLIC, "but the VM has no public address"),
    ],
)
def test_route(vm: Side, address: str, what: str) -> None:
    """An address outside of the VPC needs a route that the VM can use."""
    (found,) = stopped(vm, address)
    assert what in found


def test_routes_that_are_not_known() -> None:
    """Within a VPC the other side's rules count even if the routes are not known."""
    vm = VM_SIDE.replace(table=None)
    assert len(stopped(vm, DIRECTOR, PEER.replace(groups=()))) == 1
    assert stopped(PEERED.replace(table=None), FAR, FAR_PEER.replace(groups=())) == []


def test_public_address() -> None:
    """By a public address the Director sees the VM's public one, and rules that name groups don't apply."""
    vm = unlike(BY_IGW, public=("52.9.9.9",))
    peer = unlike(PEER, public=(PUBLIC,))
    (what,) = stopped(vm, PUBLIC, peer)
    assert "in from the VM, 52.9.9.9" in what
    by_address = side(
        "director", DIRECTOR, GroupRule("tcp", (4222, 4222), ("52.9.9.0/24",)), public=(PUBLIC,)
    )
    assert stopped(vm, PUBLIC, by_address) == []
    only_to_group = GroupRule("tcp", (4222, 4222), group_ids=("sg-director",))
    assert vm.groups is not None
    strict = vm.replace(groups=(vm.groups[0].replace(egress=(only_to_group,)),))
    assert stopped(strict.replace(table=VM_SIDE.table), DIRECTOR, PEER) == []
    assert stopped(strict, PUBLIC, by_address)[0].startswith("The security groups of the VM")


def test_ipv6() -> None:
    """By IPv6 the Director sees the VM's own address, also through an internet gateway."""
    vm = routed(side("vm", VM, addresses=(VM, "2001:db8::a")), "::/0", GatewayId="igw-1")
    peer = side("director", "2600::6", vpc_id="vpc-2")
    assert (
        "in from the VM, 2001:db8::a" in stopped(vm.replace(acl=None), "2600::6", peer.replace(acl=None))[0]
    )


def test_way_back() -> None:
    """Another VPC needs a route back whose target exists."""
    assert FAR_PEER.table is not None
    local = LOCAL.replace(destination="10.50.0.0/16")
    far = FAR_PEER.replace(table=FAR_PEER.table.replace(routes=[local]))
    assert "has no route back to the VM, 10.0.1.10" in stopped(PEERED, FAR, far)[0]
    gone = routed(far, "10.0.0.0/16", is_blackhole=True, VpcPeeringConnectionId="pcx-1")
    assert "has only a black hole as a route back" in stopped(PEERED, FAR, gone)[0]


def test_partly_dropped_answers() -> None:
    """An ACL that drops a part of the answers is a warning: some connections succeed."""
    assert VM_SIDE.acl is not None
    out, back = VM_SIDE.acl.rules
    vm = VM_SIDE.replace(acl=VM_SIDE.acl.replace(rules=(out, back.replace(ports=(40000, 65535)))))
    (finding,) = outbound(NATS, vm, DIRECTOR, PEER)
    assert finding.severity is Severity.WARNING
    assert "drops a part of the answers from 10.0.2.6" in finding.what


@pytest.mark.parametrize(
    ("vm", "address", "words"),
    [
        (VM_SIDE, "", ["let no tcp 6868 in from any address"]),
        (
            closed(VM_SIDE),
            "",
            ["let no tcp 6868 in", "drops tcp 6868 from any address", "drops the answers to any address"],
        ),
        (VM_SIDE, FAR, ["let no tcp 6868 in from 10.50.1.6", "has no route to 10.50.1.6, the other side"]),
        (VM_SIDE.replace(groups=None, acl=None, table=None), FAR, []),
    ],
)
def test_inbound(vm: Side, address: str, words: list[str]) -> None:
    """Connections in the other direction, to the agent of `bosh create-env`, are judged likewise."""
    found = [finding.what for finding in inbound(AGENT, vm, address, None)]
    assert len(found) == len(words)
    assert [word for word, what in zip(words, found, strict=True) if word not in what] == []


def test_jumpbox() -> None:
    """A jumpbox in the account may be named by its group; within the VM's subnet nothing else filters."""
    by_group = GroupRule("tcp", (6868, 6868), group_ids=("sg-jumpbox",))
    vm = closed(side("vm", VM, by_group))
    jumpbox = side("jumpbox", "10.0.1.7")
    assert len(list(inbound(AGENT, vm, "10.0.1.7", jumpbox))) == 2  # the network ACL
    assert list(inbound(AGENT, vm, "10.0.1.7", unlike(jumpbox, subnet_id="subnet-vm"))) == []
    assert len(list(inbound(AGENT, vm, "10.0.1.7", None))) == 3


@pytest.mark.parametrize(
    ("own", "back", "address", "severity"),
    [
        ({"TransitGatewayId": "tgw-1"}, {"TransitGatewayId": "tgw-1"}, FAR, Severity.ERROR),
        ({"TransitGatewayId": "tgw-1"}, {"TransitGatewayId": "tgw-2"}, FAR, Severity.WARNING),
        ({"VpcPeeringConnectionId": "pcx-1"}, {"VpcPeeringConnectionId": "pcx-1"}, FAR, Severity.ERROR),
        ({"VpcPeeringConnectionId": "pcx-1"}, {"NatGatewayId": "nat-1"}, FAR, Severity.WARNING),
        ({"GatewayId": "vgw-1"}, {"GatewayId": "vgw-1"}, FAR, Severity.WARNING),
        ({"GatewayId": "igw-1"}, {"GatewayId": "igw-2"}, PUBLIC, Severity.ERROR),
    ],
)
def test_certainty(own: dict[str, Any], back: dict[str, Any], address: str, severity: Severity) -> None:
    """Private addresses may occur twice: another VPC's firewalls are errors only if both are connected."""
    vm = unlike(routed(VM_SIDE, f"{address}/32", **own), public=("52.9.9.9",))
    peer = routed(side("far", FAR, vpc_id="vpc-2", public=(PUBLIC,)), "0.0.0.0/0", **back)
    (finding,) = outbound(NATS, vm, address, peer)
    assert (finding.severity, "let no tcp 4222 in" in finding.what) == (severity, True)
