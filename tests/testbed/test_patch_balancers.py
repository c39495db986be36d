"""Load balancers refuse unknown instances and names; elastic addresses are found by filters."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.traffic import Traffic

UNKNOWN = "i-0123456789abcdef0"


@pytest.fixture
def traffic(fake_aws: FakeAws, world: Any) -> Traffic:
    """Create the load balancers, the elastic address and the routes."""
    return Traffic.lay(fake_aws, world)


@pytest.fixture
def vm(run: Any) -> str:
    """Launch an instance."""
    instance_id: str = run()["InstanceId"]
    return instance_id


def classic(traffic: Traffic, *vms: str, name: str = "") -> dict[str, Any]:
    """Return the parameters for calls about a classic load balancer."""
    return {
        "LoadBalancerName": name or traffic.load_balancer,
        "Instances": [{"InstanceId": vm} for vm in vms],
    }


def test_classic(traffic: Traffic, vm: str, run: Any, refused: Any) -> None:
    """Registering an instance again changes nothing; the answers list the registered instances."""
    other = run()["InstanceId"]
    for _ in range(2):
        answer = traffic.elb.register_instances_with_load_balancer(**classic(traffic, vm, other))
        assert answer["Instances"] == [{"InstanceId": vm}, {"InstanceId": other}]
    assert traffic.state()["registered"] == sorted([vm, other])
    answer = traffic.elb.deregister_instances_from_load_balancer(**classic(traffic, vm))
    assert answer["Instances"] == [{"InstanceId": other}]
    with refused("InvalidInstance", vm):
        traffic.elb.deregister_instances_from_load_balancer(**classic(traffic, vm))


@pytest.mark.parametrize(
    "call", ["register_instances_with_load_balancer", "deregister_instances_from_load_balancer"]
)
def test_classic_unknown(traffic: Traffic, vm: str, refused: Any, call: str) -> None:
    """Unknown instances and load balancers are refused; nothing is registered."""
    with refused("InvalidInstance", f"Could not find EC2 instance {UNKNOWN}."):
        getattr(traffic.elb, call)(**classic(traffic, UNKNOWN))
    with refused("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named 'x'"):
        getattr(traffic.elb, call)(**classic(traffic, vm, name="x"))
    assert traffic.state() == traffic.empty


@pytest.mark.parametrize(("public_ip", "count"), [(None, 1), ("192.0.2.1", 0)])
def test_found_address(traffic: Traffic, ec2: Any, public_ip: str | None, count: int) -> None:
    """A filter finds an elastic address; an unassociated one shows no interface."""
    filters = [{"Name": "public-ip", "Values": [public_ip or traffic.public_ip]}]
    answer = ec2.describe_addresses(Filters=filters)
    assert len(answer["Addresses"]) == count
    assert [a for a in answer["Addresses"] if "NetworkInterfaceId" in a] == []


def test_unknown_allocation(run: Any, ec2: Any, world: Any, refused: Any) -> None:
    """The error for an unknown allocation names its id."""
    nic = run()["NetworkInterfaces"][0]["NetworkInterfaceId"]
    with refused("InvalidAllocationID.NotFound", "The allocation ID 'eipalloc-1' does not exist"):
        ec2.associate_address(AllocationId="eipalloc-1", NetworkInterfaceId=nic)
    assert world.state()["interfaces"] == [nic]


def test_elastic_address_stays(traffic: Traffic, ec2: Any, run: Any, world: Any) -> None:
    """An elastic address stays with an interface that existed before the launch, even a public one."""
    nic = ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    ec2.modify_network_interface_attribute(NetworkInterfaceId=nic, AssociatePublicIpAddress=True)
    vm = run(NetworkInterfaces=[{"DeviceIndex": 0, "NetworkInterfaceId": nic}])["InstanceId"]
    ec2.associate_address(AllocationId=traffic.allocation_id, NetworkInterfaceId=nic)
    assert world.instance(vm)["PublicIpAddress"] == traffic.public_ip
    ec2.terminate_instances(InstanceIds=[vm])
    assert traffic.state()["associations"] == [nic]
    (found,) = ec2.describe_network_interfaces(NetworkInterfaceIds=[nic])["NetworkInterfaces"]
    assert found["Association"]["PublicIp"] == traffic.public_ip


def groups(traffic: Traffic, **more: str) -> dict[str, Any]:
    """Create a target group of addresses; return its ARN as a parameter."""
    return {"TargetGroupArn": traffic.add_group("ips", 8080, TargetType="ip", **more)}


def ports(traffic: Traffic, group: dict[str, Any]) -> list[tuple[str, int]]:
    """List the targets of a group."""
    found = traffic.elbv2.describe_target_health(**group)["TargetHealthDescriptions"]
    return sorted((each["Target"]["Id"], each["Target"]["Port"]) for each in found)


def test_terminated_targets(traffic: Traffic, vm: str) -> None:
    """A terminated instance leaves with all its ports; an address stays."""
    by_address = groups(traffic)
    by_id = {"TargetGroupArn": traffic.target_group_arn}
    address = traffic.world.instance(vm)["PrivateIpAddress"]
    traffic.elbv2.register_targets(**by_address, Targets=[{"Id": address}])
    traffic.elbv2.register_targets(**by_id, Targets=[{"Id": vm}, {"Id": vm, "Port": 9100}])
    traffic.world.ec2.terminate_instances(InstanceIds=[vm])
    assert ports(traffic, by_id) == []
    assert ports(traffic, by_address) == [(address, 8080)]


@pytest.mark.parametrize(
    ("family", "target"),
    [("ipv4", UNKNOWN), ("ipv4", "2001:db8::1"), ("ipv6", "10.0.1.9"), ("ipv4", "10.0.1")],
)
def test_no_address(traffic: Traffic, refused: Any, family: str, target: str) -> None:
    """A group of addresses refuses what is no address of its family."""
    group = groups(traffic, IpAddressType=family)
    with refused("ValidationError", f"IP address '{target}' is not valid"):
        traffic.elbv2.register_targets(**group, Targets=[{"Id": target}])
