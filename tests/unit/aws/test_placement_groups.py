"""Placement groups, when an answer is lost."""

from bosh_aws_cpi.aws import placement_groups
from tests.unit.conftest import Stub


def test_created_nevertheless(ec2: Stub) -> None:
    """A group whose creation was not answered is looked for by its name, and returned with its own tags."""
    shown = {"GroupName": "g", "State": "available", "Strategy": "spread"}
    ec2.lay("create_placement_group", "lost", GroupName="g", Strategy="spread")
    ec2.keeps("describe_placement_groups", {"PlacementGroups": [shown]})
    found = placement_groups.ensure_spread(ec2.client, "g", {})
    assert found
    assert found.strategy == "spread"
