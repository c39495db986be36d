"""Subnets in detail, for `cpi check` and `cpi diagnose`: ranges, free addresses, VPC Block Public Access."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws import networks, vpcs
from bosh_aws_cpi.aws.listings import listed
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


class SubnetFacts(Record):
    """A subnet.

    Attributes:
        state: "available", or why no VM can be created in it.
        ranges: Its ranges in CIDR notation: at most one of IPv4, and those of IPv6.
        free: The number of its free IPv4 addresses.
        families: Those of the addresses that it gives interfaces, as in `Subnet`.
        block_mode: The mode of VPC Block Public Access that exclusions leave for it.
    """

    subnet_id: str
    vpc_id: str
    zone: str
    state: str
    ranges: tuple[str, ...]
    free: int
    families: frozenset[str] = frozenset({"IPv4"})
    block_mode: str = vpcs.NOT_BLOCKED


def by_id(client: "EC2Client", ids: Iterable[str]) -> dict[str, SubnetFacts]:
    """DescribeSubnets: those of these subnets that exist, by id."""
    return {
        each["SubnetId"]: SubnetFacts(
            each["SubnetId"],
            each["VpcId"],
            each["AvailabilityZone"],
            each.get("State", "available"),
            tuple(_ranges(each)),
            each.get("AvailableIpAddressCount", 0),
            networks.families(each),
            vpcs.block_mode(each),
        )
        for each in listed(client, "describe_subnets", "Subnets", "subnet-id", ids)
    }


def _ranges(entry: Any) -> Iterator[str]:  # noqa: ANN401 - one of the SDK's typed dicts
    if entry.get("CidrBlock"):
        yield entry["CidrBlock"]
    for block in entry.get("Ipv6CidrBlockAssociationSet", []):
        if block.get("Ipv6CidrBlockState", {}).get("State", "associated") == "associated":
            yield block["Ipv6CidrBlock"]
