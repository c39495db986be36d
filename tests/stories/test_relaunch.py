"""Instances that EC2 ends while they are pending: launched again, or not."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import finish
from testbed.world import World
from tests.stories.story import Story

ADDRESS = "10.0.1.10"
OWN_FAULT = "Server.InternalError: Internal error on launch"
SHORT = "Server.InsufficientInstanceCapacity: There is none"
ANSWERED_AS_ENDED = [
    "<instanceState>.*?</instanceState>",
    "<instanceState><code>32</code><name>shutting-down</name></instanceState>",
]
"""What RunInstances itself may answer."""


def test_third_launch(story: Story, fake_aws: FakeAws, world: World) -> None:
    """An instance that EC2 ends for a reason of its own is launched again, once its interfaces are free."""
    fake_aws.rule(action="RunInstances", times=2, ends=OWN_FAULT)
    in_use = ["<status>available</status>", "<status>in-use</status>"]
    fake_aws.rule(action="DescribeNetworkInterfaces", nth=3, replace=[in_use])
    networks = {"one": story.network(ADDRESS), "two": story.network("10.0.2.10", 1)}
    vm_cid = story.create_vm(networks=networks).ok()[0]
    # Two when they are made, two before each further launch, and one that EC2 has not let go of yet.
    assert len(story.parameters_of("DescribeNetworkInterfaces")) == 7
    assert len(story.parameters_of("CreateNetworkInterface")) == 2
    launches = story.parameters_of("RunInstances")
    assert len({launch["ClientToken"] for launch in launches}) == len(launches) == 3
    instance = world.instance(vm_cid)
    nics = sorted(nic["NetworkInterfaceId"] for nic in instance["NetworkInterfaces"])
    assert instance["PrivateIpAddress"] == ADDRESS
    assert (world.state()["instances"], world.state()["interfaces"]) == ([vm_cid], nics)


@pytest.mark.parametrize("answered", [{}, {"replace": [ANSWERED_AS_ENDED]}], ids=["pending", "ended"])
def test_given_up(story: Story, fake_aws: FakeAws, answered: dict[str, Any]) -> None:
    """After the third such launch the Director is told EC2's reason, and may ask again."""
    fake_aws.rule(action="RunInstances", ends=OWN_FAULT, **answered)
    error = story.create_vm().error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", True)
    assert error["message"].endswith(f" before it ran: {OWN_FAULT}")
    assert fake_aws.actions().count("RunInstances") == 3
    assert story.leftovers() == {}


def test_relaunches_of_all_types(story: Story, fake_aws: FakeAws) -> None:
    """Two relaunches are the most for all types together: the next type has those that are left.

    Its client token is the same whatever came before, so that a retry finds its instance.
    """
    short = {"code": "InsufficientInstanceCapacity", "message": "No.", "status": 400}
    fake_aws.rule(action="RunInstances", nth=1, ends=OWN_FAULT)
    fake_aws.rule(action="RunInstances", nth=2, error=short)
    fake_aws.rule(action="RunInstances", nth=3, times=None, ends=OWN_FAULT)
    message = story.create_vm({"instance_type_fallbacks": ["t3.small"]}).error["message"]
    assert message.endswith(f" before it ran: {OWN_FAULT}")
    assert [each["InstanceType"] for each in story.parameters_of("RunInstances")] == ["t3.micro"] * 2 + [
        "t3.small"
    ] * 2
    fake_aws.clear_rules()
    fake_aws.rule(action="RunInstances", nth=1, error=short)
    story.create_vm({"instance_type_fallbacks": ["t3.small"]}).ok()
    tokens = [each["ClientToken"] for each in story.parameters_of("RunInstances")]
    assert (tokens[4], tokens[5]) == (tokens[0], tokens[2])


def test_tokens_that_are_spent(story: Story, fake_aws: FakeAws) -> None:
    """A client token of an earlier launch takes none of the relaunches."""
    spent = {"code": "IdempotentParameterMismatch", "message": "Not these.", "status": 400}
    fake_aws.rule(action="RunInstances", nth=1, times=2, error=spent)
    fake_aws.rule(action="RunInstances", nth=3, times=2, ends=OWN_FAULT)
    story.create_vm().ok()
    assert fake_aws.actions().count("RunInstances") == 5


