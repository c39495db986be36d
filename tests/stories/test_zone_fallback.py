"""zone_fallback: when the zone of a VM has no room for it, it is launched in another zone."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.killing import kill_at
from testbed.world import World
from tests.stories.story import Story

FIRST, SECOND = "t3.micro", "m5.large"
ANYWHERE = {"zone_fallback": True}
TYPES = {**ANYWHERE, "instance_type": FIRST, "instance_type_fallbacks": [SECOND]}
SUBNET, ZONE = "NetworkInterface.1.SubnetId", "Placement.AvailabilityZone"
SHORT = "InsufficientInstanceCapacity"


@pytest.fixture
def subnets(world: World) -> list[str]:
    """Return two subnets of the VM's zone, and one of another zone."""
    return list(world.subnet_ids)


@pytest.fixture
def networks(subnets: list[str]) -> dict[str, Any]:
    """Return a dynamic network in all three subnets; that of the other zone is the second."""
    properties = {"subnet": subnets[0], "subnet_fallbacks": [subnets[2], subnets[1]]}
    return {"any": {"type": "dynamic", "cloud_properties": properties}}


@pytest.fixture
def own_zone_short(story: Story, world: World) -> str:
    """Have EC2 lack all types in the VM's zone; returns its words."""
    return story.refuse_launch(SHORT, {ZONE: world.zone}, 500).removesuffix(")")


@pytest.fixture
def tried(story: Story) -> Callable[[], list[tuple[str, str, str]]]:
    """Return a function that reads the launches: type, zone and subnet of each."""
    return lambda: [
        (call["InstanceType"], call[ZONE], call[SUBNET]) for call in story.parameters_of("RunInstances")
    ]


def test_other_zone(
    story: Story,
    networks: dict[str, Any],
    subnets: list[str],
    own_zone_short: str,
    tried: Callable[[], Any],
    world: World,
) -> None:
    """Each type is tried in the VM's zone, then in the other one; the answer's network has its subnet."""
    answer = story.create_vm(TYPES, networks=networks)
    vm_cid, shown = answer.ok()
    assert tried() == [
        (FIRST, world.zone, subnets[0]),
        (SECOND, world.zone, subnets[0]),
        (FIRST, world.other_zone, subnets[2]),
    ]
    made = world.instance(vm_cid)
    assert (made["SubnetId"], made["Placement"]["AvailabilityZone"]) == (subnets[2], world.other_zone)
    attached = [{"Name": "attachment.instance-id", "Values": [vm_cid]}]
    volumes = world.ec2.describe_volumes(Filters=attached)["Volumes"]
    assert {each["AvailabilityZone"] for each in volumes} == {world.other_zone}
    properties = {**networks["any"]["cloud_properties"], "subnet": subnets[2]}
    assert shown == {"any": {**networks["any"], "cloud_properties": properties}}
    assert f"EC2 can't launch {FIRST} (on demand) in {subnets[0]}: {own_zone_short}" in answer.stderr


def test_full_subnets(
    story: Story, networks: dict[str, Any], subnets: list[str], tried: Callable[[], Any], world: World
) -> None:
    """All subnets of the VM's zone are tried before one of the other zone."""
    full = [
        world.ec2.create_subnet(
            VpcId=world.vpc_id, CidrBlock=f"10.0.10.{start}/28", AvailabilityZone=world.zone
        )["Subnet"]["SubnetId"]
        for start in (0, 16)
    ]
    for each in full:
        world.ec2.create_network_interface(SubnetId=each, SecondaryPrivateIpAddressCount=10)
    properties = {"subnet": full[0], "subnet_fallbacks": [subnets[2], full[1]]}
    networks["any"]["cloud_properties"] = properties
    vm_cid = story.create_vm(TYPES, networks=networks).ok()[0]
    assert world.instance(vm_cid)["SubnetId"] == subnets[2]
    assert [subnet for _, _, subnet in tried()] == [*full, subnets[2]]


def test_spot(story: Story, networks: dict[str, Any], tried: Callable[[], Any], world: World) -> None:
    """On demand in the VM's zone comes before spot in another one."""
    market = "InstanceMarketOptions.MarketType"
    story.refuse_launch(SHORT, {ZONE: world.zone, market: "spot"})
    spot = {**ANYWHERE, "spot_bid_price": 0.05}
    assert world.instance(story.create_vm(spot, networks=networks).ok()[0])["InstanceLifecycle"] == "spot"
    assert [zone for _, zone, _ in tried()] == [world.zone, world.other_zone]
    answer = story.create_vm({**spot, "spot_ondemand_fallback": True}, networks=networks, agent_id="agent-2")
    made = world.instance(answer.ok()[0])
    assert (made["Placement"]["AvailabilityZone"], "InstanceLifecycle" in made) == (world.zone, False)


