"""Interfaces, routes and tags."""

from typing import Any

import pytest


def test_prefixes(ec2: Any, world: Any) -> None:
    """Delegated prefixes are shown on the interface."""
    eni = ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    ec2.assign_private_ip_addresses(NetworkInterfaceId=eni, Ipv4Prefixes=["10.0.1.16/28"])
    ec2.assign_ipv6_addresses(NetworkInterfaceId=eni, Ipv6Prefixes=["2600::/80"])
    found = ec2.describe_network_interfaces(NetworkInterfaceIds=[eni])["NetworkInterfaces"][0]
    assert found["Ipv4Prefixes"] == [{"Ipv4Prefix": "10.0.1.16/28"}]
    assert found["Ipv6Prefixes"] == [{"Ipv6Prefix": "2600::/80"}]


def test_unknown_group(ec2: Any, world: Any, refused: Any) -> None:
    """No interface is made in an unknown security group."""
    with refused("InvalidGroup.NotFound"):
        ec2.create_network_interface(SubnetId=world.subnet_id, Groups=["sg-0123456789abcdef0"])
    assert world.state() == world.empty


def test_source_dest_check(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """The check of an instance is its one interface's; with several it is refused."""
    one = run()["InstanceId"]
    ec2.modify_instance_attribute(InstanceId=one, SourceDestCheck={"Value": False})
    assert world.instance(one)["NetworkInterfaces"][0]["SourceDestCheck"] is False
    specs = [{"DeviceIndex": i, "SubnetId": world.subnet_id} for i in (0, 1)]
    several = run(NetworkInterfaces=specs)["InstanceId"]
    with refused("InvalidInstanceID", "multiple interfaces"):
        ec2.modify_instance_attribute(InstanceId=several, SourceDestCheck={"Value": False})


def test_routes(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """A route to an interface is created once, and then replaced."""
    eni = run()["NetworkInterfaces"][0]["NetworkInterfaceId"]
    route = {
        "RouteTableId": world.route_table_id,
        "DestinationCidrBlock": "10.9.0.0/16",
        "NetworkInterfaceId": eni,
    }
    ec2.create_route(**route)
    with refused("RouteAlreadyExists", "10.9.0.0/16"):
        ec2.create_route(**route)
    ec2.replace_route(**route)
    (table,) = ec2.describe_route_tables(RouteTableIds=[world.route_table_id])["RouteTables"]
    assert eni in {found.get("NetworkInterfaceId") for found in table["Routes"]}


@pytest.mark.parametrize(
    ("resource", "code"),
    [
        ("i-0123456789abcdef0", "InvalidInstanceID.NotFound"),
        ("eni-0123456789abcdef0", "InvalidNetworkInterfaceID.NotFound"),
        ("vol-0123456789abcdef0", "InvalidVolume.NotFound"),
        ("ami-0123456789abcdef0", "InvalidAMIID.NotFound"),
    ],
)
def test_tags_of_the_unknown(ec2: Any, refused: Any, resource: str, code: str) -> None:
    """What does not exist is not tagged."""
    with refused(code):
        ec2.create_tags(Resources=[resource], Tags=[{"Key": "a", "Value": "b"}])


@pytest.mark.parametrize(("key", "value"), [("k" * 128, "v"), ("k", "v" * 256), ("aws:k", "v")])
def test_bad_tags(ec2: Any, world: Any, refused: Any, key: str, value: str) -> None:
    """Long and reserved tags are refused."""
    with refused("InvalidParameterValue"):
        ec2.create_tags(Resources=[world.vpc_id], Tags=[{"Key": key, "Value": value}])
