"""create_vm made twice: the same one finds its VM, and never makes a second."""

import string
from collections.abc import Callable
from typing import Any

import pytest

from bosh_aws_cpi.cpi.vms.create.instance import MAX_GENERATIONS
from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story

pytestmark = pytest.mark.usefixtures("fast_clock")


BY_US, FULL = (
    f"<stateReason><code>Client.{code}</code><message>x</message></stateReason>"
    for code in ("UserInitiatedShutdown", "VolumeLimitExceeded")
)
LAUNCHED_LONG_AGO = ["<launchTime>.*?</launchTime>", "<launchTime>2026-01-01T00:00:00.000Z</launchTime>"]
SHUTTING_DOWN = "<instanceState><code>32</code><name>shutting-down</name></instanceState>"
TWO_CALLS = ("CreateNetworkInterface", "RunInstances")


@pytest.fixture
def dynamic(story: Story) -> dict[str, Any]:
    """Return a network of which every VM gets another address."""
    return {"any": story.network()}


@pytest.fixture
def tokens(fake_aws: FakeAws) -> Callable[[], list[str]]:
    """Return a function that lists the client tokens that were sent, and forgets them."""

    def read() -> list[str]:
        sent = [call["parameters"]["ClientToken"] for call in fake_aws.calls() if call["action"] in TWO_CALLS]
        fake_aws.forget_calls()
        return sent

    return read


def test_same_again(story: Story, tokens: Callable[[], list[str]], world: World) -> None:
    """The same call answers the same VM; its client tokens are the same ones, which EC2 can take."""
    networks = {"first": story.network("10.0.1.10"), "second": story.network("10.0.2.10", 1)}
    first = story.create_vm(networks=networks).ok()
    state, sent = world.state(), tokens()
    assert story.create_vm(networks=networks).ok() == first
    assert world.state() == state
    assert tokens() == sent
    assert len(set(sent)) == len(sent) == 3
    assert all(len(token) <= 64 and set(token) <= set(string.printable) for token in sent)


def test_other_agents(
    story: Story, dynamic: dict[str, Any], tokens: Callable[[], list[str]], cpi: Cpi
) -> None:
    """Another agent, and the same one of another Director, are other VMs with other client tokens."""
    networks = {**dynamic, "fixed": story.network("10.0.2.10", 1)}
    made = [story.create_vm(networks=networks).ok()[0]]
    sent = tokens()
    networks["fixed"]["ip"] = "10.0.2.11"
    made.append(story.create_vm(networks=networks, agent_id="agent-2").ok()[0])
    sent += tokens()
    networks["fixed"]["ip"] = "10.0.2.12"
    context = {"director_uuid": "another"}
    answer = cpi.call("create_vm", *story.vm_arguments(networks=networks), stemcell=2, context=context)
    made.append(answer.ok()[0])
    sent += tokens()
    assert len(set(made)) == 3
    assert len(set(sent)) == len(sent) == 9


def test_deleted_meanwhile(story: Story, cpi: Cpi, world: World, tokens: Callable[[], list[str]]) -> None:
    """After its VM was deleted the same call makes another one, and finds that one when it is made again."""
    first = story.create_vm().ok()[0]
    cpi.call("delete_vm", first).ok()
    (spent,) = tokens()
    second = story.create_vm().ok()[0]
    assert second != first
    assert tokens()[0] == spent
    assert story.create_vm().ok()[0] == second
    assert world.state()["instances"] == [second]


def test_type_that_was_launched(story: Story, cpi: Cpi, fake_aws: FakeAws, world: World) -> None:
    """The type of an instance that is alive comes first; that of one that has ended does not."""
    types = {"instance_type_fallbacks": ["m5.large"]}
    story.refuse_launch("InsufficientInstanceCapacity", {"InstanceType": "t3.micro"})
    cpi.call("delete_vm", story.create_vm(types).ok()[0]).ok()
    found = story.create_vm(types).ok()[0]
    fake_aws.clear_rules()
    fake_aws.forget_calls()
    assert story.create_vm(types).ok()[0] == found
    assert len(story.parameters_of("RunInstances")) == 1
    cpi.call("delete_vm", found).ok()
    assert world.instance(story.create_vm(types).ok()[0])["InstanceType"] == "t3.micro"


def test_instance_that_is_never_shown(story: Story, fake_aws: FakeAws, world: World) -> None:
    """An earlier call's instance that EC2 answers and does not show is terminated, and replaced."""
    first = story.create_vm().ok()[0]
    fake_aws.rule(action="RunInstances", nth=1, replace=[LAUNCHED_LONG_AGO])
    fake_aws.refuse(
        "DescribeInstances",
        "InvalidInstanceID.NotFound",
        "not known",
        where={"InstanceId.1": first},
        times=None,
    )
    made = story.create_vm().ok()[0]
    assert world.state()["instances"] == [made] != [first]


def test_no_end(story: Story, fake_aws: FakeAws) -> None:
    """The number of client tokens is limited."""
    story.refuse_launch("IdempotentParameterMismatch")
    error = story.create_vm().error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", False)
    assert f"{MAX_GENERATIONS} instances were already launched for this VM" in error["message"]
    assert fake_aws.actions().count("RunInstances") == MAX_GENERATIONS


