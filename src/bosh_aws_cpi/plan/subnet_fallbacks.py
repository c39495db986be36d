"""The subnets that a dynamic network's interface may be in: checks, and the order in which to try them."""

from collections.abc import Mapping

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import NicPlan
from bosh_aws_cpi.vpc_model import Subnet


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
        _check(plan.group, first, subnet)
    return [each.subnet_id for each in sorted([first, *others], key=lambda subnet: subnet.free == 0)]


def _check(network: str, first: Subnet, subnet: Subnet) -> None:
    at = f"networks.{network}.cloud_properties"
    if subnet.availability_zone != first.availability_zone:
        message = (
            f"{at}.subnet_fallbacks: '{subnet.subnet_id}' is in zone {subnet.availability_zone}, "
            f"but subnet '{first.subnet_id}' is in {first.availability_zone}"
        )
        raise CloudError(message)
    if subnet.vpc_id != first.vpc_id:
        message = (
            f"{at}.subnet_fallbacks: '{subnet.subnet_id}' is in VPC '{subnet.vpc_id}', "
            f"but subnet '{first.subnet_id}' is in '{first.vpc_id}'"
        )
        raise CloudError(message)
    if subnet.families != first.families:
        message = (
            f"{at}.subnet_fallbacks: '{subnet.subnet_id}' gives interfaces {_shown(subnet)}, "
            f"but subnet '{first.subnet_id}' gives them {_shown(first)}"
        )
        raise CloudError(message)


def _shown(subnet: Subnet) -> str:
    return f"{' and '.join(sorted(subnet.families))} addresses"
