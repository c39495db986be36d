"""subnet_fallbacks: when the subnet of a dynamic network is full, the VM is launched in the next one."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.killing import kill_at
from testbed.traffic import Traffic
from testbed.world import World
from tests.stories.story import Story

Fill = Callable[..., list[str]]
Tried = Callable[[], list[tuple[str, str]]]

FULL = "RunInstances failed with InsufficientFreeAddressesInSubnet: "
FIRST, SECOND = "t3.micro", "m5.large"
TYPES = {"instance_type": FIRST, "instance_type_fallbacks": [SECOND]}
SUBNET = "NetworkInterface.1.SubnetId"


@pytest.fixture
def subnets(world: World, fake_aws: FakeAws) -> list[str]:
    """Return three subnets of eleven addresses each, in the VM's zone."""
    made = [
        world.ec2.create_subnet(
            VpcId=world.vpc_id, CidrBlock=f"10.0.9.{start}/28", AvailabilityZone=world.zone
        )
        for start in (0, 16, 32)
    ]
    fake_aws.forget_calls()
    return [each["Subnet"]["SubnetId"] for each in made]


@pytest.fixture
def fill(world: World, fake_aws: FakeAws) -> Fill:
    """Return a function that fills subnets, except for some addresses; it returns the interfaces."""

    def take(*subnet_ids: str, spare: int = 0) -> list[str]:
        made = [
            world.ec2.create_network_interface(SubnetId=each, SecondaryPrivateIpAddressCount=10 - spare)
            for each in subnet_ids
        ]
        fake_aws.forget_calls()
        return [each["NetworkInterface"]["NetworkInterfaceId"] for each in made]

    return take


@pytest.fixture
def networks(subnets: list[str]) -> dict[str, Any]:
    """Return a dynamic network with all three subnets."""
    first, *others = subnets
    properties = {"subnet": first, "subnet_fallbacks": others}
    return {"any": {"type": "dynamic", "cloud_properties": properties}}


@pytest.fixture
def tried(story: Story) -> Tried:
    """Return a function that reads the launches: type and subnet of each."""
    return lambda: [(call["InstanceType"], call[SUBNET]) for call in story.parameters_of("RunInstances")]


def test_next_subnet(
    story: Story, networks: dict[str, Any], subnets: list[str], fill: Fill, world: World
) -> None:
    """The launch in the next subnet is the same otherwise, and nothing is left in the full one."""
    held = fill(subnets[0])
    answer = story.create_vm(networks=networks)
    vm_cid, shown = answer.ok()
    first, second = story.parameters_of("RunInstances")
    differing = {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
    assert differing == {SUBNET, "ClientToken"}
    (nic,) = world.instance(vm_cid)["NetworkInterfaces"]
    assert nic["SubnetId"] == second[SUBNET] == subnets[1]
    assert shown == networks
    assert world.state()["interfaces"] == sorted([*held, nic["NetworkInterfaceId"]])
    assert f"EC2 can't launch {FIRST} (on demand) in {subnets[0]}: {FULL}" in answer.stderr
    assert f"Launching {FIRST} (on demand) in {subnets[1]}" in answer.stderr


def test_room_in_the_first(story: Story, networks: dict[str, Any], subnets: list[str], tried: Tried) -> None:
    """As long as the first subnet has addresses, it gets the VM; the first repeated id counts."""
    properties = networks["any"]["cloud_properties"]
    properties["subnet_fallbacks"] = [subnets[0], subnets[1], subnets[1]]
    story.create_vm(networks=networks).ok()
    assert tried() == [(FIRST, subnets[0])]


def test_killed_with_the_last_address(
    story: Story, networks: dict[str, Any], fill: Fill, tried: Tried, fake_aws: FakeAws, world: World
) -> None:
    """A call that took the last free address and was killed gets its VM, even if EC2 does not show it yet."""
    first = networks["any"]["cloud_properties"]["subnet"]
    fill(first, spare=1)
    kill_at(fake_aws, lambda: story.start_vm(networks=networks), when="after", action="RunInstances")
    (vm_cid,) = world.state()["instances"]
    unseen = ["<reservationSet>.*</reservationSet>", "<reservationSet/>"]
    fake_aws.rule(action="DescribeInstances", nth=1, replace=[unseen])
    fake_aws.forget_calls()
    assert story.create_vm(networks=networks).ok()[0] == vm_cid
    assert fake_aws.actions().count("DescribeInstances") > 1
    assert tried() == [(FIRST, first)]
    assert world.state()["instances"] == [vm_cid]


def test_all_full(
    story: Story, networks: dict[str, Any], subnets: list[str], fill: Fill, world: World, tried: Tried
) -> None:
    """If all subnets are full, the error says what EC2 said of each, and what helps; a retry may succeed."""
    fill(*subnets)
    before = world.state()
    error = story.create_vm(TYPES, networks=networks).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", True)
    remedy = ". Use a larger subnet, delete resources in it, or give a dynamic network subnet_fallbacks"
    assert error["message"].endswith(remedy)
    assert re.findall(rf"(subnet-\w+): {FULL}", error["message"]) == subnets
    assert tried() == [(FIRST, each) for each in subnets]
    assert world.state() == before


def test_types_and_subnets(
    story: Story, networks: dict[str, Any], subnets: list[str], fill: Fill, tried: Tried
) -> None:
    """Without capacity the next type is tried, in no subnet that was full, nor in others of the zone."""
    fill(subnets[0])
    story.refuse_launch("InsufficientInstanceCapacity", {SUBNET: subnets[1], "InstanceType": FIRST}, 500)
    story.create_vm(TYPES, networks=networks).ok()
    assert tried() == [(FIRST, subnets[0]), (FIRST, subnets[1]), (SECOND, subnets[1])]


def test_vip(
    story: Story, networks: dict[str, Any], subnets: list[str], fill: Fill, traffic: Traffic, world: World
) -> None:
    """A vip network is no second network: the interface in the fallback subnet gets the elastic IP."""
    fill(subnets[0])
    vm_cid = story.create_vm(networks={**networks, "public": {"type": "vip", "ip": traffic.public_ip}}).ok()[
        0
    ]
    (nic,) = world.instance(vm_cid)["NetworkInterfaces"]
    assert nic["SubnetId"] == subnets[1]
    assert traffic.state()["associations"] == [nic["NetworkInterfaceId"]]
