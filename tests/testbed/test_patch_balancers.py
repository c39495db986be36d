"""Load balancers refuse unknown instances and names; elastic addresses are found by filters."""

from contextlib import nullcontext
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


def test_classic_described(traffic: Traffic, refused: Any) -> None:
    """DescribeLoadBalancers with several names refuses an unknown one by its name."""
    with refused("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named 'x'"):
        traffic.elb.describe_load_balancers(LoadBalancerNames=[traffic.load_balancer, "x"])


def health(traffic: Traffic, vm: str) -> dict[str, Any]:
    """Ask for the health of one target."""
    answer = traffic.elbv2.describe_target_health(
        TargetGroupArn=traffic.target_group_arn, Targets=[{"Id": vm}]
    )
    found: dict[str, Any] = answer["TargetHealthDescriptions"][0]["TargetHealth"]
    return found


def test_targets(traffic: Traffic, vm: str) -> None:
    """A target is registered and deregistered; it can be deregistered again."""
    group = {"TargetGroupArn": traffic.target_group_arn, "Targets": [{"Id": vm}]}
    assert health(traffic, vm)["Reason"] == "Target.NotRegistered"
    traffic.elbv2.register_targets(**group)
    assert health(traffic, vm) == {"State": "healthy"}
    for _ in range(2):
        traffic.elbv2.deregister_targets(**group)
    assert (health(traffic, vm)["State"], health(traffic, vm)["Reason"]) == (
        "unused",
        "Target.NotRegistered",
    )


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        (UNKNOWN, "InvalidTarget", f"The following instances do not exist: '{UNKNOWN}'"),
        ("10.0.1.9", "ValidationError", "Instance ID '10.0.1.9' is not valid"),
    ],
)
def test_unknown_target(traffic: Traffic, refused: Any, target: str, code: str, message: str) -> None:
    """A target that is not an instance is refused."""
    with refused(code, message):
        traffic.elbv2.register_targets(TargetGroupArn=traffic.target_group_arn, Targets=[{"Id": target}])
    assert traffic.state() == traffic.empty


def test_unknown_target_group(traffic: Traffic, vm: str, refused: Any) -> None:
    """An unknown target group is refused, alone and together with known ones."""
    with refused("TargetGroupNotFound"):
        traffic.elbv2.describe_target_groups(Names=[traffic.target_group, "x"])
    with refused("TargetGroupNotFound"):
        traffic.elbv2.register_targets(TargetGroupArn=f"{traffic.target_group_arn}0", Targets=[{"Id": vm}])


@pytest.mark.parametrize(
    ("public_ip", "domain", "count"), [(None, "vpc", 1), ("192.0.2.1", "vpc", 0), (None, "standard", 0)]
)
def test_found_address(traffic: Traffic, ec2: Any, public_ip: str | None, domain: str, count: int) -> None:
    """Filters find an elastic address by address and domain; an unassociated one shows no interface."""
    filters = {"public-ip": public_ip or traffic.public_ip, "domain": domain}
    answer = ec2.describe_addresses(Filters=[{"Name": n, "Values": [v]} for n, v in filters.items()])
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


def test_targets_by_port(traffic: Traffic) -> None:
    """A target can be registered at several ports; deregistration needs a port that is not the group's."""
    group = groups(traffic)
    address, other = "10.0.1.9", {"Id": "10.0.1.9", "Port": 9100}
    traffic.elbv2.register_targets(**group, Targets=[{"Id": address}, other, {"Id": address, "Port": 8080}])
    assert ports(traffic, group) == [(address, 8080), (address, 9100)]
    for _ in range(2):
        traffic.elbv2.deregister_targets(**group, Targets=[{"Id": address}])
    assert ports(traffic, group) == [(address, 9100)]
    asked = traffic.elbv2.describe_target_health(**group, Targets=[other, {"Id": address, "Port": 9200}])
    states = [each["TargetHealth"]["State"] for each in asked["TargetHealthDescriptions"]]
    assert states == ["healthy", "unused"]
    traffic.elbv2.deregister_targets(**group, Targets=[other])
    assert ports(traffic, group) == []


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


@pytest.mark.parametrize(
    ("protocol", "given", "is_taken"),
    [
        *((name, {"QuicServerId": "0x0123456789abcdef"}, True) for name in ("QUIC", "TCP_QUIC")),
        *((name, {}, False) for name in ("QUIC", "TCP_QUIC")),
        ("UDP", {"QuicServerId": "0x0123456789abcdef"}, False),
    ],
)
def test_server_ids(
    traffic: Traffic, refused: Any, protocol: str, given: dict[str, str], *, is_taken: bool
) -> None:
    """A QUIC group requires a server id of its targets, and other groups refuse one."""
    group = groups(traffic, Protocol=protocol)
    (shown,) = traffic.elbv2.describe_target_groups(TargetGroupArns=[group["TargetGroupArn"]])["TargetGroups"]
    assert shown["Protocol"] == protocol
    expected = nullcontext() if is_taken else refused("ValidationError", "QUIC server ID")
    with expected:
        traffic.elbv2.register_targets(**group, Targets=[{"Id": "10.0.1.9", **given}])
    assert bool(ports(traffic, group)) == is_taken
