"""Elastic IP addresses, while the instance is not ready."""

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import elastic_ips
from bosh_aws_cpi.aws.elastic_ips import ElasticIp
from bosh_aws_cpi.aws.sdk.timing import ADDRESS_ASSOCIATED
from tests.unit.conftest import Clock, Stub

IP = "52.1.2.3"
ASSOCIATE = {"AllocationId": "eipalloc-1", "NetworkInterfaceId": "eni-1"}
NOT_READY = ["InvalidNetworkInterfaceID.NotFound", "InvalidInstanceID", "IncorrectInstanceState"]


def test_associate(ec2: Stub, clock: Clock) -> None:
    """The elastic IP goes to the interface's named address as soon as the instance is ready."""
    ec2.lay("associate_address", *NOT_READY, {}, **ASSOCIATE, PrivateIpAddress="10.0.0.5")
    elastic_ips.associate(ec2.client, "eipalloc-1", "eni-1", "10.0.0.5")
    assert len(clock.pauses) == 3
    ec2.keeps("associate_address", "IncorrectInstanceState")
    with pytest.raises(ClientError, match="IncorrectInstanceState"):
        elastic_ips.associate(ec2.client, "eipalloc-1", "eni-1")
    assert clock.now >= ADDRESS_ASSOCIATED.seconds


def test_find(ec2: Stub) -> None:
    """An elastic IP is found with the interface and the private address that have it, as an undo needs."""
    held = {"AllocationId": "eipalloc-1", "NetworkInterfaceId": "eni-1", "PrivateIpAddress": "10.0.0.5"}
    ec2.lay("describe_addresses", {"Addresses": [held]}, Filters=[{"Name": "public-ip", "Values": [IP]}])
    assert elastic_ips.find(ec2.client, IP) == ElasticIp(IP, "eipalloc-1", "eni-1", "10.0.0.5")
