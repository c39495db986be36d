"""Routes of a VPC's route tables."""

from typing import Any

import pytest

from bosh_aws_cpi.aws import routes
from bosh_aws_cpi.aws.routes import Route
from bosh_aws_cpi.errors import CloudError
from tests.unit.conftest import Stub

TABLE = "rtb-1"
TO_NIC = {"NetworkInterfaceId": "eni-1"}
OF_TABLE = {"Filters": [{"Name": "route-table-id", "Values": [TABLE]}]}
NET = "10.0.0.0/8"


def table(*entries: dict[str, Any]) -> dict[str, Any]:
    """Answer with a table."""
    return {"RouteTables": [{"RouteTableId": TABLE, "VpcId": "vpc-1", "Routes": list(entries)}]}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"GatewayId": "igw-1"}, None),
        ({"GatewayId": "local"}, {"LocalTarget": True}),
        ({"GatewayId": "vpce-1"}, {"VpcEndpointId": "vpce-1"}),
        ({"InstanceId": "i-1", "NetworkInterfaceId": "eni-1"}, TO_NIC),
        ({"NatGatewayId": "nat-1"}, None),
        ({}, None),
    ],
)
def test_target(ec2: Stub, entry: dict[str, str], expected: dict[str, str | bool] | None) -> None:
    """A route's target is read under the name by which EC2 takes it back, and so is each destination."""
    destinations = {
        "DestinationCidrBlock": NET,
        "DestinationIpv6CidrBlock": "2600::/64",
        "DestinationPrefixListId": "pl-1",
    }
    entries = [{name: value, "State": "blackhole", **entry} for name, value in destinations.items()]
    ec2.lay("describe_route_tables", table(*entries), **OF_TABLE)
    found = routes.tables(ec2.client, [TABLE, TABLE])[TABLE].routes
    target = entry if expected is None else expected
    assert found == [Route(each, target, is_blackhole=True) for each in destinations.values()]


def test_deleted_already(ec2: Stub) -> None:
    """A route that is gone when it is to be deleted is no error."""
    ec2.lay("delete_route", "InvalidRoute.NotFound", RouteTableId=TABLE, DestinationCidrBlock=NET)
    routes.delete(ec2.client, TABLE, NET)


def test_table_that_is_not_shown(ec2: Stub) -> None:
    """A table that EC2 does not show says nothing about its routes."""
    ec2.lay("describe_route_tables", {"RouteTables": []}, **OF_TABLE)
    with pytest.raises(CloudError, match="Route table 'rtb-1' is gone"):
        routes.find(ec2.client, TABLE, NET)
