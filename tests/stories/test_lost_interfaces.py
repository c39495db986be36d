"""Interfaces that are created before the launch, among those of the same agent, if their answers are lost."""

from collections.abc import Callable
from typing import Any

import pytest

from bosh_aws_cpi.cpi.vms.create.interfaces import MAX_NIC_GENERATIONS
from testbed.cloud import FakeAws
from testbed.executable import finish
from testbed.world import World
from tests.stories.story import Story

pytestmark = pytest.mark.usefixtures("fast_clock")

OWN, OTHER, EARLIER = "10.0.1.10", "10.0.1.11", "10.0.1.99"


@pytest.fixture
def earlier(story: Story, world: World, origin: dict[str, str], fake_aws: FakeAws) -> Callable[..., None]:
    """Return a function that creates an interface of the agent, for another VM or for none."""

    def create(*, is_attached: bool = False) -> None:
        tags = [{"Key": key, "Value": value} for key, value in origin.items()]
        given = [{"ResourceType": "network-interface", "Tags": tags}]
        answer = world.ec2.create_network_interface(
            SubnetId=world.subnet_id, PrivateIpAddress=EARLIER, TagSpecifications=given
        )
        nic_id = answer["NetworkInterface"]["NetworkInterfaceId"]
        if is_attached:
            world.ec2.attach_network_interface(
                NetworkInterfaceId=nic_id, InstanceId=story.lay_vm(), DeviceIndex=1
            )
        fake_aws.forget_calls()

    return create


@pytest.mark.parametrize("is_attached", [False, True], ids=["unattached", "attached"])
def test_found(
    story: Story, earlier: Callable[..., None], fake_aws: FakeAws, world: World, *, is_attached: bool
) -> None:
    """Each is found by its address, if it has one, and once; what another VM has is not taken."""
    earlier(is_attached=is_attached)
    fake_aws.rule(action="CreateNetworkInterface", times=None, drop="after")
    networks = {"a": story.network(OWN), "b": story.network(None if is_attached else OTHER)}
    vm_cid = story.create_vm(networks=networks, executable=story.cpi_with(max_retries=0)).ok()[0]
    found = {nic["PrivateIpAddress"] for nic in world.instance(vm_cid)["NetworkInterfaces"]}
    assert len(found) == 2
    assert OWN in found
    assert EARLIER not in found
    assert is_attached or OTHER in found


def test_other_arguments(story: Story, earlier: Callable[..., None], fake_aws: FakeAws, world: World) -> None:
    """What an earlier call has created with other arguments is deleted; the attempts have an end."""
    earlier()
    fake_aws.refuse("CreateNetworkInterface", "IdempotentParameterMismatch", "Not these.", times=None)
    error = story.create_vm(networks={"a": story.network(OWN), "b": story.network(OTHER)}).error
    assert f"{MAX_NIC_GENERATIONS} interfaces were already created for this VM" in error["message"]
    assert fake_aws.actions().count("CreateNetworkInterface") == MAX_NIC_GENERATIONS
    assert world.state() == world.empty


def test_used_by_another(story: Story, fake_aws: FakeAws, world: World) -> None:
    """An interface that an instance has come to use is kept if the launch fails; the log names both."""
    other = story.lay_vm()
    before = set(world.state()["interfaces"])
    refusal: Any = {"code": "UnauthorizedOperation", "message": "No.", "status": 403}
    fake_aws.rule(action="RunInstances", nth=1, hold=True, error=refusal)
    process = story.start_vm(networks={"a": story.network(OWN), "b": story.network(OTHER)})
    assert fake_aws.wait_until_held() == ["RunInstances"]
    used, unused = set(world.state()["interfaces"]) - before
    world.ec2.attach_network_interface(NetworkInterfaceId=used, InstanceId=other, DeviceIndex=1)
    fake_aws.release()
    answer = finish(process)
    assert "UnauthorizedOperation" in answer.error["message"]
    assert f"Network interface '{used}' is kept: instance '{other}' uses it" in answer.stderr
    assert {each["NetworkInterfaceId"] for each in story.parameters_of("DeleteNetworkInterface")} == {unused}
    assert set(world.state()["interfaces"]) - before == {used}
