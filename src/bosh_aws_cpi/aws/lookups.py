"""Which of many things exist, one listing for each kind, for `cpi check`; a missing thing is no error."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws import networks, routes
from bosh_aws_cpi.aws.listings import PAGE, listed, unpaged
from bosh_aws_cpi.aws.load_balancers import Misfit, misfit
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_elb import ElasticLoadBalancingClient
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client
    from mypy_boto3_iam import IAMClient


class SubnetFacts(Record):
    """A subnet.

    Attributes:
        state: "available", or why no VM can be created in it.
        ranges: Its ranges in CIDR notation: at most one of IPv4, and those of IPv6.
        free: The number of its free IPv4 addresses.
        families: Those of the addresses that it gives interfaces, as in `Subnet`.
    """

    subnet_id: str
    vpc_id: str
    zone: str
    state: str
    ranges: tuple[str, ...]
    free: int
    families: frozenset[str] = frozenset({"IPv4"})


class SecurityGroup(Record):
    """A security group, without its rules.

    Attributes:
        vpc_id: The VPC in which it was created.
    """

    group_id: str
    name: str
    vpc_id: str


class PlacementGroup(Record):
    """A placement group.

    Attributes:
        strategy: "cluster", "partition" or "spread".
        partitions: The number of its partitions; 0 if it has none, or EC2 did not say.
    """

    state: str
    strategy: str
    partitions: int


def subnets(client: "EC2Client", ids: Collection[str]) -> dict[str, SubnetFacts]:
    """DescribeSubnets, by id."""
    return {
        each["SubnetId"]: SubnetFacts(
            each["SubnetId"],
            each["VpcId"],
            each["AvailabilityZone"],
            each.get("State", "available"),
            tuple(_ranges(each)),
            each.get("AvailableIpAddressCount", 0),
            networks.families(each),
        )
        for each in listed(client, "describe_subnets", "Subnets", "subnet-id", ids)
    }


def _ranges(entry: Any) -> Iterator[str]:  # noqa: ANN401 - one of the SDK's typed dicts
    if entry.get("CidrBlock"):
        yield entry["CidrBlock"]
    for block in entry.get("Ipv6CidrBlockAssociationSet", []):
        if block.get("Ipv6CidrBlockState", {}).get("State", "associated") == "associated":
            yield block["Ipv6CidrBlock"]


def security_groups(client: "EC2Client", vpc_ids: Collection[str]) -> list[SecurityGroup]:
    """DescribeSecurityGroups: all groups of these VPCs."""
    return _groups(client, "vpc-id", vpc_ids)


def groups_by_id(client: "EC2Client", ids: Collection[str]) -> dict[str, SecurityGroup]:
    """DescribeSecurityGroups: those of these groups that exist, by id."""
    return {each.group_id: each for each in _groups(client, "group-id", ids)}


def _groups(client: "EC2Client", name: str, values: Collection[str]) -> list[SecurityGroup]:
    found = listed(client, "describe_security_groups", "SecurityGroups", name, values)
    return [SecurityGroup(each["GroupId"], each["GroupName"], each["VpcId"]) for each in found]


def group_associations(client: "EC2Client", ids: Collection[str]) -> dict[tuple[str, str], str]:
    """DescribeSecurityGroupVpcAssociations: the states of these groups' associations, by group and VPC."""
    operation = "describe_security_group_vpc_associations"
    found = listed(client, operation, "SecurityGroupVpcAssociations", "group-id", ids)
    return {(each["GroupId"], each["VpcId"]): each["State"] for each in found}


def vpcs(client: "EC2Client", ids: Collection[str]) -> dict[str, str]:
    """DescribeVpcs: which of these VPCs exist; each is its own VPC."""
    found = listed(client, "describe_vpcs", "Vpcs", "vpc-id", ids)
    return {each["VpcId"]: each["VpcId"] for each in found}


def network_acls(client: "EC2Client", ids: Collection[str]) -> dict[str, str]:
    """DescribeNetworkAcls: the VPCs of those of these network ACLs that exist, by id."""
    found = listed(client, "describe_network_acls", "NetworkAcls", "network-acl-id", ids)
    return {each["NetworkAclId"]: each["VpcId"] for each in found}


def route_tables(client: "EC2Client", ids: Collection[str]) -> dict[str, str]:
    """DescribeRouteTables: the VPCs of those of these route tables that exist, by id."""
    return {table_id: table.vpc_id for table_id, table in routes.tables(client, sorted(ids)).items()}


def zones(client: "EC2Client") -> set[str]:
    """DescribeAvailabilityZones: the region's zones that are available to the account."""
    answer = client.describe_availability_zones(Filters=[{"Name": "state", "Values": ["available"]}])
    return {each["ZoneName"] for each in answer["AvailabilityZones"]}


def key_pairs(client: "EC2Client", names: Collection[str]) -> set[str]:
    """DescribeKeyPairs: which of these key pairs exist."""
    found = unpaged(client.describe_key_pairs, "KeyPairs", "key-name", names)
    return {each["KeyName"] for each in found}


def placement_groups(client: "EC2Client", names: Collection[str]) -> dict[str, PlacementGroup]:
    """DescribePlacementGroups: those of these placement groups that exist, by name."""
    found = unpaged(client.describe_placement_groups, "PlacementGroups", "group-name", names)
    return {
        each["GroupName"]: PlacementGroup(
            each.get("State", "available"), each.get("Strategy", ""), each.get("PartitionCount", 0)
        )
        for each in found
    }


def instance_profiles(client: "IAMClient") -> set[str]:
    """ListInstanceProfiles: the names of the account's instance profiles."""
    pages = client.get_paginator("list_instance_profiles").paginate(PaginationConfig={"PageSize": PAGE})
    return {each["InstanceProfileName"] for page in pages for each in page["InstanceProfiles"]}


def load_balancers(client: "ElasticLoadBalancingClient") -> dict[str, str]:
    """DescribeLoadBalancers: the VPC of each classic load balancer, by name."""
    pages = client.get_paginator("describe_load_balancers").paginate()
    found = (each for page in pages for each in page["LoadBalancerDescriptions"])
    return {each["LoadBalancerName"]: each.get("VPCId", "") for each in found}


def target_groups(client: "ElasticLoadBalancingv2Client") -> dict[str, tuple[Misfit | None, str]]:
    """DescribeTargetGroups, by name and by ARN: why a VM can't be a target (None if it can), and the VPC."""
    pages = client.get_paginator("describe_target_groups").paginate()
    found = (each for page in pages for each in page["TargetGroups"])
    return {
        each[key]: (misfit(each), each.get("VpcId", ""))
        for each in found
        for key in ("TargetGroupName", "TargetGroupArn")
    }
