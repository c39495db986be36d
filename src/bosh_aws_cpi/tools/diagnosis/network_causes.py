"""The causes in the network: which connections a VM needs, and what stops them; DNS, NAT. Pure."""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.route_tables import Route
from bosh_aws_cpi.tools.diagnosis.facts import Facts, Side, is_in_vpc, is_of_amazon
from bosh_aws_cpi.tools.diagnosis.paths import Path, inbound, is_meant, outbound
from bosh_aws_cpi.tools.diagnosis.reachability import Traffic, is_blocked, is_internet
from bosh_aws_cpi.tools.diagnosis.settings import Address, is_ip
from bosh_aws_cpi.tools.findings import Finding, Severity

_SSH: Final = 22
_OF_AMAZON: Final = "AmazonProvidedDNS"


def director(facts: Facts) -> Iterator[Finding]:
    """The connection between the agent and the Director, or the operator's machine."""
    if facts.vm is None or facts.mbus is None:
        return
    traffic = Traffic("tcp", facts.mbus.port)
    if facts.mbus.is_on_vm and not facts.is_inbound:
        yield Finding(
            Severity.ERROR,
            f"The message bus in the agent settings (mbus), {facts.mbus}, is on the VM itself: the agent "
            "does not reach the Director",
            "Give agent.mbus in cpi.json (the job's agent.mbus or nats.address) an address of the Director "
            "that VMs reach, then recreate the VM",
        )
    elif facts.is_inbound:
        path = Path(traffic, "the agent's message bus", Severity.ERROR)
        yield from inbound(path, facts.vm, facts.remote, facts.peer)
    else:
        if facts.remote:
            yield from _holder(facts)
            yield from _peer(facts)
        path = Path(traffic, "the Director's message bus (NATS)", Severity.ERROR)
        yield from outbound(path, facts.vm, facts.remote, facts.peer)
        yield from _forwarder(facts)


def registry(facts: Facts) -> Iterator[Finding]:
    """The connection to the registry, from which the agents of old stemcells read their settings.

    `bosh create-env` has its own registry, which the VM reaches through an SSH tunnel from the operator's
    machine (its cloud_provider.ssh_tunnel).
    """
    if facts.vm is None or facts.settings is None or not facts.settings.is_minimal:
        return
    server = facts.settings.registry
    if facts.is_inbound and server is not None and server.is_on_vm:
        path = Path(Traffic("tcp", _SSH), "the SSH tunnel to the registry", Severity.ERROR)
        yield from inbound(path, facts.vm, facts.remote, facts.peer)
    yield from _server(facts, server, "the registry")


def blobstore(facts: Facts) -> Iterator[Finding]:
    """The connection to a blobstore: the agent answers without it, but can't install packages."""
    if facts.settings is not None:
        yield from _server(facts, facts.settings.blobstore, "the blobstore")


def _server(facts: Facts, server: Address | None, name: str) -> Iterator[Finding]:
    """The connection to a server, usually on the Director; one on the VM itself is left out."""
    vm = facts.vm
    if vm is None or server is None or server.is_on_vm:
        return
    peer = facts.peer if server.host == facts.remote else None
    path = Path(Traffic("tcp", server.port), name, Severity.ERROR)
    yield from outbound(path, vm, server.host if is_ip(server.host) else "", peer)


def servers(facts: Facts) -> Iterator[Finding]:
    """The connections to DNS and NTP servers, without which names or certificates may fail."""
    if facts.vm is None or facts.settings is None:
        return
    for names, port, what in (
        (facts.settings.dns, 53, "a DNS server"),
        (facts.settings.ntp, 123, "an NTP server"),
    ):
        for host in names:
            if not is_of_amazon(facts, host):
                path = Path(Traffic("udp", port), what, Severity.WARNING)
                yield from outbound(path, facts.vm, host if is_ip(host) else "", None)


