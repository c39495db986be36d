"""Routes of a VPC's route tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.sdk.errors import ROUTE_EXISTS, ROUTE_MISSING, call_unless
from bosh_aws_cpi.aws.sdk.filters import equals
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_DESTINATIONS: Final = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
_ROUTE_TARGETS: Final = (
    "NetworkInterfaceId",
    "NatGatewayId",
    "TransitGatewayId",
    "VpcPeeringConnectionId",
    "EgressOnlyInternetGatewayId",
    "LocalGatewayId",
    "CarrierGatewayId",
    "CoreNetworkArn",
    "GatewayId",
)
"""The keys of targets; the first key that is set counts, because a route to an instance has two."""


class Route(Record):
    """A route of a route table."""

    destination: str
    target: Mapping[str, str | bool]
    """The target as an argument of CreateRoute and ReplaceRoute: {"GatewayId": "igw-1"}."""
    is_blackhole: bool
    """Whether the target is gone."""


class RouteTable(Record):
    """A route table of a VPC."""

    table_id: str
    vpc_id: str
    routes: Sequence[Route]
    subnet_ids: frozenset[str] = frozenset()
    """The subnets that are explicitly associated with the table."""
    is_main: bool = False
    """Whether this is the VPC's main table, which subnets without an explicit association use."""

    def route(self, destination: str) -> Route | None:
        """The route with exactly this destination."""
        return next((route for route in self.routes if route.destination == destination), None)


def tables(client: "EC2Client", table_ids: Sequence[str]) -> dict[str, RouteTable]:
    """DescribeRouteTables, by id; unknown tables are left out."""
    return {table.table_id: table for table in _tables(client, "route-table-id", table_ids)}


def find_by_vpcs(client: "EC2Client", vpc_ids: Iterable[str]) -> list[RouteTable]:
    """DescribeRouteTables: all tables of these VPCs."""
    return list(_tables(client, "vpc-id", vpc_ids))


def _tables(client: "EC2Client", name: str, values: Iterable[str]) -> Iterator[RouteTable]:
    pages = client.get_paginator("describe_route_tables").paginate(
        Filters=[equals(name, *sorted(set(values)))]
    )
    for entry in (entry for page in pages for entry in page["RouteTables"]):
        associations = entry.get("Associations", [])
        yield RouteTable(
            entry["RouteTableId"],
            entry["VpcId"],
            [_route(route) for route in entry["Routes"]],
            frozenset(each["SubnetId"] for each in associations if each.get("SubnetId")),
            any(each.get("Main") for each in associations),
        )


def create(client: "EC2Client", table_id: str, destination: str, target: Json) -> bool:
    """Call CreateRoute.

    Returns:
        False when the table already has a route for the destination.
    """
    create = partial(client.create_route, RouteTableId=table_id, **_cidr(destination), **target)
    return call_unless(ROUTE_EXISTS, create) is not None


def replace(client: "EC2Client", table_id: str, destination: str, target: Json) -> bool:
    """Call ReplaceRoute, which gives the route for a destination another target.

    Returns:
        False when the table has no route for the destination.
    """
    replace = partial(client.replace_route, RouteTableId=table_id, **_cidr(destination), **target)
    return call_unless(ROUTE_MISSING, replace) is not None


def delete(client: "EC2Client", table_id: str, destination: str) -> None:
    """Call DeleteRoute; no error if the route is already gone."""
    call_unless(ROUTE_MISSING, lambda: client.delete_route(RouteTableId=table_id, **_cidr(destination)))


def find(client: "EC2Client", table_id: str, destination: str) -> Route | None:
    """Look up the current route for a destination.

    Raises:
        CloudError: The table is gone.
    """
    known = tables(client, [table_id])
    if table_id not in known:
        raise CloudError(f"Route table '{table_id}' is gone")
    return known[table_id].route(destination)


def _cidr(destination: str) -> Any:  # noqa: ANN401 - keyword arguments of the SDK's
    return {"DestinationIpv6CidrBlock" if ":" in destination else "DestinationCidrBlock": destination}


def _route(entry: Any) -> Route:  # noqa: ANN401 - the SDK's typed dict, read by name
    name = next((name for name in _ROUTE_TARGETS if entry.get(name)), None)
    value = entry[name] if name else ""
    if name == "GatewayId" and value.startswith("vpce-"):
        name = "VpcEndpointId"  # EC2 shows it as a gateway, but accepts it only as an endpoint
    target: dict[str, Any] = {name: value} if name else {}
    if target == {"GatewayId": "local"}:
        target = {"LocalTarget": True}
    return Route(
        destination=next((entry[key] for key in _DESTINATIONS if entry.get(key)), ""),
        target=target,
        is_blackhole=entry.get("State") == "blackhole",
    )
