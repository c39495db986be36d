"""The causes for which a VM does not answer: in the VM, and in the network to the Director. Pure."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

from bosh_aws_cpi.cpi.vms.create import launch_outcomes
from bosh_aws_cpi.plan.placement import SETTINGS_BY_IPV4
from bosh_aws_cpi.tools.diagnosis import console
from bosh_aws_cpi.tools.diagnosis.agent_settings import is_ip
from bosh_aws_cpi.tools.diagnosis.facts import Facts, Traffic, is_in_vpc, is_of_amazon
from bosh_aws_cpi.tools.diagnosis.paths import Path, inbound, is_meant, outbound
from bosh_aws_cpi.tools.findings import Finding, Severity, of_aws, sort_distinct

_RECREATE: Final = "Recreate the VM with `bosh cck`"
_START_VM: Final = "Start it with `bosh cck` (reboot the VM)"
_NOT_RUNNING: Final = {
    "pending": (Severity.WARNING, "EC2 is still starting it: wait a minute, and repeat this command"),
    "stopping": (Severity.ERROR, "Wait until it is stopped, then start it with `bosh cck` (reboot the VM)"),
    "stopped": (Severity.ERROR, _START_VM),
    "shutting-down": (Severity.ERROR, _RECREATE),
    "terminated": (Severity.ERROR, _RECREATE),
}
_DELETED_BY_USER: Final = (
    "If BOSH deleted it after a time-out: set director.debug.keep_unreachable_vms to true, deploy the "
    "Director, repeat the deployment, and run this command for the new VM. Else recreate it with `bosh cck`"
)
_SHUT_DOWN: Final = "It shut itself down: for an hour, `aws ec2 get-console-output` may tell why"
_TAKEN_BACK: Final = f"EC2 took the Spot instance back. {_RECREATE}, or don't use spot or spot_bid_price"
_NO_ROOM: Final = "EC2 has no room: recreate the VM with another instance type or in another zone"
_REASONS: Final = {
    ("Client.UserInitiatedShutdown", "terminated"): _DELETED_BY_USER,
    ("Client.UserInitiatedShutdown", "shutting-down"): _DELETED_BY_USER,
    ("Client.InstanceInitiatedShutdown", "terminated"): f"{_SHUT_DOWN}. {_RECREATE}",
    ("Client.InstanceInitiatedShutdown", "stopped"): f"{_SHUT_DOWN}. {_START_VM}",
    ("Server.InsufficientInstanceCapacity", "terminated"): _NO_ROOM,
    ("Server.InsufficientInstanceCapacity", "stopped"): _NO_ROOM,
    ("Server.SpotInstanceShutdown", "stopped"): _TAKEN_BACK,
    ("Server.SpotInstanceTermination", "terminated"): _TAKEN_BACK,
}
"""Remedies by EC2's reason (API reference, StateReason) and the instance's state; `launch_outcomes` has those
of reasons for which a launch fails."""


def _state(facts: Facts) -> Iterator[Finding]:
    """Report an instance that does not run, with EC2's reason."""
    instance = facts.instance
    if instance.state not in _NOT_RUNNING:
        return
    severity, usual = _NOT_RUNNING[instance.state]
    code, text = "", ""
    if instance.state_reason is not None:
        code, text = instance.state_reason.code, f": {instance.state_reason.text.rstrip('.')}"
    special = _REASONS.get((code, instance.state)) or launch_outcomes.remedy(instance).removeprefix(". ")
    what = f"The instance is not running but {instance.state}{text}"
    yield of_aws(severity, what, special or usual)


def _status_checks(facts: Facts) -> Iterator[Finding]:
    """Report failed status checks of EC2 (user guide, "Status checks for your instances")."""
    health = facts.health
    if health is None:
        return
    failed = [
        (health.system, "system", "AWS's host or network fails", "Stop and start the VM, or recreate it"),
        (
            health.instance,
            "instance",
            "the VM's kernel or network does not work",
            "Look at the console's last lines; reboot or recreate the VM",
        ),
        (health.disks, "attached EBS", "a disk can't be reached", "Look at the volumes; recreate the VM"),
    ]
    for status, name, what, remedy in failed:
        if status == "impaired":
            yield of_aws(Severity.ERROR, f"EC2's {name} status check fails: {what}", remedy)
    if not {"initializing", "insufficient-data"}.isdisjoint({health.system, health.instance}):
        yield of_aws(
            Severity.NOTE,
            "EC2's status checks are not complete: perhaps the VM started a few minutes ago",
            "Repeat this command in two minutes",
        )


