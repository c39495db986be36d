"""Which things exist, one listing for each kind, for `cpi check`; a missing thing is no error."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import placement_groups as groups
from bosh_aws_cpi.aws.listings import entries, listed
from bosh_aws_cpi.aws.load_balancers import Misfit, misfit
from bosh_aws_cpi.aws.placement_groups import PlacementGroup

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_elb import ElasticLoadBalancingClient
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client
    from mypy_boto3_iam import IAMClient


def vpcs(client: "EC2Client", ids: Collection[str]) -> set[str]:
    """DescribeVpcs: which of these VPCs exist."""
    return {each["VpcId"] for each in listed(client, "describe_vpcs", "Vpcs", "vpc-id", ids)}


def key_pairs(client: "EC2Client") -> set[str]:
    """DescribeKeyPairs: the names of all key pairs."""
    return {each["KeyName"] for each in entries(client, "describe_key_pairs", "KeyPairs", page=None)}


def placement_groups(client: "EC2Client") -> dict[str, PlacementGroup]:
    """DescribePlacementGroups: all placement groups, by name."""
    found = entries(client, "describe_placement_groups", "PlacementGroups", page=None)
    return {each["GroupName"]: groups.read(each) for each in found}


def instance_profiles(client: "IAMClient") -> set[str]:
    """ListInstanceProfiles: the names of the account's instance profiles."""
    found = entries(client, "list_instance_profiles", "InstanceProfiles")
    return {each["InstanceProfileName"] for each in found}


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