@pytest.mark.parametrize(
    ("reason", "launched"), [(BY_US, []), (FULL, [LAUNCHED_LONG_AGO])], ids=["just-now", "long-ago"]
)
def test_still_ending(
    story: Story, dynamic: dict[str, Any], fake_aws: FakeAws, reason: str, launched: list[list[str]]
) -> None:
    """EC2 may answer with an earlier call's instance that is ending, for any reason: another one is made."""
    first = story.create_vm(networks=dynamic).ok()[0]
    ending = [
        ["<instanceState>.*?</instanceState>", SHUTTING_DOWN],
        ["<stateReason>.*?</stateReason>", reason],
        *launched,
    ]
    fake_aws.rule(action="RunInstances", nth=1, replace=ending)
    fake_aws.rule(action="DescribeInstances", where={"InstanceId.1": first}, nth=1, replace=ending)
    second = story.create_vm(networks=dynamic).ok()[0]
    assert second != first


@pytest.mark.parametrize("changed", ["image", "address", "interface"])
def test_other_arguments_that_ec2_does_not_mind(
    story: Story, fake_aws: FakeAws, world: World, changed: str
) -> None:
    """EC2 may answer a token with the first instance though the arguments differ: it is not this VM."""
    second = world.ec2.copy_image(Name="second", SourceImageId=world.image_id, SourceRegion="us-east-1")[
        "ImageId"
    ]
    one: dict[str, Any] = {"first": story.network("10.0.1.10")}
    other: dict[str, Any] = {"first": story.network("10.0.1.11")}
    cases: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "image": (
            {"networks": {"first": story.network()}},
            {"networks": {"first": story.network()}, "stemcell_cid": second},
        ),
        "address": ({"networks": one}, {"networks": other}),
        "interface": (
            {"networks": {**one, "second": story.network("10.0.2.10", 1)}},
            {"networks": {**other, "second": story.network("10.0.2.11", 1)}},
        ),
    }
    before, after = cases[changed]
    first = story.create_vm(**before).ok()[0]
    fake_aws.rule(action="RunInstances", nth=1, states=["replayed"], replace=[LAUNCHED_LONG_AGO])
    answer = story.create_vm(**after)
    made = answer.ok()[0]
    assert made != first
    assert world.state()["instances"] == sorted([first, made])
    assert f"Instance '{first}' was created for this agent with other arguments; it stays" in story.warnings(
        answer
    )


def test_other_type_that_ec2_does_not_mind(
    story: Story, dynamic: dict[str, Any], fake_aws: FakeAws, world: World
) -> None:
    """An answer with an earlier instance of another type is not this VM either: it is launched anew."""
    first = story.create_vm(networks=dynamic).ok()[0]
    other = ["<instanceType>[^<]*</instanceType>", "<instanceType>m5.large</instanceType>"]
    fake_aws.rule(action="RunInstances", nth=1, states=["replayed"], replace=[LAUNCHED_LONG_AGO, other])
    second = story.create_vm(networks=dynamic).ok()[0]
    assert second != first
    assert len({launch["ClientToken"] for launch in story.parameters_of("RunInstances")}) == 2
    assert world.state()["instances"] == sorted([first, second])


@pytest.mark.usefixtures("ipv6")
def test_answer_that_shows_less(story: Story, fake_aws: FakeAws, world: World) -> None:
    """A launch's own answer need not show all that was asked for yet: that is no other call's instance."""
    networks = {
        "four": {**story.network("10.0.1.10"), "nic_group": "one"},
        "six": {**story.network("2001:db8::10"), "nic_group": "one"},
    }
    hidden = [[r"<ipv6AddressesSet>.*?</ipv6AddressesSet>", ""], ["10.0.1.10", "10.0.1.99"]]
    fake_aws.rule(action="RunInstances", nth=1, replace=hidden)
    vm_cid = story.create_vm(networks=networks).ok()[0]
    assert world.state()["instances"] == [vm_cid]


def test_other_arguments(story: Story, dynamic: dict[str, Any], world: World) -> None:
    """With other arguments it is another VM; the first one is left, and a warning names it."""
    first = story.create_vm({"tags": {"owner": "a"}}, dynamic).ok()[0]
    answer = story.create_vm({"tags": {"owner": "b"}}, dynamic)
    second = answer.ok()[0]
    assert world.state()["instances"] == sorted([first, second])
    assert story.tags_of(second)["owner"] == "b"
    assert story.warnings(answer) == [
        f"Instance '{first}' was created for this agent with other arguments; it stays"
    ]
    assert story.create_vm({"tags": {"owner": "b"}}, dynamic).ok()[0] == second


def test_other_arguments_for_the_same_interfaces(story: Story, world: World) -> None:
    """If the first VM has the interfaces that the other one needs, the call fails, and names that VM."""
    networks = {"first": story.network("10.0.1.10"), "second": story.network("10.0.2.10", 1)}
    first = story.create_vm(networks=networks).ok()[0]
    message = story.create_vm({"ebs_optimized": True}, networks).error["message"]
    assert f"'{first}' was created for this agent with other arguments, and has its network" in message
    assert world.state()["instances"] == [first]


def test_after_an_undo(story: Story, world: World) -> None:
    """After a call that failed and took its interface back the same call makes another one."""
    networks = {
        name: story.network(ip, nic_group="one") for name, ip in (("v4", "10.0.1.10"), ("v6", "2001:db8::1"))
    }
    message = story.deny("RunInstances")
    assert story.create_vm(networks=networks).error["message"] == message
    assert story.leftovers() == {}
    vm_cid = story.create_vm(networks=networks).ok()[0]
    (nic,) = world.instance(vm_cid)["NetworkInterfaces"]
    state = world.state()
    assert (state["instances"], state["interfaces"]) == ([vm_cid], [nic["NetworkInterfaceId"]])
