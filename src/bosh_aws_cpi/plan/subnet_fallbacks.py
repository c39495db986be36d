"""The checks of the subnets that a dynamic network's interface may be in."""

from collections.abc import Mapping

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import NicPlan, Subnet


def check_leaving(plan: NicPlan) -> None:
    """Check that a VM with ``zone_fallback`` and this first interface can be in another zone.

    Raises:
        CloudError: It can't.
    """
    if not plan.fallback_subnets:
        message = (
            f"zone_fallback needs subnet_fallbacks: network '{plan.group}' has none. Give the VM a dynamic "
            "network whose subnet_fallbacks are in other zones, or remove zone_fallback"
        )
        raise CloudError(message)


def check(plan: NicPlan, found: Mapping[str, Subnet], *, is_any_zone: bool = False) -> None:
    """Check that an interface can be in its fallback subnets, too.

    Args:
        plan: The interface.
        found: Its subnets, by id.
        is_any_zone: Whether they may be in any zone.

    Raises:
        CloudError: A fallback subnet is in a wrong zone or another VPC than the first subnet, or gives
            interfaces addresses of other families.
    """
    first, *others = (found[subnet_id] for subnet_id in (plan.subnet_id, *plan.fallback_subnets))
    for subnet in others:
        if text := difference(first, subnet, is_any_zone=is_any_zone):
            raise CloudError(f"networks.{plan.group}.cloud_properties.subnet_fallbacks: {text}")


def difference(first: Subnet, subnet: Subnet, *, is_any_zone: bool = False) -> str:
    """Why a subnet can't be a fallback of another one; empty if it can."""
    if not is_any_zone and subnet.availability_zone != first.availability_zone:
        return (
            f"'{subnet.subnet_id}' is in zone {subnet.availability_zone}, "
            f"but subnet '{first.subnet_id}' is in {first.availability_zone}: set zone_fallback for "
            f"the VM, or use a subnet in {first.availability_zone}"
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
