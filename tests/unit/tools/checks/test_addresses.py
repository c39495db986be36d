"""Ranges of addresses that are held, and how they are written for BOSH."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from bosh_aws_cpi.aws.network_interfaces import Held, from_entry
from bosh_aws_cpi.tools.checks.account.addresses import is_of_director, joined, without


@pytest.mark.parametrize(
    ("held", "kept", "left"),
    [
        ("10.0.1.7/32", [], ["10.0.1.7"]),
        ("10.0.1.7/32", ["10.0.1.0/28"], []),
        ("10.0.1.7/32", ["10.0.1.8/32", "2001:db8::/64"], ["10.0.1.7"]),
        ("10.0.1.16/28", ["10.0.1.18/31"], ["10.0.1.16-10.0.1.17", "10.0.1.20-10.0.1.31"]),
        ("10.0.1.16/28", ["10.0.1.0/28", "10.0.1.16/29"], ["10.0.1.24-10.0.1.31"]),
        ("2001:db8::10/128", ["2001:db8::/124"], ["2001:db8::10"]),
    ],
)
def test_without(held: str, kept: list[str], left: list[str]) -> None:
    """What is kept already is cut out of what is held."""
    assert joined(without(ip_network(held), [ip_network(each) for each in kept])) == left


@pytest.mark.parametrize(
    ("addresses", "entries"),
    [
        ([], []),
        (["10.0.1.9", "10.0.1.7", "10.0.1.8"], ["10.0.1.7-10.0.1.9"]),
        (["10.0.1.7", "10.0.1.9"], ["10.0.1.7", "10.0.1.9"]),
        (["10.0.0.255", "10.0.1.0", "10.0.0.255"], ["10.0.0.255-10.0.1.0"]),
        (["2001:db8::1", "10.0.1.7", "2001:db8::2"], ["10.0.1.7", "2001:db8::1-2001:db8::2"]),
        (["255.255.255.255", "::1"], ["255.255.255.255", "::1"]),
    ],
)
def test_joined(addresses: list[str], entries: list[str]) -> None:
    """Neighbours are joined, each address is named once, and IPv4 comes first."""
    assert joined([(ip_address(each), ip_address(each)) for each in addresses]) == entries


@pytest.mark.parametrize(
    ("tags", "of_instance", "expected"),
    [
        ({}, {}, False),
        ({"Name": "web"}, {"Name": "web", "deployment": "blue"}, False),
        ({"bosh_director_uuid": "d"}, {}, True),
        ({}, {"bosh_director_uuid": "d"}, True),
        ({}, {"deployment": "cf", "job": "router"}, True),
        ({"bosh_director_uuid": "d"}, {"deployment": "bosh", "job": "bosh", "director": "bosh-init"}, False),
    ],
)
def test_director(tags: dict[str, str], of_instance: dict[str, str], *, expected: bool) -> None:
    """Interfaces of a Director's VMs have the tags of this CPI or the Ruby release, but not create-env's."""
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    entry = {"NetworkInterfaceId": "eni-1", "SubnetId": "subnet-1", "VpcId": "vpc-1", "TagSet": listed}
    held = Held(from_entry(entry), ip_network("10.0.1.7/32"), of_instance)
    assert is_of_director(held) is expected
