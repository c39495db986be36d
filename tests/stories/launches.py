"""What leads to a VM: a range of IPv6 addresses, and all that exposes it."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.traffic import Traffic
from testbed.world import World
from tests.stories.story import Story


@pytest.fixture
def traffic(fake_aws: FakeAws, world: World) -> Traffic:
    """Return what exposes VMs, beside a route that leads out of the VPC."""
    gateway = world.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    world.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=world.vpc_id)
    world.ec2.create_route(
        RouteTableId=world.route_table_id, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway
    )
    return Traffic.lay(fake_aws, world)


@pytest.fixture
def exposed(traffic: Traffic, story: Story) -> dict[str, Any]:
    """Return the arguments of a VM that has all that is made for one: the calls are the most there are.

    One of its two interfaces has a delegated prefix and all that leads to the VM; of its two
    routes one is new, and one leads elsewhere so far.
    """
    destinations = ("10.9.0.0/16", "0.0.0.0/0")
    properties = {
        "source_dest_check": False,
        "auto_assign_public_ip": True,
        "lb_target_groups": [traffic.target_group],
        "elbs": [traffic.load_balancer],
        "advertised_routes": [
            {"table_id": traffic.route_table_id, "destination": destination} for destination in destinations
        ],
    }
    networks = {
        "first": story.network("10.0.1.10", nic_group="front"),
        "containers": story.network("10.0.1.32", nic_group="front", prefix="28"),
        "second": story.network("10.0.2.10", 1),
        "public": {"type": "vip", "ip": traffic.public_ip, "nic_group": "front"},
    }
    return {"properties": properties, "networks": networks}


@pytest.fixture
def ipv6(world: World, fake_aws: FakeAws) -> None:
    """Give the first subnet a range of IPv6 addresses, 2001:db8::/64."""
    world.ec2.associate_subnet_cidr_block(SubnetId=world.subnet_id, Ipv6CidrBlock="2001:db8::/64")
    fake_aws.forget_calls()
