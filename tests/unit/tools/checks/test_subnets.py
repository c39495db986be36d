"""Interfaces whose addresses BOSH knows."""

from ipaddress import ip_network

import pytest

from bosh_aws_cpi.aws.network_interfaces import Held, from_entry
from bosh_aws_cpi.tools.checks.room import is_known


@pytest.mark.parametrize(
    ("tags", "of_instance", "expected"),
    [
        ({"Name": "web"}, {"Name": "web", "deployment": "blue"}, False),
        ({"bosh_director_uuid": "d"}, {}, True),
        ({}, {"bosh_director_uuid": "d"}, True),
        ({}, {"job": "worker"}, False),
        ({}, {"deployment": "cf", "job": "router"}, True),
    ],
)
def test_director(tags: dict[str, str], of_instance: dict[str, str], *, expected: bool) -> None:
    """Interfaces of a Director's VMs have the tags of this CPI or of the Ruby release."""
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    entry = {"NetworkInterfaceId": "eni-1", "SubnetId": "subnet-1", "VpcId": "vpc-1", "TagSet": listed}
    held = Held(from_entry(entry), ip_network("10.0.1.7/32"), of_instance)
    assert is_known(held, is_for_create_env=False) is expected
