"""create_vm when EC2 can't: ended instances, no capacity, addresses that are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import finish

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Answer, Cpi
    from testbed.world import World

ADDRESS = "10.0.1.10"
STATE = "<instanceState>.*?</instanceState>"
REASON = "<stateReason>.*?</stateReason>"


def instance_state(code: int, name: str) -> list[str]:
    """Write the replacement of an instance's state."""
    return [STATE, f"<instanceState><code>{code}</code><name>{name}</name></instanceState>"]


@pytest.mark.parametrize(
    ("code", "state", "ok_to_retry"),
    [
        ("Server.InternalError", (48, "terminated"), True),
        ("Server.InsufficientInstanceCapacity", (32, "shutting-down"), True),
        ("Client.VolumeLimitExceeded", (48, "terminated"), False),
    ],
)
def test_ended_while_pending(
    create_vm: Callable[..., Answer],
    fake_aws: FakeAws,
    world: World,
    code: str,
    state: tuple[int, str],
    ok_to_retry: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """An instance that EC2 ends is VMCreationFailed with EC2's reason, retriable if that is EC2's."""
    reason = f"<stateReason><code>{code}</code><message>{code}: because</message></stateReason>"
    tokens = {"action": "DescribeInstances"}
    fake_aws.rule(**tokens, nth=1, times=None, replace=[instance_state(0, "pending")])
    fake_aws.rule(**tokens, nth=2, times=None, replace=[instance_state(*state), [REASON, reason]])
    fake_aws.rule(**tokens, nth=3, times=None, replace=[instance_state(48, "terminated")])
    error = create_vm().error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", ok_to_retry)
    assert f"{code}: because" in error["message"]
    fake_aws.clear_rules()
    assert world.state() == world.empty


@pytest.mark.parametrize(
    "code", ["InsufficientInstanceCapacity", "InsufficientFreeAddressesInSubnet", "InsufficientHostCapacity"]
)
def test_no_capacity(
    create_vm: Callable[..., Answer],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    world: World,
    code: str,
) -> None:
    """When AWS is short of something the Director may ask again."""
    fake_aws.rule(action="RunInstances", error={"code": code, "message": "Not now.", "status": 400})
    message = f"RunInstances failed with {code}: Not now. (request id 00000000-0000-4000-8000-000000000000)"
    assert create_vm().error == failure("VMCreationFailed", message, ok_to_retry=True)
    assert world.state() == world.empty


@pytest.mark.parametrize("is_several", [False, True], ids=["one-network", "two-networks"])
def test_address_of_a_vm_that_stays(
    create_vm: Callable[..., Answer],
    network: Callable[..., dict[str, Any]],
    vm: Callable[..., str],
    world: World,
    *,
    is_several: bool,
) -> None:
    """An address that a living VM holds ends the call: interface and VM are named."""
    holder = vm(PrivateIpAddress=ADDRESS)
    (interface,) = world.instance(holder)["NetworkInterfaces"]
    before = world.state()
    networks = {"one": network(ADDRESS, nic_group="front")}
    if is_several:
        networks = {"free": network("10.0.2.10", 1), **networks}
    error = create_vm(networks=networks).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    message = error["message"]
    assert message.startswith("Failed to create network interface for nic_group 'front': ")
    assert f"InvalidIPAddress.InUse: Address {ADDRESS} is in use." in message
    assert interface["NetworkInterfaceId"] in message
    assert holder in message
    assert world.state() == before


def test_address_of_an_interface_that_stays(
    create_vm: Callable[..., Answer], world: World, fake_aws: FakeAws
) -> None:
    """An address that an interface without a VM holds ends the call, too."""
    made = world.ec2.create_network_interface(SubnetId=world.subnet_id, PrivateIpAddress=ADDRESS)
    error = create_vm().error
    assert error["message"].startswith("Failed to create network interface for nic_group 'private': ")
    assert made["NetworkInterface"]["NetworkInterfaceId"] in error["message"]
    assert fake_aws.actions().count("RunInstances") == 1


@pytest.mark.parametrize("is_several", [False, True], ids=["one-network", "two-networks"])
def test_address_of_a_vm_that_leaves(
    cpi: Cpi,
    network: Callable[..., dict[str, Any]],
    vm: Callable[..., str],
    world: World,
    fake_aws: FakeAws,
    *,
    is_several: bool,
) -> None:
    """An address that a departing VM holds is waited for."""
    holder = vm(PrivateIpAddress=ADDRESS)
    asked = {"InstanceId.1": holder}
    leaving = [instance_state(32, "shutting-down")]
    fake_aws.rule(action="DescribeInstances", where=asked, hold=True, replace=leaving)
    networks = {"one": network(ADDRESS)}
    if is_several:
        networks["two"] = network("10.0.2.10", 1)
    properties = {"instance_type": "t3.micro", "availability_zone": world.zone}
    process = cpi.start("create_vm", "agent-1", world.image_id, properties, networks, [], None, stemcell=2)
    assert fake_aws.wait_until_held() == ["DescribeInstances"]
    world.ec2.terminate_instances(InstanceIds=[holder])
    fake_aws.release()
    vm_cid = finish(process).ok()[0]
    assert world.instance(vm_cid)["PrivateIpAddress"] == ADDRESS
    assert world.state()["instances"] == [vm_cid]
    action = "CreateNetworkInterface" if is_several else "RunInstances"
    statuses = [call["status"] for call in fake_aws.calls() if call["action"] == action]
    assert statuses[:2] == [400, 200]
