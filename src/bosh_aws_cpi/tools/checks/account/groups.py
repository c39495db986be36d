"""Security groups: the VPCs of the subnets have those that VMs would get, or may use them. Pure.

As in create_vm, the VM's own groups take precedence over those of its networks, and these over the defaults.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bosh_aws_cpi.aws.firewalls import Group
from bosh_aws_cpi.plan.nics import is_group_id
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.checks.account.subnets import KnownSubnets
from bosh_aws_cpi.tools.checks.combinations import Merged
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.property_values import near_existing
from bosh_aws_cpi.tools.checks.references import SubnetUse, grouped, judged
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

_KEY: Final = "security_groups"
_NONE: Final = "not associated"
_OTHER: Final = (
    "Use a group of that VPC, or associate it (aws ec2 associate-security-group-vpc; neither default groups "
    "nor default VPCs)"
)


class Groups(Record):
    """What AWS says of security groups.

    Attributes:
        of_vpcs: All groups of the VPCs of the subnets.
        by_id: Those of `foreign_ids`; None if they could not be looked up.
        associations: The states of their associations with other VPCs (EC2's API model,
            SecurityGroupVpcAssociationState), by group and VPC; None if they could not be looked up.
    """

    of_vpcs: Sequence[Group]
    by_id: Mapping[str, Group] | None = EMPTY
    associations: Mapping[tuple[str, str], str] | None = EMPTY

    def problem(self, entry: str, vpc: str) -> str:
        """Why a VM in a VPC can't have a group; empty if it can, or if that is not known."""
        if is_group_id(entry):
            is_there = any(each.group_id == entry and each.vpc_id == vpc for each in self.of_vpcs)
            return "" if is_there else self._problem_of_id(entry, vpc)
        found = [each.group_id for each in self.of_vpcs if each.name == entry and each.vpc_id == vpc]
        if not found:
            return f"VPC '{vpc}' has no security group with the name '{entry}'"
        several = f"VPC '{vpc}' has several security groups named '{entry}': {', '.join(found)}"
        return several if len(found) > 1 else ""

    def _problem_of_id(self, entry: str, vpc: str) -> str:
        if self.by_id is None:
            return ""
        if entry not in self.by_id:
            return f"there is no security group '{entry}'"
        state = "associated" if self.associations is None else self.associations.get((entry, vpc), _NONE)
        said = f"security group '{entry}' is of VPC '{self.by_id[entry].vpc_id}', and {state} with '{vpc}'"
        return said if state != "associated" else ""

    def remedy(self, entry: str) -> str:
        """What to do about a group that VMs can't have."""
        return _OTHER if is_group_id(entry) else near_existing(entry, {each.name for each in self.of_vpcs})


def foreign_ids(known: KnownSubnets, there: Sequence[Group], defaults: Sequence[str]) -> set[str]:
    """The groups that are named by id, and are not of the VPC of all subnets.

    Args:
        known: The subnets.
        there: The groups of their VPCs.
        defaults: aws.default_security_groups.
    """
    nodes = [node for node, _ in grouped(known.references.combinations, lambda merged: merged.named(_KEY))]
    nodes += [node for use, _ in known.uses() for node in _own(use)]
    vpcs = {each.group_id: each.vpc_id for each in there}
    ids = filter(is_group_id, (*(str(node.value) for node in nodes), *defaults))
    return {entry for entry in ids if [vpcs.get(entry)] != known.vpcs()}


def findings(known: KnownSubnets, groups: Groups, defaults: Sequence[str]) -> Iterator[Finding]:
    """Compare the security groups that the cloud config names with those that its VPCs may use.

    Args:
        known: The subnets.
        groups: What AWS says.
        defaults: aws.default_security_groups.
    """
    for node, users in grouped(known.references.combinations, lambda merged: merged.named(_KEY)):
        entry = str(node.value)

        def wrong(merged: Merged, entry: str = entry) -> str:
            problems = [groups.problem(entry, vpc) for vpc in known.vpcs(merged)]
            return problems[0] if all(problems) and problems else ""

        yield from judged(node, users, wrong, groups.remedy(entry), Severity.NOTE)
    for use, facts in known.uses():
        is_used = any(
            each.zone in {"", facts.availability_zone} and not each.has(_KEY) and not each.is_extension
            for each in known.references.combinations
        )
        severity = Severity.ERROR if is_used else Severity.WARNING
        own = [(str(node.value), node.place) for node in _own(use)]
        for entry, place in own or [(each, Place("aws.default_security_groups")) for each in defaults]:
            if what := groups.problem(entry, facts.vpc_id):
                yield Finding(severity, what, groups.remedy(entry), place, "AWS")


def _own(use: SubnetUse) -> list[Node]:
    """The groups of a network's subnet."""
    node = use.entry.get("cloud_properties", _KEY)
    return list(node.texts()) if node is not None else []
