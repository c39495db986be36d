"""The ranges of addresses of a managed network's subnet."""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import KEPT_FIRST, Subnet

IpNetwork = IPv4Network | IPv6Network
DEFAULT_BITS: Final = 24
_IPV6_BITS: Final = 64


def check_range(
    wanted: IPv4Network, vpc_ranges: Sequence[str], subnets: Sequence[Subnet], own: Mapping[str, str]
) -> None:
    """Check that a subnet can have a range.

    Args:
        wanted: The range.
        vpc_ranges: The VPC's IPv4 ranges.
        subnets: The VPC's subnets.
        own: When the CPI created those of this Director's managed networks, by id.

    Raises:
        CloudError: The range is not in a range of the VPC, or overlaps a subnet, which the message names,
            with the way to delete one that an earlier call may have left.
    """
    if not any(wanted.subnet_of(IPv4Network(each)) for each in vpc_ranges):
        raise CloudError(
            f"network.range: {wanted} is not in a range of the VPC, which has {', '.join(vpc_ranges)}. "
            "Correct range, or add a CIDR block to the VPC"
        )
    with_range = [each for each in subnets if each.range]
    if overlapping := [each for each in with_range if wanted.overlaps(IPv4Network(each.range))]:
        shown = ", ".join(f"{each.range} ({each.subnet_id})" for each in overlapping)
        ids = [each.subnet_id for each in overlapping]
        message = f"network.range: {wanted} overlaps the range of another subnet: {shown}"
        raise CloudError(". ".join([message, *(_remedy(name, own[name]) for name in ids if name in own)]))


def _remedy(subnet_id: str, since: str) -> str:
    return (
        f"An earlier call may have left {subnet_id}, created for this Director at {since}: "
        "if no network of the Director uses it, delete it with "
        f"`aws ec2 delete-subnet --subnet-id {subnet_id}`. `cpi sweep` lists such subnets"
    )


def free_range(vpc_ranges: Sequence[str], taken: Sequence[str], bits: int | None, start: int) -> IpNetwork:
    """Choose a free IPv4 range.

    Args:
        vpc_ranges: The VPC's IPv4 ranges.
        taken: The ranges of the VPC's subnets, and those that must not be chosen.
        bits: The prefix length; None for the default, 24.
        start: Any number: it determines where the search begins, so that concurrent calls rarely choose the
            same range.

    Raises:
        CloudError: No range of that size is free.
    """
    length = DEFAULT_BITS if bits is None else bits
    if (free := _free(vpc_ranges, taken, length, start)) is not None:
        return free
    raise CloudError(
        f"network.netmask_bits: no /{length} is free in the VPC, which has {', '.join(vpc_ranges)}. "
        "Set larger netmask_bits for a smaller subnet, or add a CIDR block to the VPC"
    )


def free_ipv6_range(vpc_ranges: Sequence[str], taken: Sequence[str], start: int) -> IpNetwork:
    """Choose a free /64.

    Args:
        vpc_ranges: The VPC's IPv6 ranges.
        taken: As in `free_range`.
        start: As in `free_range`.

    Raises:
        CloudError: The VPC has no IPv6 range, or no /64 is free.
    """
    if not vpc_ranges:
        message = "network.cloud_properties.ipv6: the VPC has no IPv6 range. Add one to it, or remove ipv6"
        raise CloudError(message)
    if (free := _free(vpc_ranges, taken, _IPV6_BITS, start)) is not None:
        return free
    raise CloudError(
        f"network.cloud_properties.ipv6: no /64 is free in the VPC, which has {', '.join(vpc_ranges)}. "
        "Add an IPv6 CIDR block to it, or remove ipv6"
    )


def addresses(subnet_range: str) -> Json:
    """The addresses of a subnet as create_network returns them: range, gateway, and those that AWS keeps.

    Raises:
        CloudError: It is no range of a subnet.
    """
    network = IPv4Network(subnet_range or 0)
    if network.num_addresses <= KEPT_FIRST:
        raise CloudError(f"EC2 says of the new subnet that its IPv4 range is '{subnet_range}', which is none")
    return {
        "range": subnet_range,
        "gateway": str(network[1]),
        "reserved": [f"{network[0]}-{network[KEPT_FIRST - 1]}", str(network[-1])],
    }


def _free(ranges: Sequence[str], taken: Sequence[str], length: int, start: int) -> IpNetwork | None:
    """The first free part of that length from the start on; one by one, because a /44 has a million."""
    blocks = [block for block in map(ip_network, ranges) if block.prefixlen <= length]
    others = [ip_network(each) for each in taken]
    count = sum(2 ** (length - block.prefixlen) for block in blocks)
    choices = (_part(blocks, length, (start + number) % count) for number in range(count))
    return next((each for each in choices if not any(map(each.overlaps, others))), None)


def _part(blocks: Sequence[IpNetwork], length: int, number: int) -> IpNetwork:
    block, *further = blocks
    if number >= (count := 2 ** (length - block.prefixlen)):
        return _part(further, length, number - count)
    size = 2 ** (block.max_prefixlen - length)
    return type(block)((int(block.network_address) + number * size, length))
