"""Load balancers, an elastic address and routes, and the state that lists their use."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.traffic import Traffic


@pytest.fixture
def traffic(fake_aws: FakeAws, world: Any) -> Traffic:
    """Create the load balancers, the elastic address and the routes."""
    return Traffic.lay(fake_aws, world)


def test_laid(traffic: Traffic, fake_aws: FakeAws, world: Any) -> None:
    """At first nothing is exposed, and the world contains no resources of a CPI."""
    assert fake_aws.calls() == []
    assert traffic.state() == traffic.empty
    assert world.state() == world.empty


def test_state(traffic: Traffic, ec2: Any, run: Any) -> None:
    """The state lists the exposed instances and interfaces of each kind."""
    instance = run()
    vm, nic = instance["InstanceId"], instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
    ec2.associate_address(AllocationId=traffic.allocation_id, NetworkInterfaceId=nic)
    for arn in traffic.target_groups.values():
        traffic.elbv2.register_targets(TargetGroupArn=arn, Targets=[{"Id": vm}])
    traffic.elb.register_instances_with_load_balancer(
        LoadBalancerName=traffic.load_balancer, Instances=[{"InstanceId": vm}]
    )
    ec2.create_route(
        RouteTableId=traffic.route_table_id, DestinationCidrBlock="10.9.0.0/16", NetworkInterfaceId=nic
    )
    assert traffic.state() == {
        "associations": [nic],
        "targets": [vm, vm],
        "registered": [vm],
        "routes": [f"10.9.0.0/16 {nic}"],
    }
    assert traffic.target_groups[traffic.target_group] == traffic.target_group_arn
    (address,) = ec2.describe_addresses(PublicIps=[traffic.public_ip])["Addresses"]
    assert address["AllocationId"] == traffic.allocation_id