def _metadata(facts: Facts) -> Iterator[Finding]:
    """Instance metadata, from which the agent reads user data.

    A hop limit of 1, the lowest that EC2 accepts, suffices: the agent does not run in a container.
    """
    if facts.instance.metadata_endpoint == "disabled":
        yield of_aws(
            Severity.ERROR,
            "Instance metadata is disabled (HttpEndpoint), so the agent can't read its settings",
            "Set metadata_options.http_endpoint to enabled, and recreate the VM",
        )
    first = next(iter(facts.instance.nics), None)
    if first and first.addresses and all(":" in each for each in first.addresses):
        what = f"The VM's first interface is in an IPv6-only subnet: {SETTINGS_BY_IPV4}"
        yield of_aws(Severity.WARNING, what, "Use a dual-stack subnet, and recreate the VM")


def _user_data(facts: Facts) -> Iterator[Finding]:
    """Report user data that the agent can't use."""
    if facts.settings is not None and facts.settings.problem:
        yield Finding(
            Severity.ERROR,
            facts.settings.problem,
            "Recreate the VM with `bosh recreate` or `bosh cck`; check the CPI's agent and registry sections",
        )


def _director(facts: Facts) -> Iterator[Finding]:
    """Check the connection between the agent and the Director, or the operator's machine."""
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
        way = inbound(path, facts.vm, facts.remote, facts.peer)
        yield from _other_version(facts, path, facts.remote) or way
    else:
        path = Path(traffic, "the Director's message bus (NATS)", Severity.ERROR)
        way = outbound(path, facts.vm, facts.remote, facts.peer)
        yield from _other_version(facts, path, facts.remote) or chain(_holder(facts), _peer(facts), way)


def _servers(facts: Facts) -> Iterator[Finding]:
    """The connections to the other servers in the settings, also to those that the agent needs only later.

    An old stemcell's agent reads its settings from the registry. Without a blobstore no packages can be
    installed; without DNS and NTP servers names or certificates may fail.
    """
    vm, settings = facts.vm, facts.settings
    if vm is None or settings is None:
        return
    registry = settings.registry if settings.is_minimal else None
    for server, name in ((registry, "the registry"), (settings.blobstore, "the blobstore")):
        if server is not None and not server.is_on_vm:
            peer = facts.peer if server.host == facts.remote else None
            path = Path(Traffic("tcp", server.port), name, Severity.ERROR)
            address = server.host if is_ip(server.host) else ""
            yield from _other_version(facts, path, address) or outbound(path, vm, address, peer)
    for host in settings.dns:
        remedy = "Correct dns in the network's subnet, or start the server"
        yield from _vacant(facts, host, "The DNS server's", (Severity.WARNING, Severity.NOTE), remedy)
    for names, port, what in ((settings.dns, 53, "a DNS server"), (settings.ntp, 123, "an NTP server")):
        for host in names:
            if not is_of_amazon(facts.vpc, host):
                path = Path(Traffic("udp", port), what, Severity.WARNING)
                address = host if is_ip(host) else ""
                yield from _other_version(facts, path, address) or outbound(path, vm, address, None)


def _other_version(facts: Facts, path: Path, address: str) -> list[Finding]:
    """That the VM has no address of another address's IP version: then nothing else about the way matters."""
    held = [each for nic in facts.instance.nics for each in (*nic.addresses, *nic.prefixes)]
    if not address or any((":" in each) is (":" in address) for each in held):
        return []
    version, other = ("IPv6", "IPv4") if ":" in address else ("IPv4", "IPv6")
    return [
        path.finding(
            f"The VM has no {version} address, and so no connection with {address}",
            f"Use the other side's {other} address, or put the VM into a subnet with {version}",
        )
    ]


