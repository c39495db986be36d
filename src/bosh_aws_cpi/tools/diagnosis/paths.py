"""What stops the connections between a VM and another address, from near to far. Pure."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.diagnosis.facts import (
    EPHEMERAL,
    Remote,
    Side,
    Traffic,
    acl_share,
    is_internet,
    route_to,
)
from bosh_aws_cpi.tools.findings import Finding, Severity, of_aws

ANYBODY: Final = "any address"
"""The other side, when its address is not known."""
_CONNECTIONS: Final = frozenset({"VpcPeeringConnectionId", "TransitGatewayId", "CoreNetworkArn"})
"""The targets of routes that both VPCs can share."""
_INTERNET: Final = "8.8.8.8"
"""An address outside of AWS."""
_STATELESS: Final = "Network ACLs are stateless, so answers need a rule of their own"


class Path(Record):
    """Connections from one side to another.

    Attributes:
        traffic: What listens at the other side.
        name: What they are for: "the message bus".
        severity: The severity of what stops them.
    """

    traffic: Traffic
    name: str
    severity: Severity

    def finding(self, what: str, remedy: str) -> Finding:
        """A finding about this path."""
        return of_aws(self.severity, what, remedy)


def outbound(path: Path, vm: Side, address: str, peer: Side | None) -> Iterator[Finding]:
    """What stops connections from the VM to an address, from near to far.

    Args:
        path: The connections.
        vm: The VM's interface.
        address: The other side's address; empty when it is not known.
        peer: The other side's interface; None if it is not known, or not in this account.
    """
    if address in vm.interface.addresses:
        return
    peer_groups, destination = _private_groups(peer, address), address or ANYBODY
    if not vm.lets(path.traffic, Remote(address, peer_groups), is_out=True):
        yield path.finding(
            f"The security groups of the VM, {vm.groups_text}, let no {path.traffic} out to {destination}, "
            f"for {path.name}",
            f"Add an outbound rule for {path.traffic} to {destination} to one of them",
        )
    if peer is not None and _is_near(vm, address, peer):
        yield from _into_peer(path, peer, vm.as_seen_from(address))
        return
    yield from _acl(path, vm, "VM", address, is_client=True)
    if vm.table is not None and address:
        yield from _route(path, vm, vm.table, address)
    if peer is not None and (source := _as_seen(vm, address, peer)) is not None:
        far = path if is_meant(vm, address, peer) else path.replace(severity=Severity.WARNING)
        yield from _acl(far, peer, "Director", source.address, is_client=False)
        yield from _into_peer(far, peer, source)
        yield from _way_back(far, vm, peer, source.address)


def inbound(path: Path, vm: Side, address: str, peer: Side | None) -> Iterator[Finding]:
    """What stops connections from an address to the VM, from near to far.

    Args:
        path: The connections.
        vm: The VM's interface.
        address: The other side's address; empty when it is not known.
        peer: As in `outbound`.
    """
    source, groups = address or ANYBODY, _private_groups(peer, address)
    if not vm.lets(path.traffic, Remote(address, groups), is_out=False):
        yield path.finding(
            f"The security groups of the VM, {vm.groups_text}, let no {path.traffic} in from {source}, for "
            f"{path.name}",
            f"Add an inbound rule for {path.traffic} from the machine that runs bosh create-env",
        )
    if _is_near(vm, address, peer):
        return
    yield from _acl(path, vm, "VM", address, is_client=False)
    if vm.table is None:
        return
    if address:
        yield from _route(path.replace(name="the other side"), vm, vm.table, address)
    elif vm.interface.public and not is_internet(route_to(vm.table, _INTERNET)):
        yield path.finding(
            f"The VM has the public address {vm.interface.public[0]}, but route table {vm.table.table_id} of "
            f"its subnet {vm.interface.subnet_id} has no route to an internet gateway",
            "Route 0.0.0.0/0 to an internet gateway, or use the VM's private address",
        )


def is_meant(vm: Side, address: str, peer: Side) -> bool:
    """Whether an interface is certainly the one that the VM reaches by an address.

    VPCs without a connection may use the same private addresses: so an interface in another VPC must have a
    route to the same peering connection or transit gateway as the VM.
    """
    if peer.interface.vpc_id == vm.interface.vpc_id or ip_address(address).is_global:
        return True
    route = vm.route_to(address)
    if route is None or peer.table is None or _CONNECTIONS.isdisjoint(route.target):
        return False
    return any(each.target == route.target for each in peer.table.routes)


def _private_groups(peer: Side | None, address: str) -> frozenset[str]:
    """The groups of the other side that rules may name: they apply to its private addresses."""
    return frozenset(peer.interface.group_ids if peer and address in peer.interface.addresses else ())


def _is_near(vm: Side, address: str, peer: Side | None) -> bool:
    """Whether both sides are in one subnet: then neither network ACLs nor routes count."""
    if peer is None or address not in peer.interface.addresses:
        return False
    return peer.interface.subnet_id == vm.interface.subnet_id


def _acl(path: Path, side: Side, whose: str, remote: str, *, is_client: bool) -> Iterator[Finding]:
    """Check the network ACL of a side's subnet, for the packets to the port and for the answers."""
    if side.acl is None:
        return
    text = f"The network ACL {side.acl.acl_id} of the {whose}'s subnet {side.interface.subnet_id}"
    protocol, port = path.traffic.protocol, path.traffic.port
    way, preposition = ("outbound", "to") if is_client else ("inbound", "from")
    who = remote or ANYBODY
    if acl_share(side.acl, egress=is_client, protocol=protocol, ports=(port, port), address=remote) != "all":
        yield path.finding(
            f"{text} drops {path.traffic} {preposition} {who}, for {path.name}",
            f"Add an {way} rule that allows {path.traffic} {preposition} {who}",
        )
    share = acl_share(side.acl, egress=not is_client, protocol=protocol, ports=EPHEMERAL, address=remote)
    if share == "all":
        return
    back, opposite = ("inbound", "from") if is_client else ("outbound", "to")
    dropped = "the answers" if share == "none" else "a part of the answers"
    partly = path if share == "none" else path.replace(severity=Severity.WARNING)
    yield partly.finding(
        f"{text} drops {dropped} {opposite} {who}, for {path.name} ({protocol} ports {EPHEMERAL[0]} to "
        f"{EPHEMERAL[1]})",
        f"Add an {back} rule that allows {protocol} 1024 to 65535 {opposite} {who}. {_STATELESS}",
    )


