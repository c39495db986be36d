"""A VPC's address ranges, DNS and VPC Block Public Access, for `cpi diagnose`."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.listings import listed
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


NOT_BLOCKED: Final = "off"
BLOCK_INGRESS: Final = "block-ingress"
BLOCK_BIDIRECTIONAL: Final = "block-bidirectional"
"""The modes of VPC Block Public Access (EC2's API model, BlockPublicAccessMode)."""


class Vpc(Record):
    """A VPC.

    Attributes:
        owner_id: The account that owns it; its subnets may be shared with others.
        dhcp_options_id: "dopt-…", or "default" when it has none.
        cidrs: All its ranges of IPv4 and IPv6 addresses; the first is the primary one.
        block_mode: Its mode of VPC Block Public Access; exclusions of subnets only show in `block_modes`.
    """

    vpc_id: str
    owner_id: str
    dhcp_options_id: str
    cidrs: tuple[str, ...]
    block_mode: str = NOT_BLOCKED


def find(client: "EC2Client", vpc_id: str) -> Vpc | None:
    """DescribeVpcs for one VPC; None when EC2 does not show it."""
    answer = client.describe_vpcs(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])
    for entry in answer["Vpcs"]:
        ranges = [
            entry.get("CidrBlock", ""),
            *(each["CidrBlock"] for each in entry.get("CidrBlockAssociationSet", [])),
            *(each["Ipv6CidrBlock"] for each in entry.get("Ipv6CidrBlockAssociationSet", [])),
        ]
        return Vpc(
            vpc_id,
            entry.get("OwnerId", ""),
            entry.get("DhcpOptionsId", "default"),
            tuple(dict.fromkeys(filter(None, ranges))),
            _block_mode(entry),
        )
    return None


def block_modes(client: "EC2Client", subnet_ids: Collection[str]) -> dict[str, str]:
    """DescribeSubnets: the modes of VPC Block Public Access that remain for subnets, by id."""
    found = listed(client, "describe_subnets", "Subnets", "subnet-id", subnet_ids)
    return {entry["SubnetId"]: _block_mode(entry) for entry in found}


def _block_mode(entry: Any) -> str:  # noqa: ANN401 - one of two of the SDK's types
    return str(entry.get("BlockPublicAccessStates", {}).get("InternetGatewayBlockMode", NOT_BLOCKED))


def has_dns(client: "EC2Client", vpc_id: str) -> bool:
    """DescribeVpcAttribute: whether the VPC's own DNS server, Amazon's, answers (enableDnsSupport)."""
    answer = client.describe_vpc_attribute(VpcId=vpc_id, Attribute="enableDnsSupport")
    return answer["EnableDnsSupport"].get("Value", True)


def dns_servers(client: "EC2Client", dhcp_options_id: str) -> tuple[str, ...]:
    """DescribeDhcpOptions: the DNS servers that DHCP tells the VM, "AmazonProvidedDNS" or addresses."""
    answer = client.describe_dhcp_options(Filters=[{"Name": "dhcp-options-id", "Values": [dhcp_options_id]}])
    return tuple(
        value["Value"]
        for options in answer["DhcpOptions"]
        for configuration in options.get("DhcpConfigurations", [])
        if configuration["Key"] == "domain-name-servers"
        for value in configuration.get("Values", [])
    )
