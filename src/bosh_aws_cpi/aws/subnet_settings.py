"""A subnet's route table, network ACL and attributes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.error_codes import NOT_FOUND_YET
from bosh_aws_cpi.aws.sdk.errors import looked_up

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef


def vpc_of_acl(client: "EC2Client", acl_id: str) -> str | None:
    """DescribeNetworkAcls: the id of a network ACL's VPC; None when EC2 does not know the ACL."""
    answer = client.describe_network_acls(Filters=[{"Name": "network-acl-id", "Values": [acl_id]}])
    return next((entry["VpcId"] for entry in answer["NetworkAcls"]), None)


def use_route_table(client: "EC2Client", subnet_id: str, table_id: str) -> None:
    """AssociateRouteTable for a new subnet; no error if the subnet already has that route table."""

    def associate() -> None:
        client.associate_route_table(SubnetId=subnet_id, RouteTableId=table_id)

    _once_seen(client, subnet_id, associate, lambda: _has_route_table(client, subnet_id, table_id))


def use_acl(client: "EC2Client", subnet_id: str, acl_id: str) -> None:
    """ReplaceNetworkAclAssociation for a new subnet, which has the VPC's default ACL at first.

    Raises:
        CloudError: EC2 shows no association of the subnet.
    """

    def find() -> tuple[str, str]:
        found = _acl_association(client, subnet_id)
        if found is None:
            raise timing.NotYet("its association is not visible yet")
        return found

    association_id, current = timing.until(timing.VISIBLE, f"the network ACL of subnet '{subnet_id}'", find)
    if current == acl_id:
        return

    def replace() -> None:
        client.replace_network_acl_association(AssociationId=association_id, NetworkAclId=acl_id)

    def is_replaced() -> bool:
        now = _acl_association(client, subnet_id)
        return now is not None and now[1] == acl_id

    _once_seen(client, subnet_id, replace, is_replaced)


def assign_public_addresses(client: "EC2Client", subnet_id: str) -> None:
    """ModifySubnetAttribute: interfaces of instances in the subnet get a public address by default."""
    timing.patiently(
        timing.VISIBLE,
        f"subnet '{subnet_id}' to become visible",
        NOT_FOUND_YET,
        lambda: client.modify_subnet_attribute(SubnetId=subnet_id, MapPublicIpOnLaunch={"Value": True}),
    )


def _once_seen(
    client: "EC2Client", subnet_id: str, call: Callable[[], object], is_done: Callable[[], bool]
) -> None:
    """Make a call about a new subnet, retried while EC2 does not know it.

    Args:
        client: The EC2 client.
        subnet_id: The subnet.
        call: The call.
        is_done: Checks, after the call failed, whether an earlier attempt succeeded: EC2 refuses the second.
    """
    what = f"subnet '{subnet_id}' to become visible"
    try:
        timing.patiently(timing.VISIBLE, what, NOT_FOUND_YET, call)
    except client.exceptions.ClientError:
        if not looked_up(f"subnet '{subnet_id}'", is_done):
            raise


def _has_route_table(client: "EC2Client", subnet_id: str, table_id: str) -> bool:
    answer = client.describe_route_tables(Filters=_of_subnet(subnet_id))
    return any(entry["RouteTableId"] == table_id for entry in answer["RouteTables"])


def _acl_association(client: "EC2Client", subnet_id: str) -> tuple[str, str] | None:
    """The id of a subnet's association with a network ACL, and the ACL's id."""
    answer = client.describe_network_acls(Filters=_of_subnet(subnet_id))
    associations = (each for entry in answer["NetworkAcls"] for each in entry["Associations"])
    return next(
        (
            (each["NetworkAclAssociationId"], each["NetworkAclId"])
            for each in associations
            if each["SubnetId"] == subnet_id
        ),
        None,
    )


def _of_subnet(subnet_id: str) -> "list[FilterTypeDef]":
    return [{"Name": "association.subnet-id", "Values": [subnet_id]}]
