"""create_vm: what leads to a VM from outside: elastic IPs, load balancers, routes."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.traffic import Traffic
from testbed.world import World
from tests.stories.story import Story


@pytest.fixture
def nics(world: World) -> Callable[[str], list[str]]:
    """Return a function that lists the ids of a VM's interfaces, by device index."""

    def read(vm_cid: str) -> list[str]:
        found = world.instance(vm_cid)["NetworkInterfaces"]
        ordered = sorted(found, key=lambda nic: nic["Attachment"]["DeviceIndex"])
        return [nic["NetworkInterfaceId"] for nic in ordered]

    return read


def test_everything(
    story: Story,
    exposed: dict[str, Any],
    traffic: Traffic,
    nics: Callable[[str], list[str]],
    fake_aws: FakeAws,
) -> None:
    """Balancers, routes and elastic IP lead to the VM; the agent's settings have the vip network."""
    answer = story.create_vm(**exposed)
    vm_cid, networks = answer.ok()
    asked = fake_aws.actions()
    assert networks == exposed["networks"]
    first = nics(vm_cid)[0]
    assert traffic.state() == {
        "associations": [first],
        "targets": [vm_cid],
        "registered": [vm_cid],
        "routes": [f"0.0.0.0/0 {first}", f"10.9.0.0/16 {first}"],
    }
    public = story.settings(vm_cid)["networks"]["public"]
    assert public == {**exposed["networks"]["public"], "use_dhcp": True}
    of_routes = [action for action in asked if "Route" in action]
    assert of_routes == ["DescribeRouteTables", "CreateRoute", "ReplaceRoute"]


def test_one_network(
    story: Story, traffic: Traffic, fake_aws: FakeAws, nics: Callable[[str], list[str]]
) -> None:
    """A vip network has no interface, so the launch creates the only one; repeated names count once."""
    table = {"table_id": traffic.route_table_id}
    destinations = ("2001:db8:9::/48", "10.8.1.2/16", "10.9.0.0/16")
    properties = {
        "lb_target_groups": [*traffic.target_groups, traffic.target_group],
        "elbs": [traffic.load_balancer] * 2,
        "advertised_routes": [{**table, "destination": destination} for destination in destinations],
    }
    networks = {
        "public": {"type": "vip", "ip": traffic.public_ip, "cloud_properties": {"security_groups": ["web"]}},
        "private": story.network("10.0.1.10"),
    }
    vm_cid = story.create_vm(properties, networks).ok()[0]
    assert story.inline()["SecurityGroupId.1"] == traffic.world.groups["web"]
    assert fake_aws.actions().count("RegisterTargets") == len(traffic.target_groups)
    (nic,) = nics(vm_cid)
    assert traffic.state() == {
        "associations": [nic],
        "targets": [vm_cid] * 2,
        "registered": [vm_cid],
        "routes": [f"10.8.0.0/16 {nic}", f"10.9.0.0/16 {nic}", f"2001:db8:9::/48 {nic}"],
    }
    assert "mac" not in story.settings(vm_cid)["networks"]["private"]


@pytest.mark.parametrize(("group", "index"), [("back", 1), ("dynamic", 2)])
def test_interface_of_the_elastic_ip(
    story: Story, traffic: Traffic, nics: Callable[[str], list[str]], group: str, index: int
) -> None:
    """The vip network's nic_group says which interface gets the address; else it is the first."""
    networks = {
        "dynamic": story.network(),
        "front-network": story.network("10.0.1.10", nic_group="front"),
        "back-network": story.network("10.0.2.10", 1, nic_group="back"),
        "public": {"type": "vip", "ip": traffic.public_ip, "nic_group": group},
    }
    vm_cid = story.create_vm({"instance_type": "m5.large"}, networks).ok()[0]
    assert traffic.state()["associations"] == [nics(vm_cid)[index]]


def test_elastic_ip_of_another_vm(
    story: Story, traffic: Traffic, nics: Callable[[str], list[str]], world: World, fake_aws: FakeAws
) -> None:
    """An elastic IP is moved from the VM that has it, as soon as EC2 accepts the new VM."""
    (holder,) = nics(story.lay_vm())
    world.ec2.associate_address(AllocationId=traffic.allocation_id, NetworkInterfaceId=holder)
    fake_aws.refuse("AssociateAddress", "IncorrectInstanceState", "The instance is not running.", nth=1)
    networks = {"private": story.network("10.0.1.10"), "public": {"type": "vip", "ip": traffic.public_ip}}
    fake_aws.forget_calls()
    vm_cid = story.create_vm(networks=networks).ok()[0]
    assert fake_aws.actions()[-2:] == ["AssociateAddress"] * 2
    assert traffic.state()["associations"] == nics(vm_cid)


@pytest.mark.parametrize("kind", ["interface", "gateway", "service", "ipv6-only"])
def test_elastic_ip_of_a_service(
    story: Story, traffic: Traffic, world: World, fake_aws: FakeAws, kind: str
) -> None:
    """An elastic IP that a service of AWS keeps, or no interface can have, is refused before the launch."""
    ec2, address = world.ec2, traffic.allocation_id
    message, networks = "", {"private": story.network(), "public": {"type": "vip", "ip": traffic.public_ip}}
    if kind == "interface":
        nic = ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]
        ec2.associate_address(AllocationId=address, NetworkInterfaceId=nic["NetworkInterfaceId"])
    elif kind == "gateway":
        made = ec2.create_nat_gateway(SubnetId=world.subnet_id, AllocationId=address)["NatGateway"]
        message = f" of AWS's (Interface for NAT Gateway {made['NatGatewayId']}) has it. Allocate another one"
    elif kind == "service":
        by = ["<domain>", "<serviceManaged>nlb</serviceManaged><domain>"]
        fake_aws.rule(action="DescribeAddresses", replace=[by])
        message = f"Elastic IP {traffic.public_ip} can't move to the VM: the service nlb has it"
    else:
        fake_aws.rule(action="DescribeSubnets", replace=[["<ipv6Native>false", "<ipv6Native>true"]])
        message = f"needs an interface with an IPv4 address, but subnet '{world.subnet_id}' is IPv6-only"
    answer = story.create_vm(networks=networks)
    assert message in (answer.error or {"message": ""})["message"]
    assert bool(answer.error) is ("RunInstances" not in fake_aws.actions()) is bool(message)


@pytest.mark.parametrize(
    ("ip", "message"),
    [
        (None, "No IP provided for vip network 'public'"),
        ("203.0.113.5", "Elastic IP with VPC scope not found with address '203.0.113.5'"),
    ],
)
def test_elastic_ip_that_is_not_to_be_had(story: Story, ip: str | None, message: str) -> None:
    """An elastic IP must be given, and be the account's; EC2 is asked only for that."""
    answer = story.create_vm(
        networks={"private": story.network("10.0.1.10"), "public": {"type": "vip", "ip": ip}}
    )
    assert bool(story.check_refusal(answer, message)) is bool(ip)
    assert not ip or "Allocate it in region us-east-1" in answer.error["message"]
