"""Spot VMs, with and without a way out."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.stories.story import Story, below

MARKET = "InstanceMarketOptions"
SPOT = {f"{MARKET}.MarketType": "spot"}
OPTIONS = {
    "MarketType": "spot",
    "SpotOptions.MaxPrice": "0.05",
    "SpotOptions.SpotInstanceType": "one-time",
    "SpotOptions.InstanceInterruptionBehavior": "terminate",
}
PRICE = {"spot_bid_price": 0.05}
TOO_LOW = {"spot_bid_price": 0.002}
WITH_FALLBACK = {"spot_ondemand_fallback": True}
ANY_PRICE = {"spot": True}
WITHOUT_PRICE = {name: value for name, value in OPTIONS.items() if name != "SpotOptions.MaxPrice"}


@pytest.mark.parametrize(("spot", "expected"), [(PRICE, OPTIONS), (ANY_PRICE, WITHOUT_PRICE)])
def test_spot(story: Story, world: World, spot: dict[str, Any], expected: dict[str, str]) -> None:
    """A spot VM is a one-time spot instance that ends when it is interrupted; a price is its limit."""
    vm_cid = story.create_vm(spot).ok()[0]
    (launch,) = story.parameters_of("RunInstances")
    assert below(launch, MARKET) == expected
    assert world.instance(vm_cid)["InstanceLifecycle"] == "spot"


def test_failed(story: Story, fake_aws: FakeAws) -> None:
    """Without the fallback a spot launch that fails, for whatever reason, is not retriable."""
    said = story.refuse_launch("InsufficientInstanceCapacity")
    message = f"Spot instance creation failed, and spot_ondemand_fallback is not set: {said}"
    assert story.create_vm(ANY_PRICE).error == story.failure("VMCreationFailed", message)
    assert fake_aws.actions().count("RunInstances") == 1
    assert story.leftovers() == {}


def test_on_demand(story: Story, world: World) -> None:
    """With the fallback it is launched on demand, and is the same VM otherwise."""
    story.refuse_launch("InvalidParameterCombination", SPOT)
    vm_cid = story.create_vm({**PRICE, **WITH_FALLBACK}).ok()[0]
    first, second = story.parameters_of("RunInstances")
    assert below(first, MARKET) == OPTIONS
    of_spot = (f"{MARKET}.", "TagSpecification.4.")  # of the request, which is tagged, too
    common = {name: value for name, value in first.items() if not name.startswith(of_spot)}
    assert {**common, "ClientToken": second["ClientToken"]} == second
    assert first["ClientToken"] != second["ClientToken"]
    assert (
        story.parameters_of("DescribeSpotInstanceRequests") == []
    )  # EC2 keeps none of a launch that it refuses so
    assert "InstanceLifecycle" not in world.instance(vm_cid)


SPOT_CALLS = ("RunInstances", "DescribeSpotInstanceRequests", "CancelSpotInstanceRequests")


@pytest.mark.parametrize(
    ("fallback", "code"),
    [
        (WITH_FALLBACK, "SpotMaxPriceTooLow"),
        ({}, "SpotMaxPriceTooLow"),
        ({}, "MaxSpotInstanceCountExceeded"),
    ],
    ids=["fallback", "none", "final"],
)
def test_open_request(
    story: Story, fake_aws: FakeAws, world: World, fallback: dict[str, Any], code: str
) -> None:
    """The request that EC2 keeps open after it refused a launch is cancelled: it launches nothing later."""
    fake_aws.rule(action="RunInstances", replace=[["SpotMaxPriceTooLow", code]])
    answer = story.create_vm({**TOO_LOW, **fallback})
    calls = [action for action in fake_aws.actions() if action in SPOT_CALLS]
    assert calls == [*SPOT_CALLS, *(["RunInstances"] if fallback else [])]
    if fallback:
        vm_cid = answer.ok()[0]
        assert world.state()["instances"] == [vm_cid]
    else:
        assert code in answer.error["message"]
    assert world.state()["spot requests"] == []
    assert "spot-instances-request" in story.parameters_of("RunInstances")[0].values()


def test_request_of_another_vm(story: Story, world: World, fake_aws: FakeAws) -> None:
    """An open request that another VM's launch left is not this call's to cancel."""
    refused = {"action": "CancelSpotInstanceRequests", "error": {"code": "X", "message": "x", "status": 400}}
    fake_aws.rule(**refused)
    story.create_vm({**TOO_LOW, **WITH_FALLBACK}, {"any": story.network()}, agent_id="another").ok()
    fake_aws.clear_rules()
    (others,) = world.state()["spot requests"]
    story.create_vm({**TOO_LOW, **WITH_FALLBACK}, agent_id="*").ok()
    assert world.state()["spot requests"] == [others]


def test_open_request_stays(story: Story, fake_aws: FakeAws, world: World) -> None:
    """If the keys may not cancel requests, the log says so; nothing else changes."""
    action, error = SPOT_CALLS[-1], {"code": "UnauthorizedOperation", "message": "No.", "status": 403}
    fake_aws.rule(action=action, error=error)
    assert "SpotMaxPriceTooLow" in story.create_vm(TOO_LOW).error["message"]
    answer = story.create_vm({**TOO_LOW, **WITH_FALLBACK})
    answer.ok()
    assert "Perhaps left behind" in answer.stderr
    assert "open spot requests with the tag bosh_agent_id=agent-1: " in answer.stderr
    assert action in answer.stderr
    fake_aws.clear_rules()
    assert len(world.state()["spot requests"]) == 2