def _route(path: Path, vm: Side, table: RouteTable, address: str) -> Iterator[Finding]:
    """Check the route table of the VM's subnet, and whether the VM can use its route."""
    route = route_to(table, address)
    text = f"Route table {table.table_id} of the VM's subnet {vm.interface.subnet_id}"
    if route is None:
        if any(each.destination.startswith("pl-") for each in table.routes):
            return
        yield path.finding(
            f"{text} has no route to {address}, {path.name}",
            "Add a route: to a peering connection or transit gateway for another VPC, to a NAT gateway or "
            "internet gateway for the internet",
        )
    elif route.is_blackhole:
        target = next(iter(map(str, route.target.values())), "its target")
        yield path.finding(
            f"{text} routes {route.destination}, and so {path.name} at {address}, to {target}, which is "
            "gone (a black hole)",
            "Point the route to a target that exists",
        )
    elif is_internet(route) and ":" not in address:
        yield from _internet(path, vm, route, address)


def _internet(path: Path, vm: Side, route: Route, address: str) -> Iterator[Finding]:
    """Check a route to an internet gateway, which serves only public addresses, on both sides."""
    gateway = route.target["GatewayId"]
    if not ip_address(address).is_global:
        yield path.finding(
            f"The only route to {address}, {path.name}, leads to the internet gateway {gateway}, but the "
            "address is private",
            "Add a route to the peering connection, transit gateway or VPN that leads there, or correct the "
            "address",
        )
    elif not vm.interface.public:
        yield path.finding(
            f"The route to {address}, {path.name}, leads to the internet gateway {gateway}, but the VM has "
            "no public address",
            "Give the VM one (a vip network, or auto_assign_public_ip), or route to a NAT gateway",
        )


def _into_peer(path: Path, peer: Side, source: Remote) -> Iterator[Finding]:
    """Check the Director's security groups."""
    if peer.lets(path.traffic, source, is_out=False):
        return
    yield path.finding(
        f"The security groups of the Director, {peer.groups_text}, let no {path.traffic} in from the VM, "
        f"{source.address}, for {path.name}",
        f"Add an inbound rule for {path.traffic} from the VM's security group, or from {source.address}, to "
        "one of them",
    )


def _way_back(path: Path, vm: Side, peer: Side, vm_address: str) -> Iterator[Finding]:
    """Check the route back, which another VPC needs; within one VPC there always is one."""
    if peer.table is None or peer.interface.vpc_id == vm.interface.vpc_id:
        return
    route = route_to(peer.table, vm_address)
    if route is not None and not route.is_blackhole:
        return
    lacks = "has no route" if route is None else "has only a black hole as a route"
    yield path.finding(
        f"Route table {peer.table.table_id} of the Director's subnet {peer.interface.subnet_id} {lacks} back "
        f"to the VM, {vm_address}",
        "Add a route to the same peering connection, transit gateway or VPN",
    )


def _as_seen(vm: Side, address: str, peer: Side) -> Remote | None:
    """The VM as the other side sees it; None if that depends on a NAT gateway or is not known.

    Rules that name a security group apply to private addresses only.
    """
    own = vm.as_seen_from(address)
    if address in peer.interface.addresses and peer.interface.vpc_id == vm.interface.vpc_id:
        return own
    route = vm.route_to(address)
    if route is None or "NatGatewayId" in route.target:
        return None
    if is_internet(route) and ":" not in address:
        return Remote(vm.interface.public[0]) if vm.interface.public else None
    return own
