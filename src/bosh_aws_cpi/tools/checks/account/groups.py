"""Security groups: the VPCs of the subnets have those that VMs would get, or may use them. Pure.

As in create_vm, the VM's own groups take precedence over those of its networks, and these over the defaults.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from bosh_aws_cpi.aws.lookups import SecurityGroup
from bosh_aws_cpi.plan.nics import is_group_id
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.checks.account.subnets import KnownSubnets
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.naming import Launch, SubnetUse, texts
from bosh_aws_cpi.tools.checks.references import named, values
from bosh_aws_cpi.tools.findings import Finding, Place, Severity, as_warning

_KEY = "security_groups"


class Groups(Record):
    """What AWS says of security groups.

    Attributes:
        of_vpcs: All groups of the VPCs of the subnets.
        homes: The VPCs in which the groups were created that are named by id; None if not looked up.
        associations: The states of their associations with other VPCs (EC2's API model,
            SecurityGroupVpcAssociationState), by group and VPC; None if they could not be looked up.
    """

    of_vpcs: Sequence[SecurityGroup]
    homes: Mapping[str, str] | None = None
    associations: Mapping[tuple[str, str], str] | None = EMPTY

    def problem(self, entry: str, vpc: str) -> str:
        """Why a VM in a VPC can't have a group; empty if it can."""
        if is_group_id(entry):
            return self._problem_of_id(entry, vpc)
        found = [group.group_id for group in self.of_vpcs if group.name == entry and group.vpc_id == vpc]
        if len(found) == 1:
            return ""
        if found:
            return f"VPC '{vpc}' has several security groups named '{entry}': {', '.join(found)}"
        return f"VPC '{vpc}' has no security group with the name '{entry}'"

    def _problem_of_id(self, entry: str, vpc: str) -> str:
        if any(group.group_id == entry and group.vpc_id == vpc for group in self.of_vpcs):
            return ""
        if self.homes is None:
            return f"VPC '{vpc}' has no security group '{entry}'"
        if entry not in self.homes:
            return f"there is no security group '{entry}'"
        said = f"security group '{entry}' is of VPC '{self.homes[entry]}'"
        if self.associations is None:
            return f"{said}; whether it is associated with VPC '{vpc}' could not be looked up"
        state = self.associations.get((entry, vpc))
        if state == "associated":
            return ""
        is_what = f"its association with VPC '{vpc}' is {state}" if state else f"not associated with '{vpc}'"
        return f"{said}, and {is_what}"

    def weighed(self, entry: str, found: Iterator[Finding]) -> Iterator[Finding]:
        """Findings about a group: no errors if VMs may get it, or soon."""
        is_elsewhere = self.homes is not None and entry in self.homes
        states = [state for (group_id, _), state in (self.associations or {}).items() if group_id == entry]
        is_unsure = is_elsewhere and (self.associations is None or "associating" in states)
        return map(as_warning, found) if is_unsure else found

    def remedy(self, entry: str) -> str:
        """What to do about a group that a VM can't have."""
        is_elsewhere = self.homes is not None and entry in self.homes
        associate = "Associate it with that VPC (aws ec2 associate-security-group-vpc), or use another one"
        return associate if is_elsewhere else "Create it, or correct its name"


def named_ids(known: KnownSubnets, defaults: Sequence[str]) -> set[str]:
    """The groups that the cloud config and the configuration name by id."""
    of_vms = values(named(known.references.launches, lambda launch: launch.named(_KEY)))
    of_subnets = {str(node.value) for _, node, _ in _of_subnets(known)}
    return set(filter(is_group_id, of_vms | of_subnets | {*defaults}))


def findings(known: KnownSubnets, groups: Groups, defaults: Sequence[str]) -> Iterator[Finding]:
    """Compare the security groups that the cloud config names with those that its VPCs may use.

    Args:
        known: The subnets.
        groups: What AWS says.
        defaults: aws.default_security_groups.
    """
    for each in named(known.references.launches, lambda launch: launch.named(_KEY)):
        entry = str(each.node.value)
        missing = partial(_missing, known, groups, entry)
        yield from groups.weighed(entry, each.findings_if_wrong(missing, groups.remedy(entry), Severity.NOTE))
    for use, node, vpc in _of_subnets(known):
        entry = str(node.value)
        if problem := groups.problem(entry, vpc):
            is_used = any(_uses_networks(launch, use, known) for launch in known.references.plain)
            severity = Severity.ERROR if is_used else Severity.WARNING
            found = Finding(severity, problem, groups.remedy(entry), node.place, "AWS")
            yield from groups.weighed(entry, iter([found]))
    yield from _of_defaults(known, groups, defaults)


def _missing(known: KnownSubnets, groups: Groups, entry: str, launch: Launch) -> str:
    """Why a combination can't have a group in any of its VPCs."""
    problems = [groups.problem(entry, vpc) for vpc in known.vpcs(launch)]
    return problems[0] if problems and all(problems) else ""


def _of_subnets(known: KnownSubnets) -> Iterator[tuple[SubnetUse, Node, str]]:
    """The security groups of the networks' subnets: the subnet, the group's place, and the VPC."""
    for use, facts in known.uses():
        node = use.entry.get("cloud_properties", _KEY)
        for each in texts(node) if node is not None and isinstance(node.value, list) else ():
            yield use, each, facts.vpc_id


def _of_defaults(known: KnownSubnets, groups: Groups, defaults: Sequence[str]) -> Iterator[Finding]:
    """The VPC of each subnet whose VMs have no other groups must be able to use the default groups."""
    using = {facts.vpc_id for use, facts in known.uses() if _takes_defaults(use, known)}
    for vpc in known.vpcs():
        for entry in defaults:
            if problem := groups.problem(entry, vpc):
                severity = Severity.ERROR if vpc in using else Severity.WARNING
                place = Place("aws.default_security_groups")
                found = Finding(severity, problem, "VMs without other groups need it", place, "AWS")
                yield from groups.weighed(entry, iter([found]))


def _takes_defaults(use: SubnetUse, known: KnownSubnets) -> bool:
    """Whether a VM in a subnet gets the default groups."""
    node = use.entry.get("cloud_properties", _KEY)
    has_own = node is not None and bool(node.value)
    return not has_own and any(_uses_networks(launch, use, known) for launch in known.references.plain)


def _uses_networks(launch: Launch, use: SubnetUse, known: KnownSubnets) -> bool:
    """Whether a combination can be deployed in a subnet, and has no groups of its own."""
    return not launch.has(_KEY) and launch.zone in {"", known.found[use.subnet_id].zone}
