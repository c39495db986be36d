"""Routes and route tables, as records."""

from collections.abc import Mapping, Sequence

from bosh_aws_cpi.records import Record


class Route(Record):
    """A route of a route table."""

    destination: str
    target: Mapping[str, str | bool]
    """Its target, as an argument for CreateRoute and ReplaceRoute: {"GatewayId": "igw-1"}."""
    is_blackhole: bool
    """Whether its target is gone."""


class RouteTable(Record):
    """A route table of a VPC."""

    table_id: str
    vpc_id: str
    routes: Sequence[Route]
    subnet_ids: frozenset[str] = frozenset()
    """The subnets that are associated with it explicitly."""
    is_main: bool = False
    """Whether the VPC's other subnets use it."""

    def route(self, destination: str) -> Route | None:
        """The route for exactly this destination."""
        return next((route for route in self.routes if route.destination == destination), None)
