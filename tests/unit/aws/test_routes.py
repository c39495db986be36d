"""Routes of a VPC's route tables."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import routes
from bosh_aws_cpi.aws.routes import Route
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


@pytest.mark.parametrize(
    ("destination", "name"), [(NET, "DestinationCidrBlock"), ("2600::/64", "DestinationIpv6CidrBlock")]
)
def test_changes(ec2: Stub, destination: str, name: str) -> None:
    """A route is created unless it exists, replaced and deleted if it does, for IPv4 and IPv6."""
    which = {"RouteTableId": TABLE, name: destination}
    ec2.lay(
        "create_route", {"Return": True}, "RouteAlreadyExists", "UnauthorizedOperation", **which, **TO_NIC
    )
    assert routes.create(ec2.client, TABLE, destination, TO_NIC) is True
    assert routes.create(ec2.client, TABLE, destination, TO_NIC) is False
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        routes.create(ec2.client, TABLE, destination, TO_NIC)
    ec2.lay("replace_route", {}, "InvalidRoute.NotFound", **which, **TO_NIC)
    assert routes.replace(ec2.client, TABLE, destination, TO_NIC) is True
    assert routes.replace(ec2.client, TABLE, destination, TO_NIC) is False
    ec2.lay("delete_route", {}, "InvalidRoute.NotFound", **which)
    for _ in ("there", "gone"):
        routes.delete(ec2.client, TABLE, destination)


def test_replace_invalid(ec2: Stub) -> None:
    """EC2 also reports a missing route as an invalid value; another invalid value is an error."""
    arguments = {"RouteTableId": TABLE, "DestinationCidrBlock": NET, **TO_NIC}
    for said in ("There is no route defined for it. Use CreateRoute instead.", "invalid networkInterfaceId"):
        ec2.refuses("replace_route", "InvalidParameterValue", said, **arguments)
    assert routes.replace(ec2.client, TABLE, NET, TO_NIC) is False
    with pytest.raises(ClientError, match="networkInterfaceId"):
        routes.replace(ec2.client, TABLE, NET, TO_NIC)
