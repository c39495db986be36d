"""VPCs: address ranges, DNS and VPC Block Public Access."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.sdk.filters import exactly
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
        ranges: Its ranges of IPv4 addresses; the first is the primary one.
        ipv6_ranges: Its ranges of IPv6 addresses.
        owner_id: The account that owns it; its subnets may be shared with others.
        dhcp_options_id: "dopt-…", or "default" when it has none.
        block_mode: Its mode of VPC Block Public Access; exclusions of subnets only show in their own modes.
    """

    vpc_id: str
    ranges: Sequence[str]
    ipv6_ranges: Sequence[str] = ()
    owner_id: str = ""
    dhcp_options_id: str = "default"
    block_mode: str = NOT_BLOCKED

    @property
    def cidrs(self) -> tuple[str, ...]:
        """All its ranges; the first is the primary one."""
        return (*self.ranges, *self.ipv6_ranges)


def find(client: "EC2Client", vpc_id: str) -> Vpc | None:
    """DescribeVpcs for one VPC; None when EC2 does not show it."""
    answer = client.describe_vpcs(Filters=[exactly("vpc-id", vpc_id)])
    return next(map(_vpc, answer["Vpcs"]), None)


def _vpc(entry: Any) -> Vpc:  # noqa: ANN401 - the SDK's typed dict, looked at by name
    ipv4 = [entry.get("CidrBlock"), *_associated(entry, "CidrBlock")]
    return Vpc(
        entry["VpcId"],
        list(dict.fromkeys(filter(None, ipv4))),
        _associated(entry, "Ipv6CidrBlock"),
        entry.get("OwnerId", ""),
        entry.get("DhcpOptionsId", "default"),
        block_mode(entry),
    )


def _associated(entry: Any, key: str) -> list[str]:  # noqa: ANN401
    """The ranges that can be used."""
    blocks = entry.get(f"{key}AssociationSet", [])
    return [each[key] for each in blocks if each[f"{key}State"]["State"] == "associated"]


def block_mode(entry: Any) -> str:  # noqa: ANN401
    """The mode of VPC Block Public Access of a VPC or a subnet, as EC2 describes it."""
    return str(entry.get("BlockPublicAccessStates", {}).get("InternetGatewayBlockMode", NOT_BLOCKED))


def has_dns(client: "EC2Client", vpc_id: str) -> bool:
    """DescribeVpcAttribute: whether the VPC's own DNS server, Amazon's, answers (enableDnsSupport)."""
    answer = client.describe_vpc_attribute(VpcId=vpc_id, Attribute="enableDnsSupport")
    return answer["EnableDnsSupport"].get("Value", True)


def dns_servers(client: "EC2Client", dhcp_options_id: str) -> tuple[str, ...]:
    """DescribeDhcpOptions: the DNS servers that DHCP tells the VM, "AmazonProvidedDNS" or addresses."""
    answer = client.describe_dhcp_options(Filters=[exactly("dhcp-options-id", dhcp_options_id)])
    return tuple(
        value["Value"]
        for options in answer["DhcpOptions"]
        for configuration in options.get("DhcpConfigurations", [])
        if configuration["Key"] == "domain-name-servers"
        for value in configuration.get("Values", [])
    )
