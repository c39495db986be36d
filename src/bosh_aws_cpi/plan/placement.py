"""The availability zone of a VM, and whether its subnets, their fallbacks and its disks agree on it."""

from collections.abc import Mapping, Sequence
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import NicPlan, Subnet, Volume


def one_subnet_zone(subnets: Sequence[Subnet]) -> str:
    """The zone that all nic groups' subnets lie in.

    Raises:
        CloudError: They lie in several.
    """
    found = list(dict.fromkeys(subnet.availability_zone for subnet in subnets))
    if len(found) > 1:
        raise CloudError(
            "All nic groups must be in the same availability zone. Found subnets in zones: "
            f"{', '.join(found)}. {_shown(subnets)}: "
            "give each of the VM's networks a subnet of the same zone in this az"
        )
    return found[0]


def one_vpc(subnets: Sequence[Subnet]) -> str:
    """The VPC that all nic groups' subnets lie in.

    Raises:
        CloudError: They lie in several.
    """
    found = list(dict.fromkeys(subnet.vpc_id for subnet in subnets))
    if len(found) > 1:
        where = ", ".join(f"'{subnet.subnet_id}' is in {subnet.vpc_id}" for subnet in subnets)
        raise CloudError(
            f"All nic groups must be in the same VPC. Found subnets in VPCs: {', '.join(found)}. "
            f"{where}: give each of the VM's networks a subnet of the same VPC"
        )
    return found[0]


SETTINGS_BY_IPV4: Final = (
    "a stemcell's agent reads its settings only from http://169.254.169.254, for which it needs the "
    "link-local IPv4 address that EC2's DHCP offers"
)
"""Why an agent may get no settings in an IPv6-only subnet (docs/aws-assumptions.md, `ipv6-only-metadata`)."""


def without_ipv4(subnet: Subnet) -> str:
    """Why the agent of a VM in this subnet may get no settings; empty for subnets with IPv4."""
    return (
        "" if "IPv4" in subnet.families else f"subnet '{subnet.subnet_id}' is IPv6-only: {SETTINGS_BY_IPV4}"
    )


def check_zone(
    subnets: Sequence[Subnet], vm_zone: str, disks: Sequence[Volume], *, is_any_zone: bool = False
) -> None:
    """Check that the subnets, which are in one zone, the VM and its disks are in one zone.

    Args:
        subnets: The subnets.
        vm_zone: The cloud properties' ``availability_zone``.
        disks: The disks, with duplicates.
        is_any_zone: Whether the VM may be in any zone with a subnet; only the remedy depends on it.

    Raises:
        CloudError: They differ: EC2 can't attach a volume across zones.
    """
    subnet_zone = subnets[0].availability_zone
    disk_zones = [disk.availability_zone for disk in disks]
    if {subnet_zone, vm_zone, *disk_zones} == {vm_zone}:
        return
    volumes = f", and volume in {', '.join(disk_zones)}" if disk_zones else ""
    remedy = "a disk can't leave its zone, so the az of its VM must stay in that zone"
    if subnet_zone != vm_zone:
        remedy = "correct availability_zone, or use a subnet of that zone in this az"
    elif is_any_zone:
        remedy = (
            "a disk can't leave its zone: all of the VM's disks must be in one zone, for which "
            "subnet_fallbacks has a subnet"
        )
    raise CloudError(
        f"can't use multiple availability zones: subnet in {subnet_zone}, VM in {vm_zone}{volumes}. "
        f"{_shown([*subnets, *disks])}: {remedy}"
    )


def _shown(found: Sequence[Subnet | Volume]) -> str:
    """Each subnet and disk with its zone."""
    ids = (each.subnet_id if isinstance(each, Subnet) else each.disk_cid for each in found)
    zones = (each.availability_zone for each in found)
    return ", ".join(dict.fromkeys(f"'{one}' is in {zone}" for one, zone in zip(ids, zones, strict=True)))


def check_leaving(plan: NicPlan) -> None:
    """Check that a VM with ``zone_fallback`` and this first interface can be in another zone.

    Raises:
        CloudError: It can't.
    """
    if not plan.fallback_subnets:
        raise CloudError(
            f"zone_fallback needs subnet_fallbacks: network '{plan.group}' has none. Give the VM a dynamic "
            "network whose subnet_fallbacks are in other zones, or remove zone_fallback"
        )


def check_fallbacks(plan: NicPlan, found: Mapping[str, Subnet], *, is_any_zone: bool = False) -> None:
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
        own, others = (" and ".join(sorted(each.families)) for each in (subnet, first))
        return (
            f"'{subnet.subnet_id}' gives interfaces {own} addresses, but subnet '{first.subnet_id}' gives "
            f"them {others} addresses"
        )
    return ""
