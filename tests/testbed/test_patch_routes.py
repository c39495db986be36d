"""Routes to interfaces: creation, replacement and black holes."""

from typing import Any

import pytest

UNKNOWN = "eni-0123456789abcdef0"
BOTH = pytest.mark.parametrize(
    ("key", "cidr"), [("DestinationCidrBlock", "10.9.0.0/16"), ("DestinationIpv6CidrBlock", "2600:9::/64")]
)


@pytest.fixture
def vm(run: Any) -> Any:
    """Launch an instance."""
    return run()


def nic_of(instance: dict[str, Any]) -> str:
    """Return the id of an instance's first interface."""
    nic: str = instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
    return nic


def routes(world: Any) -> list[dict[str, Any]]:
    """List the created routes, by a filter."""
    filters = [{"Name": "route-table-id", "Values": [world.route_table_id]}]
    (table,) = world.ec2.describe_route_tables(Filters=filters)["RouteTables"]
    return [route for route in table["Routes"] if route["Origin"] == "CreateRoute"]


@BOTH
def test_created_and_replaced(
    ec2: Any, world: Any, vm: Any, run: Any, refused: Any, key: str, cidr: str
) -> None:
    """A route is created only once, replaced and deleted; it shows the interface and its instance."""
    table = {"RouteTableId": world.route_table_id, key: cidr}
    with refused("InvalidParameterValue", f"There is no route defined for '{cidr}' in the route table."):
        ec2.replace_route(**table, NetworkInterfaceId=nic_of(vm))
    ec2.create_route(**table, NetworkInterfaceId=nic_of(vm))
    with refused("RouteAlreadyExists", cidr):
        ec2.create_route(**table, NetworkInterfaceId=nic_of(vm))
    other = run()
    ec2.replace_route(**table, NetworkInterfaceId=nic_of(other))
    (route,) = routes(world)
    expected = {key: cidr, "NetworkInterfaceId": nic_of(other), "InstanceId": other["InstanceId"]}
    assert {name: route[name] for name in expected} == expected
    assert route["State"] == "active"
    ec2.delete_route(**table)
    assert routes(world) == []
    with refused("InvalidRoute.NotFound"):
        ec2.delete_route(**table)


def test_by_instance(ec2: Any, world: Any, vm: Any, run: Any, refused: Any) -> None:
    """A route to an instance is a route to its interface; with several interfaces it is refused."""
    table = {"RouteTableId": world.route_table_id, "DestinationCidrBlock": "10.9.0.0/16"}
    specs = [{"DeviceIndex": index, "SubnetId": world.subnet_id} for index in (0, 1)]
    several = run(NetworkInterfaces=specs)["InstanceId"]
    for change in (ec2.create_route, ec2.replace_route):
        change(**table, InstanceId=vm["InstanceId"])
        with refused("InvalidInstanceID", "multiple interfaces"):
            change(**table, InstanceId=several)
    assert [route["NetworkInterfaceId"] for route in routes(world)] == [nic_of(vm)]


def test_black_hole(ec2: Any, world: Any) -> None:
    """A route is a black hole if its interface is unattached or deleted."""
    nic = ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    table = {"RouteTableId": world.route_table_id, "DestinationCidrBlock": "10.9.0.0/16"}
    ec2.create_route(**table, NetworkInterfaceId=nic)
    assert [route["State"] for route in routes(world)] == ["blackhole"]
    ec2.delete_network_interface(NetworkInterfaceId=nic)
    assert [(r["State"], r["NetworkInterfaceId"]) for r in routes(world)] == [("blackhole", nic)]


def test_canonical(ec2: Any, world: Any, vm: Any, refused: Any) -> None:
    """The host bits of a destination are removed before it is compared."""
    table = {"RouteTableId": world.route_table_id, "NetworkInterfaceId": nic_of(vm)}
    ec2.create_route(**table, DestinationCidrBlock="10.9.1.2/16")
    assert [route["DestinationCidrBlock"] for route in routes(world)] == ["10.9.0.0/16"]
    with refused("RouteAlreadyExists"):
        ec2.create_route(**table, DestinationCidrBlock="10.9.0.0/16")
    ec2.delete_route(RouteTableId=world.route_table_id, DestinationCidrBlock="10.9.3.4/16")
    assert routes(world) == []


def test_other_network(ec2: Any, vm: Any, refused: Any) -> None:
    """A route to an unknown interface, or to one of another network, is refused."""
    other = ec2.create_vpc(CidrBlock="10.2.0.0/16")["Vpc"]["VpcId"]
    table_id = ec2.create_route_table(VpcId=other)["RouteTable"]["RouteTableId"]
    table = {"RouteTableId": table_id, "DestinationCidrBlock": "10.9.0.0/16"}
    with refused("InvalidParameterValue", "different networks"):
        ec2.create_route(**table, NetworkInterfaceId=nic_of(vm))
    with refused("InvalidNetworkInterfaceID.NotFound"):
        ec2.create_route(**table, NetworkInterfaceId=UNKNOWN)


def test_unknown_table(ec2: Any) -> None:
    """A filter for an unknown route table finds nothing."""
    filters = [{"Name": "route-table-id", "Values": ["rtb-0123456789abcdef0"]}]
    assert ec2.describe_route_tables(Filters=filters)["RouteTables"] == []
