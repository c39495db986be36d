"""The causes within a VM: its state, checks, metadata, user data, registry. Pure."""

from collections.abc import Iterator

from bosh_aws_cpi.tools.diagnosis import console
from bosh_aws_cpi.tools.diagnosis.facts import Facts
from bosh_aws_cpi.tools.findings import Finding, Severity

_STATES = {
    "pending": (Severity.WARNING, "EC2 is still starting it: wait a minute, and repeat this command"),
    "stopping": (Severity.ERROR, "Somebody has stopped it: wait until it is stopped, then `bosh cck`"),
    "stopped": (Severity.ERROR, "Start it with `bosh cck` (reboot the VM)"),
    "shutting-down": (Severity.ERROR, "Recreate the VM with `bosh cck`"),
    "terminated": (Severity.ERROR, "Recreate the VM with `bosh cck`"),
}


def state(facts: Facts) -> Iterator[Finding]:
    """An instance that does not run, with EC2's reason."""
    instance = facts.details.instance
    if instance.state not in _STATES:
        return
    severity, remedy = _STATES[instance.state]
    reason = f": {instance.state_reason.text}" if instance.state_reason else ""
    what = f"The instance is not running but {instance.state}{reason}".rstrip(".")
    yield Finding(severity, what, remedy, source="AWS")


def checks(facts: Facts) -> Iterator[Finding]:
    """Status checks and scheduled events (user guide, "Status checks for your instances")."""
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
    for event in health.events:
        yield Finding(
            Severity.WARNING,
            f"AWS has scheduled an event for the instance: {event}".rstrip("."),
            "Recreate the VM before, or expect it to be unavailable then",
            source="AWS",
        )


def shown(facts: Facts) -> list[Finding]:
    """Errors on the console."""
    return [] if facts.console is None else console.findings(facts.console)


def metadata(facts: Facts) -> Iterator[Finding]:
    """Instance metadata, from which the agent reads user data.

    Agents support IMDSv2 since November 2021 (bosh-agent pull request 249); an agent that needs the registry
    may be older. A hop limit of 1 suffices, because the agent does not run in a container.
    """
    if facts.details.metadata_endpoint == "disabled":
        yield Finding(
            Severity.ERROR,
            "Instance metadata is disabled (HttpEndpoint), so the agent can't read its settings",
            "Set metadata_options.http_endpoint to enabled, and recreate the VM",
            source="AWS",
        )
    is_old = facts.settings is not None and facts.settings.is_minimal
    if is_old and facts.details.metadata_tokens == "required":
        yield Finding(
            Severity.WARNING,
            "Instance metadata requires IMDSv2 tokens, which agents before November 2021 don't support",
            "Set metadata_options.http_tokens to optional, or use a newer stemcell",
            source="AWS",
        )


def user_data(facts: Facts) -> Iterator[Finding]:
    """User data that the agent can't use."""
    if facts.settings is not None and facts.settings.problem:
        yield Finding(
            Severity.ERROR,
            facts.settings.problem,
            "Recreate the VM with `bosh recreate` or `bosh cck`; check the CPI's agent and registry sections",
        )


def registry(facts: Facts) -> Iterator[Finding]:
    """The registry, from which the agents of old stemcells read their settings."""
    if facts.has_document is False:
        yield Finding(
            Severity.ERROR,
            "The registry has no settings for this VM, and the agent needs them",
            "Recreate the VM",
        )
    settings, configured = facts.settings, facts.registry
    if settings is None or settings.registry is None or configured is None or not settings.is_minimal:
        return
    if (settings.registry.host, settings.registry.port) != (configured.host, configured.port):
        yield Finding(
            Severity.WARNING,
            f"The VM reads its settings from the registry at {settings.registry}, and the configuration has "
            f"another one, {configured}",
            "Recreate the VM, or correct registry.endpoint",
        )
