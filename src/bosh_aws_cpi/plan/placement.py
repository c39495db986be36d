"""In which zone a VM is, and that all who have a say agree."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Subnet

_FIRST_USABLE: Final = 4


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


def check_addresses(subnet: Subnet, addresses: Iterable[str]) -> None:
    """Check that addresses and prefixes lie in their subnet, and not where EC2 has its own.

    Raises:
        CloudError: One does not.
    """
    ranges = [ip_network(text) for text in subnet.ranges]
    for address in addresses:
        wanted = ip_network(address)
        around = next((each for each in ranges if _contains(each, wanted)), None)
        if ranges and around is None:
            message = f"{address} is not in subnet '{subnet.subnet_id}' ({', '.join(subnet.ranges)})"
            raise CloudError(message)
        if around is not None and wanted.num_addresses == 1 and _is_reserved(wanted, around):
            message = f"{address} is one of the addresses that EC2 keeps in subnet '{subnet.subnet_id}'"
            raise CloudError(message)


def _contains(outer: IPv4Network | IPv6Network, inner: IPv4Network | IPv6Network) -> bool:
    return outer.version == inner.version and outer.overlaps(inner) and outer.prefixlen <= inner.prefixlen


def _is_reserved(address: IPv4Network | IPv6Network, subnet: IPv4Network | IPv6Network) -> bool:
    """The first four and the last one (VPC user guide, "subnet CIDR blocks")."""
    place = int(address.network_address) - int(subnet.network_address)
    return place < _FIRST_USABLE or place == subnet.num_addresses - 1


def check_zone(subnet_zone: str, vm_zone: str, disk_zones: Sequence[str]) -> None:
    """Check that the subnet, the VM and the disks it will get are in one zone.

    Args:
        subnet_zone: Where the subnets are.
        vm_zone: The cloud properties' ``availability_zone``.
        disk_zones: Where each hinted disk is, repeats kept.

    Raises:
        CloudError: They differ: EC2 can't attach a volume across zones.
    """
    if {subnet_zone, vm_zone, *disk_zones} == {vm_zone}:
        return
    volumes = f", and volume in {', '.join(disk_zones)}" if disk_zones else ""
    message = f"can't use multiple availability zones: subnet in {subnet_zone}, VM in {vm_zone}{volumes}"
    raise CloudError(message)
