"""The causes in the network: which connections a VM needs, and what stops each of them. Pure."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Final

from bosh_aws_cpi.model import Route
from bosh_aws_cpi.tools.diagnosis.facts import Facts
from bosh_aws_cpi.tools.diagnosis.paths import Path, inbound, outbound
from bosh_aws_cpi.tools.diagnosis.reachability import Traffic, is_within, route_to
from bosh_aws_cpi.tools.diagnosis.settings import Address, is_ip
from bosh_aws_cpi.tools.findings import Finding, Severity

_OF_AMAZON: Final = "AmazonProvidedDNS"
_UNFILTERED: Final = ("169.254.0.0/16", "fd00:ec2::/32")
"""Amazon's DNS, NTP and metadata servers: neither groups nor ACLs filter them, and they need no route."""
_RESOLVER: Final = 2
"""The VPC's DNS server is this address of its primary range."""


def director(facts: Facts) -> Iterator[Finding]:
    """The connection between the agent and the Director, or the operator's machine."""
    if facts.vm is None or facts.mbus is None:
        return
    traffic = Traffic("tcp", facts.mbus.port)
    if facts.is_inbound:
        path = Path(traffic, "the agent's message bus", Severity.ERROR)
        yield from inbound(path, facts.vm, facts.remote, facts.peer)
    elif facts.remote:
        yield from _holder(facts)
        path = Path(traffic, "the Director's message bus (NATS)", Severity.ERROR)
        yield from outbound(path, facts.vm, facts.remote, facts.peer)


def registry(facts: Facts) -> Iterator[Finding]:
    """The connection to the registry, from which the agents of old stemcells read their settings."""
    if facts.settings is not None and facts.settings.is_minimal:
        yield from _server(facts, facts.settings.registry, "the registry")


def blobstore(facts: Facts) -> Iterator[Finding]:
    """The connection to a blobstore: the agent answers without it, but can't install packages."""
    if facts.settings is not None:
        yield from _server(facts, facts.settings.blobstore, "the blobstore")


def _server(facts: Facts, server: Address | None, name: str) -> Iterator[Finding]:
    """The connection to a server, usually on the Director; one by name, or on the VM itself, is left out."""
    vm = facts.vm
    if vm is None or server is None or not is_ip(server.host) or ip_address(server.host).is_loopback:
        return
    peer = facts.peer if server.host == facts.remote else None
    path = Path(Traffic("tcp", server.port), name, Severity.ERROR)
    yield from outbound(path, vm, server.host, peer)


def servers(facts: Facts) -> Iterator[Finding]:
    """The connections to DNS and NTP servers, without which names or certificates may fail."""
    if facts.vm is None or facts.settings is None:
        return
    for names, port, what in (
        (facts.settings.dns, 53, "a DNS server"),
        (facts.settings.ntp, 123, "an NTP server"),
    ):
        for host in names:
            if is_ip(host) and not _is_of_amazon(facts, host):
                path = Path(Traffic("udp", port), what, Severity.WARNING)
                yield from outbound(path, facts.vm, host, None)


def notes(facts: Facts) -> Iterator[Finding]:
    """What matters only in some networks."""
    yield from _addressee(facts)
    yield from _dns(facts)
    yield from _names(facts)
    yield from _appliance(facts)


def _holder(facts: Facts) -> Iterator[Finding]:
    """The Director's address, if no interface is known to have it; other accounts' are not visible."""
    vpc, vm = facts.vpc, facts.vm
    if facts.holders is None or facts.peer is not None or vm is None:
        return
    if vpc is not None and any(is_within(facts.remote, cidr) for cidr in vpc.cidrs):
        is_own = vpc.owner_id == vm.endpoint.owner_id
        yield Finding(
            Severity.ERROR if is_own else Severity.WARNING,
            f"No network interface has the Director's address {facts.remote}, which is in the VM's VPC "
            f"{vpc.vpc_id}",
            "Correct the address in agent.mbus, or recreate the Director's VM",
            source="AWS",
        )
    else:
        yield Finding(
            Severity.NOTE,
            f"No interface of this account is known to be the Director's, {facts.remote}: its firewalls were "
            "not looked at",
        )


def _addressee(facts: Facts) -> Iterator[Finding]:
    mbus = facts.mbus
    if facts.vm is None or mbus is None:
        return
    if not facts.remote and not facts.is_inbound:
        yield Finding(
            Severity.NOT_CHECKED,
            f"The way to the message bus: its host '{mbus.host}' is a name",
            "Give its address with --director-address",
        )
    elif facts.is_inbound and not facts.remote and not facts.vm.endpoint.public:
        yield Finding(
            Severity.NOTE,
            "The VM has only private addresses: bosh create-env must run where it can reach them",
            "Use a VPN or a jumpbox, or give the VM a public address; --director-address checks the way from "
            "one machine",
        )


def _dns(facts: Facts) -> Iterator[Finding]:
    servers = facts.dns_servers
    is_needed = not facts.settings or not facts.settings.dns or _asks_amazon(facts)
    if facts.has_dns is False:
        yield Finding(
            Severity.WARNING if is_needed and (not servers or _OF_AMAZON in servers) else Severity.NOTE,
            "DNS is disabled in the VPC (enableDnsSupport), so Amazon's DNS server does not answer",
            "Enable it, or give the VM other DNS servers",
            source="AWS",
        )
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
    """NTP servers by name are usually outside."""
    vm = facts.vm
    names = [host for host in facts.settings.ntp if not is_ip(host)] if facts.settings else []
    if vm is None or vm.table is None or not names:
        return
    if not any(_leads_out(route, has_public=bool(vm.endpoint.public)) for route in vm.table.routes):
        yield Finding(
            Severity.NOTE,
            f"The NTP server {names[0]} may be in the internet, and the VM has no way there",
            "Use 169.254.169.123, Amazon's NTP server, or add a NAT gateway",
            source="AWS",
        )


def _leads_out(route: Route, *, has_public: bool) -> bool:
    if route.destination != "0.0.0.0/0" or route.is_blackhole:
        return False
    return has_public or not str(route.target.get("GatewayId", "")).startswith("igw-")


def _appliance(facts: Facts) -> Iterator[Finding]:
    """An instance that forwards packets, such as a NAT instance, must not check their addresses."""
    vm = facts.vm
    if vm is None or vm.table is None or not facts.remote:
        return
    route = route_to(vm.table, facts.remote)
    nic_id = route.target.get("NetworkInterfaceId") if route else None
    if route is not None and nic_id and not route.is_blackhole:
        yield Finding(
            Severity.NOTE,
            f"The route to {facts.remote} leads through network interface {nic_id}",
            "Check that its source/destination check is off, and that its instance forwards packets",
            source="AWS",
        )


def _asks_amazon(facts: Facts) -> bool:
    return any(_is_of_amazon(facts, host) for host in facts.settings.dns) if facts.settings else False


def _is_of_amazon(facts: Facts, host: str) -> bool:
    """Whether an address is one of Amazon's own servers."""
    if any(is_within(host, cidr) for cidr in _UNFILTERED):
        return True
    primary = facts.vpc.cidrs[0] if facts.vpc and facts.vpc.cidrs else ""
    return bool(primary) and ip_address(host) == ip_network(primary)[_RESOLVER]
