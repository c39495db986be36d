"""A VPC's address ranges and DNS, for `cpi diagnose`."""

from typing import TYPE_CHECKING

from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


class Vpc(Record):
    """A VPC.

    Attributes:
        owner_id: The account that owns it; its subnets may be shared with others.
        dhcp_options_id: "dopt-…", or "default" when it has none.
        cidrs: All its ranges of IPv4 and IPv6 addresses; the first is the primary one.
    """

    vpc_id: str
    owner_id: str
    dhcp_options_id: str
    cidrs: tuple[str, ...]


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
        )
    return None


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