@pytest.mark.usefixtures("own_zone_short")
def test_same_again(story: Story, networks: dict[str, Any], fake_aws: FakeAws, world: World) -> None:
    """The same call finds its VM in the other zone, though its own zone has room again by then."""
    kill_at(fake_aws, lambda: story.start_vm(ANYWHERE, networks), 2, when="after", action="RunInstances")
    (vm_cid,) = world.state()["instances"]
    fake_aws.clear_rules()
    found, shown = story.create_vm(ANYWHERE, networks=networks).ok()
    assert (found, world.state()["instances"]) == (vm_cid, [vm_cid])
    assert world.instance(vm_cid)["Placement"]["AvailabilityZone"] == world.other_zone
    assert shown["any"]["cloud_properties"]["subnet"] == world.subnet_ids[2]


@pytest.mark.usefixtures("own_zone_short")
def test_recreated_with_its_disk(
    story: Story, cpi: Cpi, networks: dict[str, Any], fake_aws: FakeAws, world: World
) -> None:
    """A VM whose first disk was created in the other zone stays there, though its own has room again."""
    vm_cid = story.create_vm(ANYWHERE, networks=networks).ok()[0]
    disk_cid = cpi.call("create_disk", 1024, {}, vm_cid, stemcell=2).ok()
    cpi.call("delete_vm", vm_cid, stemcell=2).ok()
    fake_aws.clear_rules()
    again, shown = story.create_vm(ANYWHERE, networks=networks, disks=[disk_cid], agent_id="agent-2").ok()
    cpi.call("attach_disk", again, disk_cid, stemcell=2).ok()
    made = world.instance(again)
    assert (made["SubnetId"], made["Placement"]["AvailabilityZone"]) == (
        world.subnet_ids[2],
        world.other_zone,
    )
    assert shown["any"]["cloud_properties"]["subnet"] == world.subnet_ids[2]


def test_full_zone_of_the_disks(
    story: Story, networks: dict[str, Any], tried: Callable[[], Any], world: World
) -> None:
    """A VM with disks tries all types in their zone, and no other zone; the error says why."""
    zone = world.other_zone
    story.refuse_launch(SHORT, {ZONE: zone}, 500)
    error = story.create_vm(
        TYPES, networks=networks, disks=[story.lay_disk(zone), story.lay_disk(zone)]
    ).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", True)
    assert [(kind, zone) for kind, zone, _ in tried()] == [(FIRST, zone), (SECOND, zone)]
    assert error["message"].endswith(f". The VM's persistent disks keep it in {zone}")


@pytest.mark.parametrize("is_apart", [False, True])
def test_disks_elsewhere(
    story: Story, networks: dict[str, Any], tried: Callable[[], Any], world: World, *, is_apart: bool
) -> None:
    """Disks in a zone without a subnet of the network, or in several zones, are refused."""
    if not is_apart:
        networks["any"]["cloud_properties"]["subnet_fallbacks"] = [world.subnet_ids[1]]
    disks = [story.lay_disk(world.other_zone), story.lay_disk(world.zone if is_apart else world.other_zone)]
    zones = [world.other_zone, world.zone if is_apart else world.other_zone]
    volumes = ", ".join(f"'{cid}' is in {zone}" for cid, zone in zip(disks, zones, strict=True))
    message = (
        f"can't use multiple availability zones: subnet in {world.zone}, VM in {world.zone}, and volume in "
        f"{', '.join(zones)}. '{world.subnet_id}' is in {world.zone}, {volumes}: a disk can't leave its "
        "zone: all of the VM's disks must be in one zone, for which subnet_fallbacks has a subnet"
    )
    assert story.create_vm(ANYWHERE, networks=networks, disks=disks).error == story.failure(
        "CloudError", message
    )
    assert tried() == []


def test_no_fallbacks(story: Story) -> None:
    """A VM whose network has a single subnet, as with every static address, can't leave its zone."""
    message = (
        "zone_fallback needs subnet_fallbacks: network 'private' has none. Give the VM a dynamic network "
        "whose subnet_fallbacks are in other zones, or remove zone_fallback"
    )
    story.check_refusal(story.create_vm(ANYWHERE), message)
