"""Lookups of many things of one kind with one listing, for `cpi check`; a missing thing is no error."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_elb import ElasticLoadBalancingClient
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client
    from mypy_boto3_iam import IAMClient

_MOST_VALUES: Final = 200
"""EC2's maximum number of values in one filter (EC2 user guide, "List and filter using the CLI and API")."""
_PAGE: Final = 1000
"""EC2's maximum page size for most listings."""


@dataclass(frozen=True)
class SubnetFacts:
    """A subnet."""

    subnet_id: str
    vpc_id: str
    zone: str
    state: str
    """ "available", or why no VM can be created in it."""
    ranges: tuple[str, ...]
    """Its ranges in CIDR notation: at most one of IPv4, and those of IPv6."""
    free: int
    """The number of its free IPv4 addresses."""


@dataclass(frozen=True)
class Group:
    """A security group."""

    group_id: str
    name: str
    vpc_id: str


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
        )
        for each in listed(client, "describe_subnets", "Subnets", "subnet-id", ids)
    }


def _ranges(entry: Any) -> Iterator[str]:  # noqa: ANN401 - one of the SDK's typed dicts
    if entry.get("CidrBlock"):
        yield entry["CidrBlock"]
    for block in entry.get("Ipv6CidrBlockAssociationSet", []):
        if block.get("Ipv6CidrBlockState", {}).get("State", "associated") == "associated":
            yield block["Ipv6CidrBlock"]


def security_groups(client: "EC2Client", vpc_ids: Collection[str]) -> list[Group]:
    """DescribeSecurityGroups: all groups of these VPCs."""
    found = listed(client, "describe_security_groups", "SecurityGroups", "vpc-id", vpc_ids)
    return [Group(each["GroupId"], each["GroupName"], each["VpcId"]) for each in found]


def zones(client: "EC2Client") -> set[str]:
    """DescribeAvailabilityZones: the region's zones that are available to the account."""
    answer = client.describe_availability_zones(Filters=[{"Name": "state", "Values": ["available"]}])
    return {each["ZoneName"] for each in answer["AvailabilityZones"]}


def key_pairs(client: "EC2Client", names: Collection[str]) -> set[str]:
    """DescribeKeyPairs: which of these key pairs exist."""
    found = _unpaged(client.describe_key_pairs, "KeyPairs", "key-name", names)
    return {each["KeyName"] for each in found}


def placement_groups(client: "EC2Client", names: Collection[str]) -> dict[str, str]:
    """DescribePlacementGroups: the states of those placement groups that exist, by name."""
    found = _unpaged(client.describe_placement_groups, "PlacementGroups", "group-name", names)
    return {each["GroupName"]: each.get("State", "available") for each in found}


def instance_profiles(client: "IAMClient") -> set[str]:
    """ListInstanceProfiles: the names of the account's instance profiles."""
    pages = client.get_paginator("list_instance_profiles").paginate(PaginationConfig={"PageSize": _PAGE})
    return {each["InstanceProfileName"] for page in pages for each in page["InstanceProfiles"]}


def load_balancers(client: "ElasticLoadBalancingClient") -> dict[str, str]:
    """DescribeLoadBalancers: the VPC of each classic load balancer, by name."""
    pages = client.get_paginator("describe_load_balancers").paginate()
    found = (each for page in pages for each in page["LoadBalancerDescriptions"])
    return {each["LoadBalancerName"]: each.get("VPCId", "") for each in found}


def target_groups(client: "ElasticLoadBalancingv2Client") -> dict[str, tuple[str, str]]:
    """DescribeTargetGroups: target type and VPC of each target group, by name and by ARN."""
    pages = client.get_paginator("describe_target_groups").paginate()
    found = (each for page in pages for each in page["TargetGroups"])
    return {
        each[key]: (each.get("TargetType", "instance"), each.get("VpcId", ""))
        for each in found
        for key in ("TargetGroupName", "TargetGroupArn")
    }


def listed(
    client: Any,  # noqa: ANN401 - the operation is data here
    operation: str,
    key: str,
    name: str,
    values: Iterable[str],
    **more: Any,  # noqa: ANN401
) -> Iterator[Any]:
    """The entries of a listing of EC2 that have one of these values, in as few calls as possible.

    A filter leaves out what does not exist; an id among a call's own parameters would fail the call.

    Args:
        client: The EC2 client.
        operation: The call, by its Python name.
        key: What the entries stand under in the answer.
        name: The filter.
        values: The wanted values.
        more: Other parameters.
    """
    asked = {"PaginationConfig": {"PageSize": _PAGE}, **more}
    for filters in _filters(name, values):
        for page in client.get_paginator(operation).paginate(Filters=filters, **asked):
            yield from page[key]


def _unpaged(call: Any, key: str, name: str, values: Iterable[str]) -> Iterator[Any]:  # noqa: ANN401 - any call
    for filters in _filters(name, values):
        yield from call(Filters=filters)[key]


def _filters(name: str, values: Iterable[str]) -> Iterator[list[dict[str, Any]]]:
    wanted = sorted(set(values))
    for start in range(0, len(wanted), _MOST_VALUES):
        yield [{"Name": name, "Values": wanted[start : start + _MOST_VALUES]}]