@pytest.mark.usefixtures("fast_clock")
def test_next_type_with_the_same_interfaces(story: Story, fake_aws: FakeAws) -> None:
    """The next type is launched once the ended instance has released the interfaces."""
    fake_aws.rule(action="RunInstances", times=1, ends=SHORT)
    in_use = ["<status>available</status>", "<status>in-use</status>"]
    fake_aws.rule(action="DescribeNetworkInterfaces", nth=3, replace=[in_use])
    networks = {"one": story.network(ADDRESS), "two": story.network("10.0.2.10", 1)}
    story.create_vm({"instance_type_fallbacks": ["t3.small"]}, networks).ok()
    assert [launch["InstanceType"] for launch in story.parameters_of("RunInstances")] == [
        "t3.micro",
        "t3.small",
    ]
    # Two when they are made, two before the second launch, and one that EC2 has not let go of yet.
    assert len(story.parameters_of("DescribeNetworkInterfaces")) == 5


def test_interface_that_is_gone(story: Story, fake_aws: FakeAws) -> None:
    """If an interface was deleted with the ended instance, the Director may ask again."""
    fake_aws.rule(action="RunInstances", ends=OWN_FAULT)
    fake_aws.refuse(
        "DescribeNetworkInterfaces", "InvalidNetworkInterfaceID.NotFound", "gone", nth=3, times=None
    )
    error = story.create_vm(
        networks={"one": story.network(ADDRESS), "two": story.network("10.0.2.10", 1)}
    ).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", True)
    assert "is gone" in error["message"]
    assert story.leftovers() == {}


@pytest.mark.parametrize(
    ("properties", "reason", "expected"),
    [
        ({"instance_type_fallbacks": ["m5.large"]}, SHORT, [("t3.micro", False), ("m5.large", False)]),
        (
            {"spot": True, "spot_ondemand_fallback": True},
            "Server.SpotInstanceTermination: Spot instance termination",
            [("t3.micro", True), ("t3.micro", False)],
        ),
    ],
    ids=["fallback", "spot"],
)
def test_ended_for_lack_of_capacity(
    story: Story, fake_aws: FakeAws, properties: dict[str, Any], reason: str, expected: list[tuple[str, bool]]
) -> None:
    """An instance that is ended for lack of capacity, or of a grant for spot: the next option is tried."""
    fake_aws.rule(action="RunInstances", times=1, ends=reason)
    vm_cid = story.create_vm(properties).ok()[0]
    tried = [
        (call["InstanceType"], "InstanceMarketOptions.MarketType" in call)
        for call in story.parameters_of("RunInstances")
    ]
    assert tried == expected
    assert story.leftovers()["instances"] == [vm_cid]


def test_address_not_released_yet(story: Story, fake_aws: FakeAws, world: World) -> None:
    """While the ended instance is still shutting down it holds the address: that is waited for."""
    shutting_down = [
        [
            "<instanceState>.*?</instanceState>",
            "<instanceState><code>32</code><name>shutting-down</name></instanceState>",
        ],
        [
            "<stateReason>.*?</stateReason>",
            f"<stateReason><code>Server.InternalError</code><message>{OWN_FAULT}</message></stateReason>",
        ],
    ]
    fake_aws.rule(action="DescribeInstances", nth=1, replace=shutting_down)
    # The second one is about the holder of the address.
    fake_aws.rule(action="DescribeInstances", nth=2, replace=shutting_down, hold=True)
    process = story.start_vm()
    assert fake_aws.wait_until_held() == ["DescribeInstances"]
    (first,) = world.state()["instances"]
    world.ec2.terminate_instances(InstanceIds=[first])
    fake_aws.release()
    vm_cid = finish(process).ok()[0]
    statuses = [call["status"] for call in fake_aws.calls() if call["action"] == "RunInstances"]
    assert statuses == [200, 400, 200]
    assert world.state()["instances"] == [vm_cid] != [first]
    assert world.instance(vm_cid)["PrivateIpAddress"] == ADDRESS
