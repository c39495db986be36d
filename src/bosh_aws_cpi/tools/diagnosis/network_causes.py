"""The causes in the network: which connections a VM needs, and what stops each of them. Pure."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from bosh_aws_cpi.tools.diagnosis.facts import Facts, is_in_vpc, is_of_amazon
from bosh_aws_cpi.tools.diagnosis.paths import Path, inbound, is_meant, outbound
from bosh_aws_cpi.tools.diagnosis.reachability import Traffic
from bosh_aws_cpi.tools.diagnosis.settings import Address, is_ip
from bosh_aws_cpi.tools.findings import Finding, Severity

_SSH: Final = 22


def director(facts: Facts) -> Iterator[Finding]:
    """The connection between the agent and the Director, or the operator's machine."""
    if facts.vm is None or facts.mbus is None:
        return
    traffic = Traffic("tcp", facts.mbus.port)
    if facts.is_inbound:
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
    if facts.is_inbound and server is not None and _is_loopback(server.host):
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
    if vm is None or server is None or _is_loopback(server.host):
        return
    peer = facts.peer if server.host == facts.remote else None
    path = Path(Traffic("tcp", server.port), name, Severity.ERROR)
    yield from outbound(path, vm, server.host if is_ip(server.host) else "", peer)


def _is_loopback(host: str) -> bool:
    return ip_address(host).is_loopback if is_ip(host) else host == "localhost"


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
            "Correct the address in agent.mbus, or recreate the Director's VM",
            source="AWS",
        )
    else:
        yield Finding(
            Severity.NOTE,
            f"It is not known which network interface has the Director's address {facts.remote}: its "
            "security groups, network ACL and routes were not looked at",
            "Check that they let the VM in",
        )


def _peer(facts: Facts) -> Iterator[Finding]:
    """The Director's interface and instance, if they are known for certain."""
    vm, peer, health = facts.vm, facts.peer, facts.peer_health
    if vm is None or peer is None or not is_meant(vm, facts.remote, peer):
        return
    if peer.interface.is_idle:
        yield Finding(
            Severity.ERROR,
            f"The network interface with the Director's address {facts.remote}, {peer.interface.nic_id}, is "
            "attached to no instance",
            "Recreate the Director's VM, or correct the address in agent.mbus",
            source="AWS",
        )
    if health is None:
        return
    name = f"The Director's instance {peer.interface.vm_cid}"
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
