"""Listings of subnets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import subnets

if TYPE_CHECKING:
    from testbed.world import World


def test_subnets(world: World) -> None:
    """A subnet shows its IPv4 range and the IPv6 ranges that are associated; an unknown one is left out."""
    world.ec2.associate_subnet_cidr_block(SubnetId=world.subnet_id, Ipv6CidrBlock="2001:db8::/64")
    found = subnets.by_id(world.ec2, [world.subnet_id, "subnet-0123456789abcdef0"])
    assert found.keys() == {world.subnet_id}
    assert found[world.subnet_id].ranges == ["10.0.1.0/24", "2001:db8::/64"]
