"""Security groups: the VPCs of the subnets have those that VMs would get, or may use them. Pure.

As in create_vm, the VM's own groups take precedence over those of its networks, and these over the defaults.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bosh_aws_cpi.aws.firewalls import Group
from bosh_aws_cpi.plan.nics import is_group_id
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.checks.account.subnets import KnownSubnets
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.identifiers import near
from bosh_aws_cpi.tools.checks.naming import Launch, SubnetUse, texts
from bosh_aws_cpi.tools.checks.references import Named, named, values
from bosh_aws_cpi.tools.findings import Finding, Place, Severity, as_warning

_KEY = "security_groups"
_DEFAULT: Final = "default"
"""The name of each VPC's default group (VPC user guide, "Default security groups"), and of no other one."""
_CREATE: Final = "Create it, or correct its name"
_OTHER: Final = "Use another one: a VPC's default group can't be associated with other VPCs"
_ASSOCIATE: Final = (
    "Associate it with that VPC (aws ec2 associate-security-group-vpc; not a default VPC), or use another one"
)
_WAIT: Final = "Wait until it is associated, or use another one"
_COMING: Final = "associating"
_NONE: Final = "disassociated"
_STAYING: Final = "disassociation-failed"
"""Whether VMs may have such a group, AWS's documents don't say."""
_CHECK: Final = "Check its associations (aws ec2 describe-security-group-vpc-associations)"


class Problem(Record):
    """Why a VM in a VPC can't have a group.

    Attributes:
        what: The reason.
        remedy: What to do about it.
        is_unsure: Whether the VM may have the group all the same, or soon.
    """

    what: str
    remedy: str
    is_unsure: bool = False


class Groups(Record):
    """What AWS says of security groups.

    Attributes:
        of_vpcs: All groups of the VPCs of the subnets.
        by_id: Those that are named by id, wherever they were created; None if they could not be looked up.
        associations: The states of their associations with other VPCs (EC2's API model,
            SecurityGroupVpcAssociationState), by group and VPC; None if they could not be looked up.
        others: Those of other VPCs that have names which the VPCs of the subnets lack.
    """

    of_vpcs: Sequence[Group]
    by_id: Mapping[str, Group] | None = EMPTY
    associations: Mapping[tuple[str, str], str] | None = EMPTY
    others: Sequence[Group] = ()

    def problem(self, entry: str, vpc: str) -> Problem | None:
        """Why a VM in a VPC can't have a group; None if it can."""
        if is_group_id(entry):
            return self._problem_of_id(entry, vpc)
        found = [group.group_id for group in self.of_vpcs if group.name == entry and group.vpc_id == vpc]
        if len(found) == 1:
            return None
        if found:
            what = f"VPC '{vpc}' has several security groups named '{entry}': {', '.join(found)}"
            return Problem(what, "Name it by its id")
        what = f"VPC '{vpc}' has no security group with the name '{entry}'"
        elsewhere = sorted({group.vpc_id for group in (*self.of_vpcs, *self.others) if group.name == entry})
        if elsewhere:
            remedy = f"Use a group of VPC '{vpc}', or subnets of '{elsewhere[0]}'"
            return Problem(f"{what}, but VPC '{elsewhere[0]}' has", remedy)
        names = [each.name for each in self.of_vpcs if each.vpc_id == vpc]
        return Problem(what, near(entry, names) or _CREATE)

    def _problem_of_id(self, entry: str, vpc: str) -> Problem | None:
        is_there = any(group.group_id == entry and group.vpc_id == vpc for group in self.of_vpcs)
        if is_there or (self.associations or {}).get((entry, vpc)) == "associated":
            return None
        if self.by_id is None:
            what = (
                f"VPC '{vpc}' has no security group '{entry}'; whether another VPC has could not be looked up"
            )
            return Problem(what, _CHECK, is_unsure=True)
        group = self.by_id.get(entry)
        if group is None:
            return Problem(f"there is no security group '{entry}'", _CREATE)
        said = f"security group '{entry}' is of VPC '{group.vpc_id}'"
        if self.associations is None:
            what = f"{said}; whether it is associated with VPC '{vpc}' could not be looked up"
            return Problem(what, _CHECK, is_unsure=True)
        state = self.associations.get((entry, vpc), _NONE)
        if state == _NONE:
            remedy = _OTHER if group.name == _DEFAULT else _ASSOCIATE
            return Problem(f"{said}, and not associated with '{vpc}'", remedy)
        what = f"{said}, and the state of its association with VPC '{vpc}' is {state}"
        return Problem(what, _WAIT if state == _COMING else _CHECK, is_unsure=state in {_COMING, _STAYING})


