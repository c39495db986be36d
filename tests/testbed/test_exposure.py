"""What exposes VMs is laid over the world, and its state says what is exposed."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.exposure import Exposure


@pytest.fixture
def exposure(fake_aws: FakeAws, world: Any) -> Exposure:
    """Lay it."""
    return Exposure.lay(fake_aws, world)


def test_laid(exposure: Exposure, fake_aws: FakeAws, world: Any) -> None:
    """Nothing is exposed at first, and nothing that a CPI makes is there."""
    assert fake_aws.calls() == []
    assert exposure.state() == exposure.empty
    assert world.state() == world.empty


def test_state(exposure: Exposure, ec2: Any, run: Any) -> None:
    """The state lists what is exposed, of each kind."""
    instance = run()
    vm, nic = instance["InstanceId"], instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
    ec2.associate_address(AllocationId=exposure.allocation_id, NetworkInterfaceId=nic)
    for arn in exposure.target_groups.values():
        exposure.elbv2.register_targets(TargetGroupArn=arn, Targets=[{"Id": vm}])
    exposure.elb.register_instances_with_load_balancer(
        LoadBalancerName=exposure.load_balancer, Instances=[{"InstanceId": vm}]
    )
    ec2.create_route(
        RouteTableId=exposure.route_table_id, DestinationCidrBlock="10.9.0.0/16", NetworkInterfaceId=nic
    )
    assert exposure.state() == {
        "associations": [nic],
        "targets": [vm, vm],
        "registered": [vm],
        "routes": [f"10.9.0.0/16 {nic}"],
    }
    assert exposure.target_groups[exposure.target_group] == exposure.target_group_arn
    (address,) = ec2.describe_addresses(PublicIps=[exposure.public_ip])["Addresses"]
    assert address["AllocationId"] == exposure.allocation_id
