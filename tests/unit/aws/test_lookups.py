"""Lookups of many things with few calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws import lookups, subnet_details

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.world import World

MOST_VALUES = 200


@pytest.mark.parametrize(("count", "calls"), [(0, 0), (1, 1), (MOST_VALUES, 1), (MOST_VALUES + 1, 2)])
def test_filter(world: World, fake_aws: FakeAws, count: int, calls: int) -> None:
    """A filter holds at most 200 values: more are looked up with further calls."""
    names = [f"key-{number}" for number in range(count)]
    assert lookups.key_pairs(world.ec2, [*names[:-1], *([world.key_name] if names else [])]) == (
        {world.key_name} if names else set()
    )
    sent: list[dict[str, Any]] = fake_aws.calls()
    assert [call["action"] for call in sent] == ["DescribeKeyPairs"] * calls
    for call in sent:
        values = [name for name in call["parameters"] if name.startswith("Filter.1.Value.")]
        assert len(values) <= MOST_VALUES


def test_subnets(world: World) -> None:
    """A subnet shows its IPv4 range and the IPv6 ranges that are associated; an unknown one is left out."""
    world.ec2.associate_subnet_cidr_block(SubnetId=world.subnet_id, Ipv6CidrBlock="2001:db8::/64")
    found = subnet_details.by_id(world.ec2, [world.subnet_id, "subnet-0123456789abcdef0"])
    assert found.keys() == {world.subnet_id}
    assert found[world.subnet_id].ranges == ("10.0.1.0/24", "2001:db8::/64")
