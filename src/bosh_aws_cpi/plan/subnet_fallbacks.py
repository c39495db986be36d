"""The subnets that a dynamic network's interface may be in: checks, and the order in which to try them."""

from collections.abc import Mapping

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import NicPlan, Subnet


def subnet_order(plan: NicPlan, found: Mapping[str, Subnet]) -> list[str]:
    """The ids of an interface's subnets, in the order in which to try them.

    That is the order of the properties, except that subnets without a free address come last. They are not
    left out, because EC2 may show late that addresses were released.

    Args:
        plan: The interface.
        found: Its subnets, by id.

    Raises:
        CloudError: A fallback subnet is in another zone or VPC than the first subnet, or gives interfaces
            addresses of other families.
    """
    first, *others = (found[subnet_id] for subnet_id in (plan.subnet_id, *plan.fallback_subnets))
    for subnet in others:
        if text := difference(first, subnet):
            raise CloudError(f"networks.{plan.group}.cloud_properties.subnet_fallbacks: {text}")
    return [each.subnet_id for each in sorted([first, *others], key=lambda subnet: subnet.free == 0)]


def difference(first: Subnet, subnet: Subnet) -> str:
    """Why a subnet can't be a fallback of another one; empty if it can."""
    if subnet.availability_zone != first.availability_zone:
        return (
            f"'{subnet.subnet_id}' is in zone {subnet.availability_zone}, "
            f"but subnet '{first.subnet_id}' is in {first.availability_zone}"
        )
    if subnet.vpc_id != first.vpc_id:
        return (
            f"'{subnet.subnet_id}' is in VPC '{subnet.vpc_id}', but subnet '{first.subnet_id}' is in "
            f"'{first.vpc_id}'"
        )
    if subnet.families != first.families:
        return (
            f"'{subnet.subnet_id}' gives interfaces {_shown(subnet)}, but subnet '{first.subnet_id}' gives "
            f"them {_shown(first)}"
        )
    return ""


def _shown(subnet: Subnet) -> str:
    return f"{' and '.join(sorted(subnet.families))} addresses"
