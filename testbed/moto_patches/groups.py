"""Security groups and the VPCs that may use them."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.security_groups import SecurityGroupBackend
from moto.ec2.responses.general import General

from testbed.moto_patches import states
from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()
KEYS = {"group-id": "GroupId", "vpc-id": "VpcId", "state": "State"}
"""The filters of DescribeSecurityGroupVpcAssociations (API model), without those of owners."""


class Association:
    """The association of a group with another VPC; its attributes are those of EC2's answer."""

    def __init__(self, group_id: str, vpc_id: str) -> None:
        self.shown = {"GroupId": group_id, "VpcId": vpc_id}
        states.begin(self, "associated", self.enter, before=("associating",))

    def enter(self, state: str, reason: str) -> None:
        """Show a state."""
        self.shown |= {"State": state, "StateReason": reason}


def associations(backend: Any) -> dict[tuple[str, str], Association]:
    """The region's associations, by group and VPC."""
    found: dict[tuple[str, str], Association] = vars(backend).setdefault("testbed_associations", {})
    return found


def check_groups(backend: Any, subnet: Any, group_ids: list[str]) -> None:
    """Refuse a security group of another VPC that is not associated with the subnet's.

    Code and message: ansible/ansible-modules-core issue 347. API model, AssociateSecurityGroupVpc: the
    association allows network interfaces and instances of the other VPC to use the group. That it must be
    associated (VPC user guide, "Associate security groups with multiple VPCs") leaves out the other states.
    """
    for group_id in group_ids:
        group = backend.get_security_group_from_id(group_id)
        found = associations(backend).get((group_id, subnet.vpc_id))
        is_associated = found is not None and found.shown["State"] == "associated"
        if group is not None and group.vpc_id != subnet.vpc_id and not is_associated:
            refuse(
                "InvalidParameter",
                f"Security group {group_id} and subnet {subnet.id} belong to different networks.",
            )


@PATCHES.adding(General, "associate_security_group_vpc")
def associated(response: Any) -> Any:
    """EC2 associates a group with another VPC, which takes a while; moto lacks AssociateSecurityGroupVpc.

    VPC user guide, "Associate security groups with multiple VPCs": the answer is associating, and a caller
    waits for associated. API model, AssociateSecurityGroupVpc: neither default groups nor a default VPC; the
    code is a guess.
    """
    group_id, vpc_id = parameter(response, "GroupId"), parameter(response, "VpcId")
    group = response.ec2_backend.get_security_group_from_id(group_id)
    if group.name == "default" or response.ec2_backend.get_vpc(vpc_id).is_default:
        refuse("InvalidParameterValue", f"Default: {group_id} can't be associated with {vpc_id}")
    found = associations(response.ec2_backend)[group_id, vpc_id] = Association(group_id, vpc_id)
    return ActionResult({"State": found.shown["State"]})


@PATCHES.adding(General, "disassociate_security_group_vpc")
def disassociated(response: Any) -> Any:
    """EC2 ends an association; moto lacks DisassociateSecurityGroupVpc. Here it ends at once."""
    key = (parameter(response, "GroupId"), parameter(response, "VpcId"))
    associations(response.ec2_backend).pop(key)
    return ActionResult({"State": "disassociating"})


@PATCHES.adding(General, "describe_security_group_vpc_associations")
def described_associations(response: Any) -> Any:
    """EC2 lists associations, without the VPC of a group's creation; moto lacks the call (API model)."""
    filters = response._filters_from_querystring()  # noqa: SLF001 - moto has no other way
    found = [
        each
        for each in associations(response.ec2_backend).values()
        if all(each.shown[KEYS[name]] in values for name, values in filters.items())
    ]
    states.look(response, "", found)
    return ActionResult({"SecurityGroupVpcAssociations": [dict(each.shown) for each in found]})


@PATCHES.around(SecurityGroupBackend, "delete_security_group")
def deleted_group(original: Original, backend: Any, *names: Any, **named: Any) -> Any:
    """EC2 deletes no associated group (the same guide); moto knew no associations. The code is a guess."""
    group_id = named.get("group_id", next(iter(names[1:]), None))
    if any(group_id == associated_id for associated_id, _ in associations(backend)):
        refuse("DependencyViolation", f"resource {group_id} has a dependent object")
    return original(backend, *names, **named)
