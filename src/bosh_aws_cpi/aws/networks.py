"""Subnets and security groups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws.sdk.filters import exactly
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Subnet

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import SubnetTypeDef


def subnets(client: "EC2Client", subnet_ids: Sequence[str]) -> dict[str, Subnet]:
    """DescribeSubnets, by id.

    Raises:
        CloudError: EC2 does not know one of them.
    """
    wanted = sorted(set(subnet_ids))
    answer = client.describe_subnets(Filters=[exactly("subnet-id", *wanted)])
    found = {entry["SubnetId"]: _subnet(entry) for entry in answer["Subnets"]}
    missing = [subnet_id for subnet_id in wanted if subnet_id not in found]
    if missing:
        message = (
            f"Subnet not found: {', '.join(missing)}. "
            "Check subnet and subnet_fallbacks in the networks' cloud_properties"
        )
        raise CloudError(message)
    return found


def families(entry: "SubnetTypeDef") -> frozenset[str]:
    """The families, "IPv4" and "IPv6", of the addresses that a subnet gives an interface that names none.

    An interface gets an IPv6 address if the subnet is IPv6-only, or assigns one on creation (EC2 API
    reference, Subnet: Ipv6Native, AssignIpv6AddressOnCreation).
    """
    if entry.get("Ipv6Native", False):
        return frozenset({"IPv6"})
    return frozenset({"IPv4", "IPv6"} if entry.get("AssignIpv6AddressOnCreation", False) else {"IPv4"})


def security_group_ids(client: "EC2Client", vpc_id: str, names: Sequence[str]) -> dict[str, str]:
    """Look up security groups of a VPC by name, all with one DescribeSecurityGroups.

    Returns:
        The groups' ids, by name.

    Raises:
        CloudError: A name has no group, or more than one.
    """
    pages = client.get_paginator("describe_security_groups").paginate(
        Filters=[exactly("vpc-id", vpc_id), exactly("group-name", *sorted(set(names)))]
    )
    found = [(group["GroupName"], group["GroupId"]) for page in pages for group in page["SecurityGroups"]]
    return {
        name: _only(name, [group_id for known, group_id in found if known == name], vpc_id) for name in names
    }


def ordinary_zones(client: "EC2Client") -> list[str]:
    """The region's availability zones without Local and Wavelength Zones: any disk can be created there.

    Raises:
        CloudError: There is none.
    """
    answer = client.describe_availability_zones(
        Filters=[exactly("state", "available"), exactly("zone-type", "availability-zone")]
    )
    zones = sorted(zone["ZoneName"] for zone in answer["AvailabilityZones"])
    if not zones:
        message = (
            "No availability zone in the region is available for the disk. "
            f"AWS shows none in region {client.meta.region_name}: see AWS's health dashboard"
        )
        raise CloudError(message)
    return zones


def _subnet(entry: "SubnetTypeDef") -> Subnet:
    return Subnet(entry["SubnetId"], entry["VpcId"], entry["AvailabilityZone"], families(entry))


def _only(name: str, group_ids: list[str], vpc_id: str) -> str:
    if not group_ids:
        message = (
            f"Security group not found with name '{name}'. The subnet's VPC {vpc_id} has none of that name: "
            "correct security_groups or aws.default_security_groups, or create the group in that VPC"
        )
        raise CloudError(message)
    if len(group_ids) > 1:
        message = (
            f"Found multiple matching security groups with name '{name}': {', '.join(group_ids)}. "
            "Give the id of one of them instead of the name"
        )
        raise CloudError(message)
    return group_ids[0]
