"""Subnets, security groups and zones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.aws import firewalls, subnets
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Subnet

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2


def lay_subnets(ec2: Ec2, *found: str) -> None:
    """Lay out the question for two subnets."""
    filters = [{"Name": "subnet-id", "Values": ["subnet-1", "subnet-2"]}]
    answer = {"Subnets": [{"SubnetId": name, "VpcId": "vpc-1", "AvailabilityZone": "z"} for name in found]}
    ec2.answers("describe_subnets", answer, Filters=filters)


def test_subnets(ec2: Ec2) -> None:
    """Subnets are asked for together, each once."""
    lay_subnets(ec2, "subnet-1", "subnet-2")
    found = subnets.find_all(ec2.client, ["subnet-2", "subnet-1", "subnet-2"])
    assert found == {
        name: Subnet(name, "vpc-1", "z", ranges=[], tags={}) for name in ("subnet-1", "subnet-2")
    }


@pytest.mark.parametrize(
    ("more", "families"),
    [
        ({"AssignIpv6AddressOnCreation": False, "Ipv6Native": False}, {"IPv4"}),
        ({"AssignIpv6AddressOnCreation": True, "Ipv6Native": False}, {"IPv4", "IPv6"}),
        ({"AssignIpv6AddressOnCreation": True, "Ipv6Native": True}, {"IPv6"}),
    ],
    ids=["IPv4", "dual-stack", "IPv6-only"],
)
def test_addresses_of_a_subnet(ec2: Ec2, more: dict[str, bool], families: set[str]) -> None:
    """A subnet is known with the families of the addresses that it gives interfaces."""
    entry = {"SubnetId": "subnet-1", "VpcId": "vpc-1", "AvailabilityZone": "z", **more}
    filters = [{"Name": "subnet-id", "Values": ["subnet-1"]}]
    ec2.answers("describe_subnets", {"Subnets": [entry]}, Filters=filters)
    assert subnets.find_all(ec2.client, ["subnet-1"])["subnet-1"].families == families


def lay_groups(ec2: Ec2, *pages: list[tuple[str, str]]) -> None:
    """Lay out the question for the groups "a" and "b", page by page."""
    filters = [{"Name": "vpc-id", "Values": ["vpc-1"]}, {"Name": "group-name", "Values": ["a", "b"]}]
    for number, page in enumerate(pages):
        token = {"NextToken": str(number)} if number else {}
        more = {"NextToken": str(number + 1)} if number + 1 < len(pages) else {}
        groups = [{"GroupName": name, "GroupId": group_id} for name, group_id in page]
        ec2.answers("describe_security_groups", {"SecurityGroups": groups, **more}, Filters=filters, **token)


def test_security_groups(ec2: Ec2) -> None:
    """All names are looked up in the VPC by one request, page after page."""
    lay_groups(ec2, [("b", "sg-2")], [("a", "sg-1")])
    found = firewalls.security_group_ids(ec2.client, "vpc-1", ["b", "a", "b"])
    assert found == {"a": "sg-1", "b": "sg-2"}


@pytest.mark.parametrize("names", [["us-east-1b", "us-east-1a"], []])
def test_zones(ec2: Ec2, names: list[str]) -> None:
    """Only zones that are available and take any disk count; a region without one is an error."""
    filters = [
        {"Name": "state", "Values": ["available"]},
        {"Name": "zone-type", "Values": ["availability-zone"]},
    ]
    answer = {"AvailabilityZones": [{"ZoneName": name} for name in names]}
    ec2.answers("describe_availability_zones", answer, Filters=filters)
    if names:
        assert subnets.ordinary_zones(ec2.client) == ["us-east-1a", "us-east-1b"]
    else:
        with pytest.raises(CloudError, match="No availability zone in the region is available"):
            subnets.ordinary_zones(ec2.client)