def _holder(facts: Facts) -> Iterator[Finding]:
    """The Director's address, if no interface is known to have it; EC2 does not show other accounts'."""
    vpc, vm = facts.vpc, facts.vm
    if facts.holders is None or facts.peer is not None or vm is None:
        return
    if vpc is not None and is_in_vpc(vpc, facts.remote):
        is_own = vpc.owner_id == vm.interface.owner_id
        yield Finding(
            Severity.ERROR if is_own else Severity.WARNING,
            f"No network interface has the Director's address {facts.remote}, which is in the VM's VPC "
            f"{vpc.vpc_id}",
            f"Correct {_source(facts)}, or recreate the Director's VM",
            source="AWS",
        )
    else:
        yield Finding(
            Severity.NOTE,
            f"It is not known which network interface has the Director's address {facts.remote}: its "
            "security groups, network ACL and routes were not looked at",
            "Check that they let the VM in",
        )


def _source(facts: Facts) -> str:
    """Where the Director's address comes from, and so may be wrong."""
    if not facts.is_remote_given:
        return "the address in agent.mbus"
    own = facts.mbus.host if facts.mbus is not None else ""
    return (
        f"--director-address (agent.mbus has {own})"
        if own not in {"", facts.remote}
        else "--director-address"
    )


def _peer(facts: Facts) -> Iterator[Finding]:
    """The Director's interface and instance, if they are known for certain."""
    vm, peer, health = facts.vm, facts.peer, facts.peer_health
    if vm is None or peer is None or not is_meant(vm, facts.remote, peer):
        return
    if peer.interface.status == "available":
        yield Finding(
            Severity.ERROR,
            f"The network interface with the Director's address {facts.remote}, {peer.interface.nic_id}, is "
            "attached to no instance",
            f"Recreate the Director's VM, or correct {_source(facts)}",
            source="AWS",
        )
    if health is None:
        return
    name = f"The Director's instance {peer.interface.own_vm_cid}"
    if health.state != "running":
        yield Finding(Severity.ERROR, f"{name} is {health.state}", "Start it, or recreate it", source="AWS")
    elif "impaired" in {health.system, health.instance}:
        what = f"{name} fails EC2's status checks"
        yield Finding(Severity.ERROR, what, "Reboot it, stop and start it, or recreate it", source="AWS")


def _forwarder(facts: Facts) -> Iterator[Finding]:
    """A NAT instance or a firewall on the way, which drops what it should forward."""
    nic = facts.forwarder
    if nic is not None and nic.drops_foreign:
        yield Finding(
            Severity.ERROR,
            f"The route to {facts.remote} leads through network interface {nic.nic_id}, which drops foreign "
            "packets: its source/destination check is on",
            f"Switch it off: aws ec2 modify-network-interface-attribute --network-interface-id {nic.nic_id} "
            "--no-source-dest-check",
            source="AWS",
        )


def notes(facts: Facts) -> Iterator[Finding]:
    """What a healthy VM may have, but one that does not answer may suffer from."""
    yield from _addressee(facts)
    yield from _behind_nat(facts)
    yield from _dns(facts)
    yield from _dhcp_options(facts)
    yield from _names(facts)
    yield from _forwarding(facts)


def _addressee(facts: Facts) -> Iterator[Finding]:
    """The other side of the agent's connections, if its address is not known."""
    mbus = facts.mbus
    if facts.vm is None or mbus is None:
        return
    if not facts.remote and not facts.is_inbound and not mbus.is_on_vm:
        yield Finding(
            Severity.NOT_CHECKED,
            f"the way to the message bus: its host '{mbus.host}' is a name",
            "Give its address with --director-address",
        )
    elif facts.is_inbound and not facts.remote and not facts.vm.interface.public:
        yield Finding(
            Severity.NOTE,
            "The VM has only private addresses: bosh create-env must run where it can reach them",
            "Use a VPN or a jumpbox, or give the VM a public address; --director-address checks the way from "
            "one machine",
        )


