"""A subnet's associations, when their answers are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import subnets

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2

SUBNET, TABLE, ACL = "subnet-1", "rtb-1", "acl-1"
OF_SUBNET = [{"Name": "association.subnet-id", "Values": [SUBNET]}]
PAIR = {"SubnetId": SUBNET, "RouteTableId": TABLE}
REPLACEMENT = {"AssociationId": "aclassoc-1", "NetworkAclId": ACL}


def lay_acl(ec2: Ec2, acl_id: str) -> None:
    """Let EC2 show the subnet's network ACL, which another subnet has, too."""
    of_subnets: list[dict[str, Any]] = [
        {"NetworkAclAssociationId": f"aclassoc-{number}", "SubnetId": subnet_id, "NetworkAclId": acl_id}
        for number, subnet_id in enumerate(["subnet-0", SUBNET])
    ]
    ec2.answers("describe_network_acls", {"NetworkAcls": [{"Associations": of_subnets}]}, Filters=OF_SUBNET)


@pytest.mark.parametrize("tables", [[{"RouteTableId": TABLE}], [{"RouteTableId": "rtb-2"}], []])
def test_associated_already(ec2: Ec2, tables: list[dict[str, str]]) -> None:
    """A second association is no error if the subnet has that route table."""
    ec2.refuses("associate_route_table", "Resource.AlreadyAssociated", **PAIR)
    ec2.answers("describe_route_tables", {"RouteTables": tables}, Filters=OF_SUBNET)
    if tables == [{"RouteTableId": TABLE}]:
        subnets.use_route_table(ec2.client, SUBNET, TABLE)
    else:
        with pytest.raises(ClientError, match="AlreadyAssociated"):
            subnets.use_route_table(ec2.client, SUBNET, TABLE)


def test_not_found_yet(ec2: Ec2) -> None:
    """A call about a subnet that EC2 does not know yet is retried."""
    ec2.refuses("associate_route_table", "InvalidSubnetID.NotFound", **PAIR)
    ec2.answers("associate_route_table", {"AssociationId": "rtbassoc-1"}, **PAIR)
    subnets.use_route_table(ec2.client, SUBNET, TABLE)
    public = {"SubnetId": SUBNET, "MapPublicIpOnLaunch": {"Value": True}}
    ec2.refuses("modify_subnet_attribute", "InvalidSubnetID.NotFound", **public)
    ec2.answers("modify_subnet_attribute", **public)
    subnets.assign_public_addresses(ec2.client, SUBNET)


@pytest.mark.parametrize("now", [ACL, "acl-2", None])
def test_replaced_already(ec2: Ec2, now: str | None) -> None:
    """A refused replacement is no error if the subnet has that network ACL: its answer was lost."""
    lay_acl(ec2, "acl-2")
    ec2.refuses("replace_network_acl_association", "InvalidAssociationID.NotFound", **REPLACEMENT)
    if now:
        lay_acl(ec2, now)
    else:  # EC2 may not show the subnet's association at that moment
        ec2.answers("describe_network_acls", {"NetworkAcls": []}, Filters=OF_SUBNET)
    if now == ACL:
        subnets.use_acl(ec2.client, SUBNET, ACL)
    else:
        with pytest.raises(ClientError, match="InvalidAssociationID"):
            subnets.use_acl(ec2.client, SUBNET, ACL)


def test_same_acl(ec2: Ec2) -> None:
    """If the subnet already has the network ACL, nothing is changed."""
    lay_acl(ec2, ACL)
    subnets.use_acl(ec2.client, SUBNET, ACL)


def test_association_that_is_not_shown(ec2: Ec2) -> None:
    """The association of a new subnet may not be visible yet."""
    ec2.answers("describe_network_acls", {"NetworkAcls": []}, Filters=OF_SUBNET)
    lay_acl(ec2, ACL)
    subnets.use_acl(ec2.client, SUBNET, ACL)