def named_ids(known: KnownSubnets, defaults: Sequence[str]) -> set[str]:
    """The groups that the cloud config and the configuration name by id."""
    return set(filter(is_group_id, _entries(known, defaults)))


def missing_names(known: KnownSubnets, there: Sequence[Group], defaults: Sequence[str]) -> set[str]:
    """The names that none of the groups of the subnets' VPCs has."""
    return {each for each in _entries(known, defaults) if not is_group_id(each)} - {
        each.name for each in there
    }


def _entries(known: KnownSubnets, defaults: Sequence[str]) -> set[str]:
    of_vms = values(named(known.references.launches, lambda launch: launch.named(_KEY)))
    return of_vms | {str(node.value) for _, node, _ in _of_subnets(known)} | {*defaults}


def findings(known: KnownSubnets, groups: Groups, defaults: Sequence[str]) -> Iterator[Finding]:
    """Compare the security groups that the cloud config names with those that its VPCs may use.

    Args:
        known: The subnets.
        groups: What AWS says.
        defaults: aws.default_security_groups.
    """
    for each in named(known.references.launches, lambda launch: launch.named(_KEY)):
        yield from _of_vms(known, groups, each)
    for use, node, vpc in _of_subnets(known):
        if problem := groups.problem(str(node.value), vpc):
            is_used = any(_uses_networks(launch, use, known) for launch in known.references.plain)
            yield _found(problem, problem.remedy, node.place, is_used=is_used)
    yield from _of_defaults(known, groups, defaults)


def _of_vms(known: KnownSubnets, groups: Groups, found: Named) -> Iterator[Finding]:
    """A group that VMs name themselves; it is no error if some of them may get it."""
    problems: dict[Launch, list[Problem]] = {}
    for launch in found.launches:
        of_vpcs = [groups.problem(str(found.node.value), vpc) for vpc in known.vpcs(launch)]
        problems[launch] = [each for each in of_vpcs if each is not None] if all(of_vpcs) else []
        problems[launch].sort(key=_is_unsure)
    every = sorted((each for of_launch in problems.values() for each in of_launch), key=_is_unsure)
    if every:
        wrong = found.findings_if_wrong(
            lambda launch: next((each.what for each in problems[launch]), ""), every[0].remedy, Severity.NOTE
        )
        yield from map(as_warning, wrong) if any(each.is_unsure for each in every) else wrong


def _is_unsure(problem: Problem) -> bool:
    return problem.is_unsure


def _found(problem: Problem, remedy: str, place: Place, *, is_used: bool) -> Finding:
    is_error = is_used and not problem.is_unsure
    return Finding(Severity.ERROR if is_error else Severity.WARNING, problem.what, remedy, place, "AWS")


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
                place = Place("aws.default_security_groups")
                remedy = f"VMs without other groups need it. {problem.remedy}"
                yield _found(problem, remedy, place, is_used=vpc in using)


def _takes_defaults(use: SubnetUse, known: KnownSubnets) -> bool:
    """Whether a VM in a subnet gets the default groups."""
    node = use.entry.get("cloud_properties", _KEY)
    has_own = node is not None and bool(node.value)
    return not has_own and any(_uses_networks(launch, use, known) for launch in known.references.plain)


def _uses_networks(launch: Launch, use: SubnetUse, known: KnownSubnets) -> bool:
    """Whether a combination can be deployed in a subnet, and has no groups of its own."""
    return not launch.has(_KEY) and launch.zone in {"", known.found[use.subnet_id].availability_zone}