def _dns(facts: Facts) -> Iterator[Finding]:
    """DNS that is disabled in the VPC: a VM that asks Amazon's DNS server gets no answer."""
    if facts.has_dns is not False:
        return
    is_default = not facts.dns_servers or _OF_AMAZON in facts.dns_servers
    is_asked = is_default and (not facts.settings or not facts.settings.dns or _asks_amazon(facts))
    is_mbus = facts.mbus is not None and not facts.is_inbound and not is_ip(facts.mbus.host)
    worst = Severity.ERROR if is_mbus else Severity.WARNING
    yield Finding(
        worst if is_asked else Severity.NOTE,
        "DNS is disabled in the VPC (enableDnsSupport), so Amazon's DNS server does not answer",
        "Enable it, or give the VM other DNS servers",
        source="AWS",
    )


def _dhcp_options(facts: Facts) -> Iterator[Finding]:
    """DHCP options that do not name Amazon's DNS server."""
    servers = facts.dns_servers
    if servers == ():
        yield Finding(
            Severity.NOTE,
            "The VPC's DHCP options have no DNS servers",
            "Give the networks DNS servers (dns), or use DHCP options with domain-name-servers",
            source="AWS",
        )
    elif servers and _OF_AMAZON not in servers:
        yield Finding(
            Severity.NOTE,
            f"The VPC's DHCP options name their own DNS servers: {', '.join(servers)}",
            "Check that they answer",
            source="AWS",
        )


def _names(facts: Facts) -> Iterator[Finding]:
    """NTP servers and blobstores by name are usually outside the VPC, which needs a way out."""
    vm, settings = facts.vm, facts.settings
    if vm is None or vm.table is None or settings is None:
        return
    if any(_leads_out(route, vm) for route in vm.table.routes):
        return
    store = settings.blobstore
    # A gateway endpoint, as of S3, is the target of a route with a prefix list.
    has_endpoint = any("VpcEndpointId" in route.target for route in vm.table.routes)
    if store is not None and not is_ip(store.host) and not has_endpoint:
        yield Finding(
            Severity.NOTE,
            f"The blobstore {store.host} may be outside the VPC, and the VM has no way there",
            "Add a NAT gateway, or for S3 a VPC endpoint",
            source="AWS",
        )
    names = [host for host in settings.ntp if not is_ip(host)]
    if names:
        yield Finding(
            Severity.NOTE,
            f"The NTP server {names[0]} may be in the internet, and the VM has no way there",
            "Use 169.254.169.123, Amazon's NTP server, or add a NAT gateway",
            source="AWS",
        )


def _leads_out(route: Route, vm: Side) -> bool:
    """Whether a VM reaches the internet by a route; by an internet gateway it needs a public address."""
    if route.destination not in {"0.0.0.0/0", "::/0"} or route.is_blackhole:
        return False
    if is_blocked(route, vm.block_mode):
        return False
    return bool(vm.interface.public) or route.destination == "::/0" or not is_internet(route)


def _behind_nat(facts: Facts) -> Iterator[Finding]:
    """A Director that sees a NAT gateway's address, which only another call could tell."""
    route = facts.vm.route_to(facts.remote) if facts.vm and facts.peer and facts.remote else None
    if route is not None and "NatGatewayId" in route.target:
        yield Finding(
            Severity.NOTE,
            f"The VM reaches the Director through NAT gateway {route.target['NatGatewayId']}: the Director's "
            "rules were not compared",
            "Check that they let the NAT gateway's public address in",
            source="AWS",
        )


def _forwarding(facts: Facts) -> Iterator[Finding]:
    """A route through an instance that forwards packets, such as a NAT instance."""
    nic_id = facts.vm.forwarder_id(facts.remote) if facts.vm and facts.remote else ""
    if nic_id and not (facts.forwarder is not None and facts.forwarder.drops_foreign):
        checks = "" if facts.forwarder else "its source/destination check is off, and that "
        yield Finding(
            Severity.NOTE,
            f"The route to {facts.remote} leads through network interface {nic_id}",
            f"Check that {checks}its instance runs and forwards packets",
            source="AWS",
        )


def _asks_amazon(facts: Facts) -> bool:
    return any(is_of_amazon(facts, host) for host in facts.settings.dns) if facts.settings else False
