"""Routes of a VPC's route tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import routes
from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.errors import CloudError

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2

TABLE = "rtb-1"
TO_NIC = {"NetworkInterfaceId": "eni-1"}
DESTINATIONS = pytest.mark.parametrize(
    ("destination", "name"),
    [("10.0.0.0/8", "DestinationCidrBlock"), ("2600::/64", "DestinationIpv6CidrBlock")],
)


def lay(ec2: Ec2, ids: list[str], *tables: dict[str, Any]) -> None:
    """Lay out the question for tables."""
    filters = [{"Name": "route-table-id", "Values": ids}]
    ec2.answers("describe_route_tables", {"RouteTables": list(tables)}, Filters=filters)


def table(table_id: str = TABLE, *entries: dict[str, Any]) -> dict[str, Any]:
    """Describe a table."""
    return {"RouteTableId": table_id, "VpcId": "vpc-1", "Routes": list(entries)}


def read(ec2: Ec2, entry: dict[str, Any]) -> Route:
    """Read a table's only route."""
    lay(ec2, [TABLE], table(TABLE, {"State": "active", **entry}))
    (route,) = routes.tables(ec2.client, [TABLE])[TABLE].routes
    return route


def test_tables(ec2: Ec2) -> None:
    """Tables are asked for all at once, each once; one that EC2 does not know is missing."""
    lay(ec2, ["rtb-1", "rtb-2", "rtb-3"], table("rtb-2"), table("rtb-1"))
    assert routes.tables(ec2.client, ["rtb-3", "rtb-1", "rtb-2", "rtb-1"]) == {
        "rtb-1": RouteTable("rtb-1", "vpc-1", []),
        "rtb-2": RouteTable("rtb-2", "vpc-1", []),
    }


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"DestinationCidrBlock": "10.0.0.0/8"}, "10.0.0.0/8"),
        ({"DestinationIpv6CidrBlock": "2600::/64"}, "2600::/64"),
        ({"DestinationPrefixListId": "pl-1"}, "pl-1"),
    ],
)
def test_destination(ec2: Ec2, entry: dict[str, str], expected: str) -> None:
    """A route leads to addresses, or to a list of them."""
    assert read(ec2, {**entry, "GatewayId": "igw-1"}).destination == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"GatewayId": "igw-1"}, {"GatewayId": "igw-1"}),
        ({"GatewayId": "local"}, {"LocalTarget": True}),
        ({"GatewayId": "vpce-1"}, {"VpcEndpointId": "vpce-1"}),
        ({"InstanceId": "i-1", "NetworkInterfaceId": "eni-1"}, TO_NIC),
        ({"NatGatewayId": "nat-1"}, {"NatGatewayId": "nat-1"}),
        ({"TransitGatewayId": "tgw-1"}, {"TransitGatewayId": "tgw-1"}),
        ({"VpcPeeringConnectionId": "pcx-1"}, {"VpcPeeringConnectionId": "pcx-1"}),
        ({"EgressOnlyInternetGatewayId": "eigw-1"}, {"EgressOnlyInternetGatewayId": "eigw-1"}),
        ({}, {}),
    ],
)
@pytest.mark.parametrize("state", ["active", "blackhole"])
def test_target(ec2: Ec2, entry: dict[str, str], expected: dict[str, str | bool], state: str) -> None:
    """A route's target is read under the name by which EC2 takes it back."""
    route = read(ec2, {"DestinationCidrBlock": "10.0.0.0/8", "State": state, **entry})
    assert route == Route("10.0.0.0/8", expected, is_blackhole=state == "blackhole")


@DESTINATIONS
def test_create(ec2: Ec2, destination: str, name: str) -> None:
    """A route is made for IPv4 or IPv6; one that is there already is told, and left as it is."""
    arguments = {"RouteTableId": TABLE, name: destination, **TO_NIC}
    ec2.answers("create_route", {"Return": True}, **arguments)
    ec2.refuses("create_route", "RouteAlreadyExists", **arguments)
    assert routes.create(ec2.client, TABLE, destination, TO_NIC) is True
    assert routes.create(ec2.client, TABLE, destination, TO_NIC) is False


@DESTINATIONS
def test_replace(ec2: Ec2, destination: str, name: str) -> None:
    """A route's target is replaced; without the route, which EC2 reports in two ways, the result is False."""
    arguments = {"RouteTableId": TABLE, name: destination, **TO_NIC}
    ec2.answers("replace_route", **arguments)
    said = f"There is no route defined for '{destination}' in the route table. Use CreateRoute instead."
    ec2.refuses("replace_route", "InvalidParameterValue", said, **arguments)
    ec2.refuses("replace_route", "InvalidRoute.NotFound", **arguments)
    assert routes.replace(ec2.client, TABLE, destination, TO_NIC) is True
    assert routes.replace(ec2.client, TABLE, destination, TO_NIC) is False
    assert routes.replace(ec2.client, TABLE, destination, TO_NIC) is False


def test_replace_with_a_wrong_target(ec2: Ec2) -> None:
    """A target that EC2 does not take is another invalid value."""
    arguments = {"RouteTableId": TABLE, "DestinationCidrBlock": "10.0.0.0/8", **TO_NIC}
    ec2.refuses("replace_route", "InvalidParameterValue", "invalid value for networkInterfaceId", **arguments)
    with pytest.raises(ClientError, match="networkInterfaceId"):
        routes.replace(ec2.client, TABLE, "10.0.0.0/8", TO_NIC)


@DESTINATIONS
def test_delete(ec2: Ec2, destination: str, name: str) -> None:
    """A route is removed; one that is gone is fine."""
    arguments = {"RouteTableId": TABLE, name: destination}
    ec2.answers("delete_route", **arguments)
    ec2.refuses("delete_route", "InvalidRoute.NotFound", **arguments)
    for _ in ("there", "gone"):
        routes.delete(ec2.client, TABLE, destination)


def test_find(ec2: Ec2) -> None:
    """A destination's route is read as it is now; a table that is gone is an error."""
    lay(ec2, [TABLE], table(TABLE, {"DestinationCidrBlock": "10.0.0.0/8", **TO_NIC, "State": "active"}))
    lay(ec2, [TABLE], table())
    lay(ec2, [TABLE])
    found = routes.find(ec2.client, TABLE, "10.0.0.0/8")
    assert found == Route("10.0.0.0/8", TO_NIC, is_blackhole=False)
    assert routes.find(ec2.client, TABLE, "10.0.0.0/8") is None
    with pytest.raises(CloudError, match="Route table 'rtb-1' is gone"):
        routes.find(ec2.client, TABLE, "10.0.0.0/8")
