"""The availability zone of a VM, and checks that subnets, properties and disks agree on it."""

from collections.abc import Iterable, Sequence

from bosh_aws_cpi.errors import CloudError


def one_subnet_zone(zones: Iterable[str]) -> str:
    """The zone that all nic groups' subnets lie in.

    Raises:
        CloudError: They lie in several.
    """
    found = list(dict.fromkeys(zones))
    if len(found) > 1:
        message = (
            "All nic groups must be in the same availability zone. "
            f"Found subnets in zones: {', '.join(found)}"
        )
        raise CloudError(message)
    return found[0]


def one_vpc(vpc_ids: Iterable[str]) -> str:
    """The VPC that all nic groups' subnets lie in.

    Raises:
        CloudError: They lie in several.
    """
    found = list(dict.fromkeys(vpc_ids))
    if len(found) > 1:
        message = f"All nic groups must be in the same VPC. Found subnets in VPCs: {', '.join(found)}"
        raise CloudError(message)
    return found[0]


def check_zone(subnet_zone: str, vm_zone: str, disk_zones: Sequence[str]) -> None:
    """Check that the subnet, the VM and its disks are in one zone.

    Args:
        subnet_zone: The subnets' zone.
        vm_zone: The cloud properties' ``availability_zone``.
        disk_zones: The zone of each of the disks, with duplicates.

    Raises:
        CloudError: They differ: EC2 can't attach a volume across zones.
    """
    if {subnet_zone, vm_zone, *disk_zones} == {vm_zone}:
        return
    volumes = f", and volume in {', '.join(disk_zones)}" if disk_zones else ""
    message = f"can't use multiple availability zones: subnet in {subnet_zone}, VM in {vm_zone}{volumes}"
    raise CloudError(message)
