"""What leads to a VM that can't be made leads back to where it led, unless others have changed it."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import finish
from testbed.traffic import Traffic
from testbed.world import World
from tests.stories.story import Story

pytestmark = pytest.mark.usefixtures("fast_clock")

NEW, OLD = "10.9.0.0/16", "0.0.0.0/0"
"""The destinations of the VM's routes: one that has none so far, and one that leads elsewhere."""
LATE = {"code": "InvalidParameterValue", "message": "Not now.", "status": 400}


@pytest.fixture
def theirs(story: Story, world: World) -> str:
    """Return the interface of another VM."""
    return nic_of(world, story.lay_vm())


def nic_of(world: World, vm_cid: str) -> str:
    """Read the id of a VM's first interface."""
    first: str = world.instance(vm_cid)["NetworkInterfaces"][0]["NetworkInterfaceId"]
    return first


@pytest.mark.parametrize(("action", "retries"), [("CreateRoute", 0), ("ReplaceRoute", 0), ("CreateRoute", 1)])
def test_without_an_answer(
    story: Story, exposed: dict[str, Any], fake_aws: FakeAws, traffic: Traffic, action: str, retries: int
) -> None:
    """A route whose change was not answered may lead to the VM: it is taken back, also after a retry."""
    fake_aws.rule(action=action, nth=1, drop="after")
    fake_aws.rule(action="AssociateAddress", error=LATE)
    error = story.create_vm(**exposed, executable=story.cpi_with(max_retries=retries)).error
    assert ("AssociateAddress" if retries else action) in error["message"]
    assert traffic.state() == traffic.empty


def test_address_of_another(
    story: Story, exposed: dict[str, Any], fake_aws: FakeAws, traffic: Traffic, theirs: str
) -> None:
    """An elastic IP that may have been taken over returns to the interface that had it, and its address."""
    ec2 = traffic.world.ec2
    ec2.associate_address(AllocationId=traffic.allocation_id, NetworkInterfaceId=theirs)
    (held,) = ec2.describe_addresses(AllocationIds=[traffic.allocation_id])["Addresses"]
    fake_aws.rule(action="AssociateAddress", nth=1, drop="after")
    fake_aws.forget_calls()
    answer = story.create_vm(**exposed, executable=story.cpi_with(max_retries=0))
    assert "AssociateAddress" in answer.error["message"]
    assert traffic.state() == {**traffic.empty, "associations": [theirs]}
    assert story.parameters_of("AssociateAddress")[-1]["PrivateIpAddress"] == held["PrivateIpAddress"]


@pytest.mark.parametrize("is_refused", [False, True])
def test_changed_before(
    story: Story,
    exposed: dict[str, Any],
    fake_aws: FakeAws,
    traffic: Traffic,
    theirs: str,
    world: World,
    *,
    is_refused: bool,
) -> None:
    """A route that others made or deleted since it was looked up leads to the VM, or is as they left it."""
    table = {"RouteTableId": traffic.route_table_id}
    fake_aws.rule(action="CreateRoute", nth=1, hold_before=True)
    if is_refused:
        fake_aws.rule(action="AssociateAddress", error=LATE)
    process = story.start_vm(**exposed)
    assert fake_aws.wait_until_held() == ["CreateRoute"]
    world.ec2.create_route(**table, DestinationCidrBlock=NEW, NetworkInterfaceId=theirs)
    world.ec2.delete_route(**table, DestinationCidrBlock=OLD)
    fake_aws.release()
    answer = finish(process)
    if is_refused:
        assert "Not now." in answer.error["message"]
        assert traffic.state()["routes"] == [f"{NEW} {theirs}"]
    else:
        nic_id = nic_of(world, answer.ok()[0])
        assert traffic.state()["routes"] == [f"{OLD} {nic_id}", f"{NEW} {nic_id}"]


def test_changed_since(
    story: Story, exposed: dict[str, Any], fake_aws: FakeAws, traffic: Traffic, theirs: str, world: World
) -> None:
    """A route that others have changed or deleted since it led to the VM is not touched."""
    table = {"RouteTableId": traffic.route_table_id}
    fake_aws.rule(action="AssociateAddress", nth=1, hold=True, error=LATE)
    process = story.start_vm(**exposed)
    assert fake_aws.wait_until_held() == ["AssociateAddress"]
    world.ec2.delete_route(**table, DestinationCidrBlock=NEW)
    world.ec2.replace_route(**table, DestinationCidrBlock=OLD, NetworkInterfaceId=theirs)
    fake_aws.release()
    assert "Not now." in finish(process).error["message"]
    assert traffic.state()["routes"] == [f"{OLD} {theirs}"]


@pytest.mark.parametrize("is_blackhole", [True, False], ids=["black-hole", "unknown-target"])
def test_no_way_back(
    story: Story,
    exposed: dict[str, Any],
    fake_aws: FakeAws,
    traffic: Traffic,
    world: World,
    *,
    is_blackhole: bool,
) -> None:
    """A route that led nowhere, or to a target that the CPI does not know, leads nowhere again."""
    if is_blackhole:
        nic = world.ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]
        table = {"RouteTableId": traffic.route_table_id, "DestinationCidrBlock": OLD}
        world.ec2.replace_route(**table, NetworkInterfaceId=nic["NetworkInterfaceId"])
    else:
        unknown = ["<gatewayId>igw-[^<]*</gatewayId>", "<x/>"]
        fake_aws.rule(action="DescribeRouteTables", times=None, replace=[unknown])
    fake_aws.rule(action="AssociateAddress", error=LATE)
    fake_aws.forget_calls()
    answer = story.create_vm(**exposed)
    assert "Not now." in answer.error["message"]
    assert fake_aws.actions().count("ReplaceRoute") == 1
    assert "Perhaps left behind" not in answer.stderr
