"""Lookups of many things of one kind with one listing, for `cpi check`; a missing thing is no error."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.plan.tags import DIRECTOR_TAG

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_elb import ElasticLoadBalancingClient
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client

_MOST_VALUES: Final = 200
"""EC2's maximum number of values of a filter."""


@dataclass(frozen=True)
class SubnetFacts:
    """A subnet."""

    subnet_id: str
    vpc_id: str
    zone: str
    cidr: str
    """Its IPv4 range; empty for an IPv6-only subnet."""
    free: int
    """The number of its free IPv4 addresses."""


@dataclass(frozen=True)
class HeldAddress:
    """An IPv4 address that an interface holds."""

    subnet_id: str
    address: str
    nic_id: str
    is_of_bosh: bool
    """Whether the CPI created the interface, for any Director."""


def subnets(client: "EC2Client", ids: Collection[str]) -> dict[str, SubnetFacts]:
    """DescribeSubnets, by id."""
    return {
        each["SubnetId"]: SubnetFacts(
            each["SubnetId"],
            each["VpcId"],
            each["AvailabilityZone"],
            each.get("CidrBlock", ""),
            each.get("AvailableIpAddressCount", 0),
        )
        for each in _listed(client, "describe_subnets", "Subnets", "subnet-id", ids)
    }


def held_addresses(client: "EC2Client", subnet_ids: Collection[str]) -> list[HeldAddress]:
    """DescribeNetworkInterfaces: all addresses that interfaces hold in these subnets."""
    found = _listed(client, "describe_network_interfaces", "NetworkInterfaces", "subnet-id", subnet_ids)
    return [
        HeldAddress(
            each["SubnetId"], address["PrivateIpAddress"], each["NetworkInterfaceId"], _is_of_bosh(each)
        )
        for each in found
        for address in each.get("PrivateIpAddresses", [])
    ]


def _is_of_bosh(interface: Any) -> bool:  # noqa: ANN401 - one of the SDK's typed dicts
    return any(tag["Key"] == DIRECTOR_TAG for tag in interface.get("TagSet", []))


def security_groups(client: "EC2Client", vpc_ids: Collection[str]) -> list[tuple[str, str, str]]:
    """DescribeSecurityGroups: id, name and VPC of all groups of these VPCs."""
    found = _listed(client, "describe_security_groups", "SecurityGroups", "vpc-id", vpc_ids)
    return [(each["GroupId"], each["GroupName"], each["VpcId"]) for each in found]


def offered_types(client: "EC2Client", names: Collection[str]) -> set[tuple[str, str]]:
    """DescribeInstanceTypeOfferings: which of the types each zone of the region offers, as (type, zone)."""
    arguments = {"LocationType": "availability-zone"}
    found = _listed(
        client,
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        "instance-type",
        names,
        **arguments,
    )
    return {(each["InstanceType"], each["Location"]) for each in found}


def zones(client: "EC2Client") -> set[str]:
    """DescribeAvailabilityZones: the region's zones that are available to the account."""
    answer = client.describe_availability_zones(Filters=[{"Name": "state", "Values": ["available"]}])
    return {each["ZoneName"] for each in answer["AvailabilityZones"]}


def key_pairs(client: "EC2Client", names: Collection[str]) -> set[str]:
    """DescribeKeyPairs: which of these key pairs exist."""
    answer = client.describe_key_pairs(Filters=[{"Name": "key-name", "Values": sorted(names)}])
    return {each["KeyName"] for each in answer["KeyPairs"]}


def placement_groups(client: "EC2Client", names: Collection[str]) -> set[str]:
    """DescribePlacementGroups: which of these placement groups exist."""
    answer = client.describe_placement_groups(Filters=[{"Name": "group-name", "Values": sorted(names)}])
    return {each["GroupName"] for each in answer["PlacementGroups"]}


def load_balancers(client: "ElasticLoadBalancingClient") -> dict[str, str]:
    """DescribeLoadBalancers: the VPC of each classic load balancer, by name."""
    pages = client.get_paginator("describe_load_balancers").paginate()
    found = (each for page in pages for each in page["LoadBalancerDescriptions"])
    return {each["LoadBalancerName"]: each.get("VPCId", "") for each in found}


def target_groups(client: "ElasticLoadBalancingv2Client") -> dict[str, tuple[str, str]]:
    """DescribeTargetGroups: target type and VPC of each target group, by name."""
    pages = client.get_paginator("describe_target_groups").paginate()
    found = (each for page in pages for each in page["TargetGroups"])
    return {
        each["TargetGroupName"]: (each.get("TargetType", "instance"), each.get("VpcId", "")) for each in found
    }


def _listed(
    client: Any,  # noqa: ANN401 - the operation is data here
    operation: str,
    key: str,
    name: str,
    values: Iterable[str],
    **more: Any,  # noqa: ANN401
) -> Iterator[Any]:
    """The entries of a listing that has one of these values, in as few calls as possible."""
    wanted = sorted(set(values))
    for start in range(0, len(wanted), _MOST_VALUES):
        filters = [{"Name": name, "Values": wanted[start : start + _MOST_VALUES]}]
        for page in client.get_paginator(operation).paginate(Filters=filters, **more):
            yield from page[key]
