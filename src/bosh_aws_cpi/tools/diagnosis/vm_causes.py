"""The causes within a VM: its state, status checks, console, metadata and user data. Pure."""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.cpi.vms.create import launch_outcomes
from bosh_aws_cpi.plan.placement import SETTINGS_BY_IPV4
from bosh_aws_cpi.tools.diagnosis import console
from bosh_aws_cpi.tools.diagnosis.facts import Facts
from bosh_aws_cpi.tools.findings import Finding, Severity

_RECREATE: Final = "Recreate the VM with `bosh cck`"
_START: Final = "Start it with `bosh cck` (reboot the VM)"
_STATES: Final = {
    "pending": (Severity.WARNING, "EC2 is still starting it: wait a minute, and repeat this command"),
    "stopping": (Severity.ERROR, "Wait until it is stopped, then start it with `bosh cck` (reboot the VM)"),
    "stopped": (Severity.ERROR, _START),
    "shutting-down": (Severity.ERROR, _RECREATE),
    "terminated": (Severity.ERROR, _RECREATE),
}
_DELETED: Final = (
    "If BOSH deleted it after a time-out: set director.debug.keep_unreachable_vms to true, deploy the "
    "Director, repeat the deployment, and run this command for the new VM. Else recreate it with `bosh cck`"
)
_SHUT_DOWN: Final = "It shut itself down: for an hour, `aws ec2 get-console-output` may tell why"
_TAKEN_BACK: Final = f"EC2 took the Spot instance back. {_RECREATE}, or don't use spot or spot_bid_price"
_NO_ROOM: Final = "EC2 has no room: recreate the VM with another instance type or in another zone"
_REASONS: Final = {
    ("Client.UserInitiatedShutdown", "terminated"): _DELETED,
    ("Client.UserInitiatedShutdown", "shutting-down"): _DELETED,
    ("Client.InstanceInitiatedShutdown", "terminated"): f"{_SHUT_DOWN}. {_RECREATE}",
    ("Client.InstanceInitiatedShutdown", "stopped"): f"{_SHUT_DOWN}. {_START}",
    ("Server.InsufficientInstanceCapacity", "terminated"): _NO_ROOM,
    ("Server.InsufficientInstanceCapacity", "stopped"): _NO_ROOM,
    ("Server.SpotInstanceShutdown", "stopped"): _TAKEN_BACK,
    ("Server.SpotInstanceTermination", "terminated"): _TAKEN_BACK,
}
"""Remedies by EC2's reason (API reference, StateReason) and the instance's state; `launch_outcomes` has those
of reasons for which a launch fails."""


def state(facts: Facts) -> Iterator[Finding]:
    """An instance that does not run, with EC2's reason."""
    instance = facts.instance
    if instance.state not in _STATES:
        return
    severity, usual = _STATES[instance.state]
    code, text = "", ""
    if instance.state_reason is not None:
        code, text = instance.state_reason.code, f": {instance.state_reason.text.rstrip('.')}"
    special = _REASONS.get((code, instance.state)) or launch_outcomes.remedy(instance).removeprefix(". ")
    what = f"The instance is not running but {instance.state}{text}"
    yield Finding(severity, what, special or usual, source="AWS")


def status_checks(facts: Facts) -> Iterator[Finding]:
    """EC2's status checks (user guide, "Status checks for your instances")."""
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
            yield Finding(Severity.ERROR, f"EC2's {name} status check fails: {what}", remedy, source="AWS")
    if not {"initializing", "insufficient-data"}.isdisjoint({health.system, health.instance}):
        yield Finding(
            Severity.NOTE,
            "EC2's status checks are not complete: perhaps the VM started a few minutes ago",
            "Repeat this command in two minutes",
            source="AWS",
        )


def on_console(facts: Facts) -> list[Finding]:
    """Errors on the console."""
    return [] if facts.console is None else console.findings(facts.console)


def metadata(facts: Facts) -> Iterator[Finding]:
    """Instance metadata, from which the agent reads user data.

    A hop limit of 1, the lowest that EC2 accepts, suffices: the agent does not run in a container.
    """
    if facts.instance.metadata_endpoint == "disabled":
        yield Finding(
            Severity.ERROR,
            "Instance metadata is disabled (HttpEndpoint), so the agent can't read its settings",
            "Set metadata_options.http_endpoint to enabled, and recreate the VM",
            source="AWS",
        )
    first = next(iter(facts.instance.nics), None)
    if first and first.addresses and all(":" in each for each in first.addresses):
        what = f"The VM's first interface is in an IPv6-only subnet: {SETTINGS_BY_IPV4}"
        yield Finding(Severity.WARNING, what, "Use a dual-stack subnet, and recreate the VM", source="AWS")


def user_data(facts: Facts) -> Iterator[Finding]:
    """User data that the agent can't use."""
    if facts.settings is not None and facts.settings.problem:
        yield Finding(
            Severity.ERROR,
            facts.settings.problem,
            "Recreate the VM with `bosh recreate` or `bosh cck`; check the CPI's agent and registry sections",
        )
