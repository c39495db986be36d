"""What EC2 says of zones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import subnets

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2


def test_zones(ec2: Ec2) -> None:
    """A zone counts in every state in which VMs may run, also while EC2 reports a problem in it."""
    states = ("available", "constrained", "impaired", "information", "unavailable")
    zones = [{"ZoneName": state, "State": state} for state in states]
    ec2.answers("describe_availability_zones", {"AvailabilityZones": zones})
    assert subnets.zones(ec2.client) == {*states} - {"unavailable"}
