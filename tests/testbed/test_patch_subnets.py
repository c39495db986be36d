"""Subnets: their ranges, deletion and associations."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

UNKNOWN = "0123456789abcdef0"


@pytest.fixture
def subnet(ec2: Any, world: Any) -> str:
    """Have a subnet without interfaces."""
    answer = ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.0/24")
    subnet_id: str = answer["Subnet"]["SubnetId"]
    return subnet_id


def linked(ec2: Any, subnet_id: str) -> list[str]:
    """List the route tables and network ACLs that a subnet is associated with."""
    filters = [{"Name": "association.subnet-id", "Values": [subnet_id]}]
    tables = ec2.describe_route_tables(Filters=filters)["RouteTables"]
    acls = ec2.describe_network_acls(Filters=filters)["NetworkAcls"]
    return [*(table["RouteTableId"] for table in tables), *(acl["NetworkAclId"] for acl in acls)]


def test_ipv6(ec2: Any, world: Any, refused: Any) -> None:
    """A subnet's IPv6 range is a free one of the VPC, of a size that EC2 allows."""
    ec2.associate_vpc_cidr_block(VpcId=world.vpc_id, AmazonProvidedIpv6CidrBlock=True)
    (vpc,) = ec2.describe_vpcs(VpcIds=[world.vpc_id])["Vpcs"]
    base = ip_network(vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"]).network_address
    answer = ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.0/24", Ipv6CidrBlock=f"{base}/64")
    (association,) = answer["Subnet"]["Ipv6CidrBlockAssociationSet"]
    assert association["Ipv6CidrBlock"] == f"{base}/64"
    assert association["Ipv6CidrBlockState"] == {"State": "associated"}
    for cidr, code in (
        (f"{base}/60", "InvalidSubnet.Conflict"),
        (f"{base}/63", "InvalidSubnet.Range"),
        ("2001:db8::/64", "InvalidSubnet.Range"),
    ):
        with refused(code, cidr):
            ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.10.0/24", Ipv6CidrBlock=cidr)


def test_creation(ec2: Any, world: Any, fake_aws: Any) -> None:
    """A subnet is no default subnet, has a canonical range and its tags at once, and is pending at first."""
    fake_aws.rule(action="CreateSubnet", states=["pending", "available"])
    tags = [{"ResourceType": "subnet", "Tags": [{"Key": "a", "Value": "b"}]}]
    subnet = ec2.create_subnet(
        VpcId=world.vpc_id, CidrBlock="10.0.9.7/24", AvailabilityZone="us-east-1c", TagSpecifications=tags
    )["Subnet"]
    assert (subnet["CidrBlock"], subnet["State"], subnet["AvailableIpAddressCount"]) == (
        "10.0.9.0/24",
        "pending",
        251,
    )
    assert (subnet["DefaultForAz"], subnet["MapPublicIpOnLaunch"]) == (False, False)
    by_tag = [{"Name": "tag:a", "Values": ["b"]}]
    states = [ec2.describe_subnets(Filters=by_tag)["Subnets"][0]["State"] for _ in range(2)]
    assert states == ["pending", "available"]


def test_unseen(ec2: Any, world: Any, fake_aws: Any, refused: Any) -> None:
    """A new subnet may not be known yet."""
    fake_aws.rule(action="CreateSubnet", unseen=2)
    subnet = ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.0/24")["Subnet"]["SubnetId"]
    with refused("InvalidSubnetID.NotFound"):
        ec2.delete_subnet(SubnetId=subnet)
    of_vpc = [{"Name": "vpc-id", "Values": [world.vpc_id]}]
    assert len(ec2.describe_subnets(Filters=of_vpc)["Subnets"]) == 3
    assert len(ec2.describe_subnets(Filters=of_vpc)["Subnets"]) == 4


def test_network_acls(ec2: Any, world: Any, subnet: str, refused: Any) -> None:
    """A subnet's network ACL is replaced by one of its VPC, or nothing is changed."""
    (default,) = linked(ec2, subnet)
    (acl,) = ec2.describe_network_acls(NetworkAclIds=[default])["NetworkAcls"]
    (association,) = (each for each in acl["Associations"] if each["SubnetId"] == subnet)
    association_id = association["NetworkAclAssociationId"]
    vpc_id = ec2.create_vpc(CidrBlock="10.7.0.0/16")["Vpc"]["VpcId"]
    foreign = ec2.create_network_acl(VpcId=vpc_id)["NetworkAcl"]["NetworkAclId"]
    own = ec2.create_network_acl(VpcId=world.vpc_id)["NetworkAcl"]["NetworkAclId"]
    for wanted, which, code in (
        (foreign, association_id, "InvalidParameterValue"),
        (f"acl-{UNKNOWN}", association_id, "InvalidNetworkAclID.NotFound"),
        (own, f"aclassoc-{UNKNOWN}", "InvalidAssociationID.NotFound"),
    ):
        with refused(code):
            ec2.replace_network_acl_association(AssociationId=which, NetworkAclId=wanted)
    assert linked(ec2, subnet) == [default]
    ec2.replace_network_acl_association(AssociationId=association_id, NetworkAclId=own)
    assert linked(ec2, subnet) == [own]
    by_id = [{"Name": "network-acl-id", "Values": [own]}]
    (found,) = ec2.describe_network_acls(Filters=by_id)["NetworkAcls"]
    assert [each["SubnetId"] for each in found["Associations"]] == [subnet]
    with refused("InvalidAssociationID.NotFound"):
        ec2.replace_network_acl_association(AssociationId=association_id, NetworkAclId=own)
