"""Addresses in use: a terminating VM is waited for, a leaked interface is deleted, all others stay."""

from collections.abc import Callable
from typing import Any

import pytest

from bosh_aws_cpi.cpi.vms.create.interfaces import MAX_OF_ANOTHER_AGENT, MAX_UNATTACHED, MAX_UNHELD
from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi, finish
from testbed.killing import kill_at
from testbed.world import World
from tests.stories.story import Story

pytestmark = pytest.mark.usefixtures("fast_clock")


ADDRESS = "10.0.1.10"
SEVERAL = pytest.mark.parametrize("is_several", [False, True], ids=["one-network", "two-networks"])
FAILED = "Failed to create network interface for nic_group 'front': "
IN_USE = {"code": "InvalidIPAddress.InUse", "message": f"Address {ADDRESS} is in use."}
SHUTTING_DOWN = [
    "<instanceState>.*?</instanceState>",
    "<instanceState><code>32</code><name>shutting-down</name></instanceState>",
]
UNKNOWN = {"code": "InvalidInstanceID.NotFound", "message": "The instance ID does not exist", "status": 400}


@pytest.fixture
def networks(story: Story) -> Callable[..., dict[str, Any]]:
    """Return a function that writes a network with the address, or two, of which it is the second."""

    def write(is_several: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - the only argument
        other = {"free": story.network("10.0.2.10", 1)} if is_several else {}
        return {**other, "taken": story.network(ADDRESS, nic_group="front")}

    return write


@pytest.fixture
def holder(world: World, fake_aws: FakeAws) -> Callable[..., str]:
    """Return a function that creates an unattached interface with the address."""

    def make(
        director: str | None = None, address: str = ADDRESS, prefix: str | None = None, agent: str = ""
    ) -> str:
        given = {"bosh_director_uuid": director, "bosh_agent_id": agent}
        tags = [{"Key": key, "Value": value} for key, value in given.items() if value]
        more: dict[str, Any] = {}
        if tags:
            more["TagSpecifications"] = [{"ResourceType": "network-interface", "Tags": tags}]
        answer = world.ec2.create_network_interface(
            SubnetId=world.subnet_id, PrivateIpAddress=address, **more
        )
        nic_id: str = answer["NetworkInterface"]["NetworkInterfaceId"]
        if prefix:
            world.ec2.assign_private_ip_addresses(NetworkInterfaceId=nic_id, Ipv4Prefixes=[prefix])
        fake_aws.forget_calls()
        return nic_id

    return make


def test_holder_that_can_not_be_looked_up(
    story: Story, networks: Callable[..., dict[str, Any]], fake_aws: FakeAws
) -> None:
    """If the holder of the address can't be looked up, EC2's refusal is the error."""
    story.lay_vm(PrivateIpAddress=ADDRESS)
    where = {"Filter.2.Name": "addresses.private-ip-address"}
    fake_aws.rule(action="DescribeNetworkInterfaces", where=where, drop="before")
    message = story.create_vm(networks=networks()).error["message"]
    assert "InvalidIPAddress.InUse" in message
    assert "EC2 shows no network interface" not in message


def test_vm_that_stays(story: Story, networks: Callable[..., dict[str, Any]], world: World) -> None:
    """For an address of a running VM the call fails at once; the error names interface and VM."""
    holder = story.lay_vm(PrivateIpAddress=ADDRESS)
    (nic,) = world.instance(holder)["NetworkInterfaces"]
    before = world.state()
    error = story.create_vm(networks=networks()).error
    reason = error["message"].removeprefix(FAILED)
    assert "InvalidIPAddress.InUse" in reason
    held = f"{ADDRESS} is held by network interface '{nic['NetworkInterfaceId']}' (in-use)"
    assert reason.endswith(f"{held} of instance '{holder}'")
    assert error == story.failure("CloudError", FAILED + reason)
    assert world.state() == before


def test_vm_that_nobody_knows(
    story: Story, networks: Callable[..., dict[str, Any]], cpi: Cpi, world: World, fake_aws: FakeAws
) -> None:
    """The error names the VM of a killed task, its age, and the command that frees the address."""
    kill_at(
        fake_aws,
        lambda: story.start_vm(networks=networks(), agent_id="killed"),
        action="RunInstances",
        when="after",
    )
    (left,) = world.state()["instances"]
    message = story.create_vm(networks=networks(), agent_id="next").error["message"]
    assert "This instance, launched 0 minutes ago, lacks the tags of set_vm_metadata" in message
    command = f"sweep --director {DIRECTOR_UUID} --delete --instance {left}"
    assert message.endswith(f": bin/cpi {command}")
    listed = cpi.run("sweep", "--director", DIRECTOR_UUID, "--json").document["strays"]
    assert [(each["id"], each["outcome"]) for each in listed] == [(left, "too young")]
    swept = cpi.run(*command.split())
    assert swept.returncode == 0, swept
    vm_cid = story.create_vm(networks=networks(), agent_id="next").ok()[0]
    assert world.state()["instances"] == [vm_cid]
    cpi.call("set_vm_metadata", vm_cid, {"director": "d", "deployment": "p", "job": "j", "index": "0"}).ok()
    assert "lacks the tags" not in story.create_vm(networks=networks(), agent_id="other").error["message"]
    assert "not a stray of this Director" in cpi.run(*command.replace(left, vm_cid).split()).stdout.decode()
    assert world.state()["instances"] == [vm_cid]


@SEVERAL
def test_vm_that_leaves(
    story: Story,
    networks: Callable[..., dict[str, Any]],
    world: World,
    fake_aws: FakeAws,
    *,
    is_several: bool,
) -> None:
    """The call waits for the address of a terminating VM, or of one that EC2 does not know any more."""
    holder = story.lay_vm(PrivateIpAddress=ADDRESS)
    asked = {"InstanceId.1": holder}
    shown = {"error": UNKNOWN} if is_several else {"replace": [SHUTTING_DOWN]}
    fake_aws.rule(action="DescribeInstances", where=asked, hold=True, **shown)
    process = story.start_vm(networks=networks(is_several))
    assert fake_aws.wait_until_held() == ["DescribeInstances"]
    world.ec2.terminate_instances(InstanceIds=[holder])
    fake_aws.release()
    vm_cid = finish(process).ok()[0]
    held = {nic["PrivateIpAddress"] for nic in world.instance(vm_cid)["NetworkInterfaces"]}
    assert ADDRESS in held
    assert world.state()["instances"] == [vm_cid]
    actions = {"CreateNetworkInterface", "RunInstances"}
    statuses = [call["status"] for call in fake_aws.calls() if call["action"] in actions]
    assert statuses == ([200, 400, 200, 200] if is_several else [400, 200])


@pytest.mark.parametrize(("agent", "attempts"), [("", 1), ("agent-2", MAX_OF_ANOTHER_AGENT + 1)])
def test_stray_interface(
    story: Story,
    networks: Callable[..., dict[str, Any]],
    holder: Callable[..., str],
    fake_aws: FakeAws,
    agent: str,
    attempts: int,
) -> None:
    """An interface that our Director's earlier call has leaked is deleted, with a warning that names it.

    One for another VM, which may be about to be launched, gets some time.
    """
    nic_id = holder(DIRECTOR_UUID, agent=agent)
    answer = story.create_vm(networks=networks())
    assert answer.ok()
    assert story.warnings(answer) == [
        f"Network interface '{nic_id}' is a stray of an earlier call: deleting it"
    ]
    actions = ["RunInstances", "DeleteNetworkInterface"]
    done = [action for action in fake_aws.actions() if action in actions]
    assert done == [*actions[:1] * attempts, actions[1], actions[0]]


@pytest.mark.parametrize("director", [None, "another"])
def test_interface_of_others(
    story: Story,
    networks: Callable[..., dict[str, Any]],
    holder: Callable[..., str],
    world: World,
    fake_aws: FakeAws,
    director: str | None,
) -> None:
    """An unattached interface without our Director's tag stays; the call soon fails."""
    nic_id = holder(director)
    error = story.create_vm(networks=networks()).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith(FAILED)
    held = f"{ADDRESS} is held by network interface '{nic_id}' (available) which no instance uses"
    assert error["message"].endswith(held)
    assert world.state() == {**world.empty, "interfaces": [nic_id]}
    attempts = [call["status"] for call in fake_aws.calls() if call["status"] == 400]
    # One without a tag may just have been taken off an instance that is ended.
    assert len(attempts) == (1 if director else MAX_UNATTACHED + 1)


def test_address_within_a_prefix(
    story: Story, networks: Callable[..., dict[str, Any]], holder: Callable[..., str], world: World
) -> None:
    """A stray interface with a delegated prefix has the addresses within it, and is deleted, too."""
    nic_id = holder(DIRECTOR_UUID, "10.0.1.100", "10.0.1.0/28")
    answer = story.create_vm(networks=networks())
    assert world.instance(answer.ok()[0])["PrivateIpAddress"] == ADDRESS
    assert nic_id not in world.state()["interfaces"]


@pytest.mark.parametrize("is_ours", [False, True], ids=["others", "ours"])
def test_prefix_with_a_taken_address(
    story: Story, holder: Callable[..., str], world: World, *, is_ours: bool
) -> None:
    """A prefix with a taken address is retried, too; nothing is left if it stays taken."""
    nic_id = holder(DIRECTOR_UUID if is_ours else None, "10.0.1.40")
    group: dict[str, Any] = {"nic_group": "front"}
    answer = story.create_vm(
        networks={
            "one": story.network(ADDRESS, **group),
            "many": story.network("10.0.1.32", prefix=28, **group),
        }
    )
    if is_ours:
        assert answer.ok()[0] in world.state()["instances"]
        (found,) = world.ec2.describe_network_interfaces(NetworkInterfaceIds=world.state()["interfaces"])[
            "NetworkInterfaces"
        ]
        assert found["Ipv4Prefixes"] == [{"Ipv4Prefix": "10.0.1.32/28"}]
    else:
        assert answer.error["message"].startswith(FAILED)
        assert f"10.0.1.32/28 is held by network interface '{nic_id}'" in answer.error["message"]
        assert world.state() == {**world.empty, "interfaces": [nic_id]}


def test_nobody_is_seen_to_hold_it(story: Story, fake_aws: FakeAws, world: World) -> None:
    """EC2 may report a released address as in use for a moment: the launch is retried, but not for long."""
    fake_aws.rule(action="RunInstances", error=IN_USE)
    message = story.create_vm().error["message"]
    assert "EC2 shows no network interface that has this address. Check the subnet's CIDR" in message
    assert fake_aws.actions().count("RunInstances") == MAX_UNHELD + 1
    fake_aws.clear_rules()
    fake_aws.rule(action="RunInstances", times=1, error=IN_USE)
    assert world.instance(story.create_vm().ok()[0])["PrivateIpAddress"] == ADDRESS


def test_next_type_waits_anew(story: Story, fake_aws: FakeAws) -> None:
    """Each type waits for the address on its own: a wait before a shortage does not shorten the next one."""
    short = {"code": "InsufficientInstanceCapacity", "message": "No.", "status": 400}
    fake_aws.rule(action="RunInstances", nth=1, times=MAX_UNHELD, error=IN_USE)
    fake_aws.rule(action="RunInstances", nth=MAX_UNHELD + 1, error=short)
    fake_aws.rule(action="RunInstances", nth=MAX_UNHELD + 2, times=MAX_UNHELD, error=IN_USE)
    story.create_vm({"instance_type_fallbacks": ["t3.small"]}).ok()
    tried = [each["InstanceType"] for each in story.parameters_of("RunInstances")]
    assert tried == ["t3.micro"] * (MAX_UNHELD + 1) + ["t3.small"] * (MAX_UNHELD + 1)


def test_address_of_an_own_interface(
    story: Story, networks: Callable[..., dict[str, Any]], fake_aws: FakeAws
) -> None:
    """If interfaces exist before the launch, their addresses are not waited for, nor do they count as strays.

    EC2 gives no such answer then.
    """
    fake_aws.rule(action="RunInstances", error=IN_USE)
    message = story.create_vm(networks=networks(True)).error["message"]  # noqa: FBT003 - the only argument
    assert "RunInstances failed with InvalidIPAddress.InUse" in message
    assert fake_aws.actions().count("RunInstances") == 1