def _holder(facts: Facts) -> Iterator[Finding]:
    """Report that no known interface has the Director's address; EC2 does not show other accounts'."""
    if facts.holders.get(facts.remote) is None or facts.peer is not None:
        return
    if is_in_vpc(facts.vpc, facts.remote):
        remedy = f"Correct {_source(facts)}, or recreate the Director's VM"
        severities = (Severity.ERROR, Severity.WARNING)
        yield from _vacant(facts, facts.remote, "The Director's", severities, remedy)
    else:
        yield Finding(
            Severity.NOTE,
            f"It is not known which network interface has the Director's address {facts.remote}: its "
            "security groups, network ACL and routes were not looked at",
            "Check that they let the VM in",
        )


def _vacant(
    facts: Facts, address: str, whose: str, severities: tuple[Severity, Severity], remedy: str
) -> Iterator[Finding]:
    """Report that no interface of the VPC has an address in its range.

    Args:
        facts: What is known.
        address: The address.
        whose: Who should have it: "The Director's".
        severities: If the VPC is the account's own; if it is shared: another account may have the address.
        remedy: What to do.
    """
    vpc, vm, nics = facts.vpc, facts.vm, facts.holders.get(address)
    if vpc is None or vm is None or nics is None or any(each.vpc_id == vpc.vpc_id for each in nics):
        return
    is_own = vpc.owner_id == vm.interface.owner_id
    yield of_aws(
        severities[0 if is_own else 1],
        f"{whose} address {address} is in the range of the VM's VPC {vpc.vpc_id}, but no network "
        "interface has it",
        remedy,
    )


def _source(facts: Facts) -> str:
    """Where the Director's address comes from, and so may be wrong."""
    if not facts.is_remote_given:
        return "the address in agent.mbus"
    own = facts.mbus.host if facts.mbus is not None else facts.remote
    return "--director-address" + ("" if own == facts.remote else f" (agent.mbus has {own})")


def _peer(facts: Facts) -> Iterator[Finding]:
    """Check the Director's interface and instance, if they are certain."""
    vm, peer, health = facts.vm, facts.peer, facts.peer_health
    if vm is None or peer is None or not is_meant(vm, facts.remote, peer):
        return
    if peer.interface.status == "available":
        yield of_aws(
            Severity.ERROR,
            f"The network interface with the Director's address {facts.remote}, {peer.interface.nic_id}, is "
            "attached to no instance",
            f"Recreate the Director's VM, or correct {_source(facts)}",
        )
    if health is None:
        return
    name = f"The Director's instance {peer.interface.own_vm_cid}"
    if health.state != "running":
        yield of_aws(Severity.ERROR, f"{name} is {health.state}", "Start it, or recreate it")
    elif "impaired" in {health.system, health.instance}:
        what = f"{name} fails EC2's status checks"
        yield of_aws(Severity.ERROR, what, "Reboot it, stop and start it, or recreate it")


def _addressee(facts: Facts) -> Iterator[Finding]:
    """Report that the other side's address is not known."""
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
    """Report disabled DNS in the VPC: Amazon's DNS server does not answer the VM."""
    if facts.has_dns is not False:
        return
    given = facts.settings.dns if facts.settings else ()
    uses_amazon = not given or any(is_of_amazon(facts.vpc, host) for host in given)
    # The agent must resolve the name of the message bus, if it is a name.
    needs_name = facts.mbus is not None and not facts.is_inbound and not is_ip(facts.mbus.host)
    severity = Severity.ERROR if needs_name else Severity.WARNING
    yield of_aws(
        severity if uses_amazon else Severity.NOTE,
        "DNS is disabled in the VPC (enableDnsSupport), so Amazon's DNS server does not answer",
        "Enable it, or give the VM other DNS servers",
    )


_CAUSES: Final[tuple[Callable[[Facts], Iterable[Finding]], ...]] = (
    _status_checks,
    lambda facts: console.findings(facts.console or ""),
    _metadata,
    _user_data,
    _director,
    _servers,
    _addressee,
    _dns,
)
"""The VM itself, its settings, the network from near to far, and what a healthy VM may have, too."""


def find(facts: Facts) -> list[Finding]:
    """Find the causes that apply: errors first, else in the order of likelihood.

    Of an instance that is gone, only that is reported: it has neither network nor user data.
    """
    found = list(_state(facts))
    if not facts.instance.is_ending:
        found += [finding for cause in _CAUSES for finding in cause(facts)]
    return sort_distinct([*found, *facts.not_checked])
