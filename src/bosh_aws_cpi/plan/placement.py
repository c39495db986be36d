"""The availability zone of a VM, and checks that subnets, properties and disks agree on it."""

from collections.abc import Sequence

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Subnet, Volume


def one_subnet_zone(subnets: Sequence[Subnet]) -> str:
    """The zone that all nic groups' subnets lie in.

    Raises:
        CloudError: They lie in several.
    """
    found = list(dict.fromkeys(subnet.availability_zone for subnet in subnets))
    if len(found) > 1:
        message = (
            "All nic groups must be in the same availability zone. Found subnets in zones: "
            f"{', '.join(found)}. {_shown(subnets)}: "
            "give each of the VM's networks a subnet of the same zone in this az"
        )
        raise CloudError(message)
    return found[0]


def one_vpc(subnets: Sequence[Subnet]) -> str:
    """The VPC that all nic groups' subnets lie in.

    Raises:
        CloudError: They lie in several.
    """
    found = list(dict.fromkeys(subnet.vpc_id for subnet in subnets))
    if len(found) > 1:
        where = ", ".join(f"'{subnet.subnet_id}' is in {subnet.vpc_id}" for subnet in subnets)
        message = (
            f"All nic groups must be in the same VPC. Found subnets in VPCs: {', '.join(found)}. "
            f"{where}: give each of the VM's networks a subnet of the same VPC"
        )
        raise CloudError(message)
    return found[0]


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
    message = (
        f"can't use multiple availability zones: subnet in {subnet_zone}, VM in {vm_zone}{volumes}. "
        f"{_shown([*subnets, *disks])}: {remedy}"
    )
    raise CloudError(message)


def _shown(found: Sequence[Subnet | Volume]) -> str:
    """Each subnet and disk with its zone."""
    ids = (each.subnet_id if isinstance(each, Subnet) else each.disk_cid for each in found)
    zones = (each.availability_zone for each in found)
    return ", ".join(dict.fromkeys(f"'{one}' is in {zone}" for one, zone in zip(ids, zones, strict=True)))
