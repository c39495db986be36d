"""Security groups: those that VMs would get exist in the VPC of the subnets. Pure.

As in create_vm, the VM's own groups take precedence over those of its networks, and these over the defaults.
"""

from collections.abc import Iterator, Sequence

from bosh_aws_cpi.aws.lookups import SecurityGroup
from bosh_aws_cpi.plan.nics import is_group_id
from bosh_aws_cpi.tools.checks.account.subnets import KnownSubnets
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.naming import Launch, SubnetUse, texts
from bosh_aws_cpi.tools.checks.references import named
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

_KEY = "security_groups"


def findings(
    known: KnownSubnets, groups: Sequence[SecurityGroup], defaults: Sequence[str]
) -> Iterator[Finding]:
    """Compare the security groups that the cloud config names with those of its VPCs.

    Args:
        known: The subnets.
        groups: The groups of all VPCs of the subnets.
        defaults: aws.default_security_groups.
    """
    for each in named(known.references.launches, lambda launch: launch.named(_KEY)):
        entry = str(each.node.value)

        def missing(launch: Launch, entry: str = entry) -> str:
            vpcs = known.vpcs(launch)
            problems = [_problem(entry, vpc, groups) for vpc in vpcs]
            return problems[0] if problems and all(problems) else ""

        yield from each.findings_if_wrong(missing, "Create it, or correct its name", Severity.NOTE)
    for use, node, vpc in _of_subnets(known):
        if problem := _problem(str(node.value), vpc, groups):
            is_used = any(_uses_networks(launch, use, known) for launch in known.references.plain)
            severity = Severity.ERROR if is_used else Severity.WARNING
            yield Finding(severity, problem, "Create it, or correct its name", node.place, "AWS")
    yield from _of_defaults(known, groups, defaults)


def _of_subnets(known: KnownSubnets) -> Iterator[tuple[SubnetUse, Node, str]]:
    """The security groups of the networks' subnets: the subnet, the group's place, and the VPC."""
    for use, facts in known.uses():
        node = use.entry.get("cloud_properties", _KEY)
        for each in texts(node) if node is not None and isinstance(node.value, list) else ():
            yield use, each, facts.vpc_id


def _of_defaults(
    known: KnownSubnets, groups: Sequence[SecurityGroup], defaults: Sequence[str]
) -> Iterator[Finding]:
    """The default groups must exist in the VPC of each subnet whose VMs have no other groups."""
    using = {facts.vpc_id for use, facts in known.uses() if _takes_defaults(use, known)}
    for vpc in known.vpcs():
        for entry in defaults:
            if problem := _problem(entry, vpc, groups):
                severity = Severity.ERROR if vpc in using else Severity.WARNING
                place = Place("aws.default_security_groups")
                yield Finding(severity, problem, "VMs without other groups need it", place, "AWS")


def _takes_defaults(use: SubnetUse, known: KnownSubnets) -> bool:
    """Whether a VM in a subnet gets the default groups."""
    node = use.entry.get("cloud_properties", _KEY)
    has_own = node is not None and bool(node.value)
    return not has_own and any(_uses_networks(launch, use, known) for launch in known.references.plain)


def _uses_networks(launch: Launch, use: SubnetUse, known: KnownSubnets) -> bool:
    """Whether a combination can be deployed in a subnet, and has no groups of its own."""
    return not launch.has(_KEY) and launch.zone in {"", known.found[use.subnet_id].zone}


def _problem(entry: str, vpc: str, groups: Sequence[SecurityGroup]) -> str:
    """Why a VM in a VPC can't have a group; empty if it can."""
    if is_group_id(entry):
        is_there = any(group.group_id == entry and group.vpc_id == vpc for group in groups)
        return "" if is_there else f"VPC '{vpc}' has no security group '{entry}'"
    found = [group.group_id for group in groups if group.name == entry and group.vpc_id == vpc]
    if len(found) == 1:
        return ""
    if found:
        return f"VPC '{vpc}' has several security groups named '{entry}': {', '.join(found)}"
    return f"VPC '{vpc}' has no security group with the name '{entry}'"
