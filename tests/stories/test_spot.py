"""Spot VMs, with and without a way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from testbed.killing import kill_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.world import World
    from tests.protocols import (
        CheckRefused,
        CreateVm,
        ListResources,
        ReadCalls,
        RefuseLaunch,
        StartVm,
        WriteError,
    )

MARKET = "InstanceMarketOptions"
SPOT = {f"{MARKET}.MarketType": "spot"}
OPTIONS = {
    "MarketType": "spot",
    "SpotOptions.MaxPrice": "0.05",
    "SpotOptions.SpotInstanceType": "one-time",
    "SpotOptions.InstanceInterruptionBehavior": "terminate",
}
PRICE = {"spot_bid_price": 0.05}
WITH_FALLBACK = {"spot_ondemand_fallback": True}
ANY_PRICE = {"spot": True}
WITHOUT_PRICE = {name: value for name, value in OPTIONS.items() if name != "SpotOptions.MaxPrice"}


@pytest.mark.parametrize(("price", "expected"), [(0.05, "0.05"), ("0.050", "0.050"), (1, "1")], ids=repr)
def test_spot_at_a_price(
    create_vm: CreateVm,
    sent: ReadCalls,
    below: Callable[[dict[str, str], str], dict[str, str]],
    world: World,
    price: object,
    expected: str,
) -> None:
    """A price makes it a one-time spot instance that ends when it is interrupted."""
    vm_cid = create_vm({"spot_bid_price": price}).ok()[0]
    (launch,) = sent("RunInstances")
    assert below(launch, MARKET) == {**OPTIONS, "SpotOptions.MaxPrice": expected}
    assert world.instance(vm_cid)["InstanceLifecycle"] == "spot"


def test_spot(
    create_vm: CreateVm,
    sent: ReadCalls,
    below: Callable[[dict[str, str], str], dict[str, str]],
    world: World,
) -> None:
    """Without a price it is the same, but nothing limits the price; it costs no further call."""
    vm_cid = create_vm({"spot": True}).ok()[0]
    (launch,) = sent("RunInstances")
    assert below(launch, MARKET) == WITHOUT_PRICE
    assert world.instance(vm_cid)["InstanceLifecycle"] == "spot"


@pytest.mark.faults
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed(
    create_vm: CreateVm,
    start_vm: StartVm,
    fake_aws: FakeAws,
    world: World,
    when: Literal["before", "after"],
) -> None:
    """After a process was killed at the spot launch, the same call again has one spot instance."""
    kill_at(fake_aws, lambda: start_vm(ANY_PRICE), action="RunInstances", when=when)
    vm_cid = create_vm(ANY_PRICE).ok()[0]
    assert world.state()["instances"] == [vm_cid]
    assert world.instance(vm_cid)["InstanceLifecycle"] == "spot"


@pytest.mark.parametrize("price", ["a lot", 0, -0.05, "inf"])
def test_no_price(create_vm: CreateVm, refused: CheckRefused, price: object) -> None:
    """What is no price is refused without asking AWS."""
    answer = create_vm({"spot_bid_price": price})
    message = answer.error["message"]
    assert "cloud_properties.spot_bid_price" in message
    assert "must be a price in dollars, more than 0" in message
    assert refused(answer, message) == []


@pytest.mark.parametrize(
    ("spot", "code"),
    [
        (PRICE, "SpotMaxPriceTooLow"),
        *((spot, "InsufficientInstanceCapacity") for spot in (PRICE, ANY_PRICE)),
        (PRICE, "UnauthorizedOperation"),
    ],
)
def test_failed(
    create_vm: CreateVm,
    short: RefuseLaunch,
    failure: WriteError,
    fake_aws: FakeAws,
    left: ListResources,
    spot: dict[str, Any],
    code: str,
) -> None:
    """Without the fallback a spot launch that fails, for whatever reason, is not retriable."""
    said = short(code)
    message = f"Spot instance creation failed, and spot_ondemand_fallback is not set: {said}"
    assert create_vm(spot).error == failure("VMCreationFailed", message)
    assert fake_aws.actions().count("RunInstances") == 1
    assert left() == {}


@pytest.mark.parametrize(
    ("spot", "code"),
    [
        (PRICE, "SpotMaxPriceTooLow"),
        (PRICE, "InvalidParameterCombination"),
        (ANY_PRICE, "InsufficientInstanceCapacity"),
    ],
)
def test_on_demand(
    create_vm: CreateVm,
    short: RefuseLaunch,
    sent: ReadCalls,
    below: Callable[[dict[str, str], str], dict[str, str]],
    world: World,
    spot: dict[str, Any],
    code: str,
) -> None:
    """With the fallback it is launched on demand, and is the same VM otherwise."""
    short(code, SPOT)
    vm_cid = create_vm({**spot, **WITH_FALLBACK}).ok()[0]
    first, second = sent("RunInstances")
    assert below(first, MARKET) == (OPTIONS if spot == PRICE else WITHOUT_PRICE)
    common = {name: value for name, value in first.items() if not name.startswith(f"{MARKET}.")}
    assert {**common, "ClientToken": second["ClientToken"]} == second
    assert first["ClientToken"] != second["ClientToken"]
    assert "InstanceLifecycle" not in world.instance(vm_cid)


@pytest.mark.parametrize("spot", [PRICE, ANY_PRICE])
def test_both_fail(
    create_vm: CreateVm,
    short: RefuseLaunch,
    failure: WriteError,
    sent: ReadCalls,
    left: ListResources,
    spot: dict[str, Any],
) -> None:
    """All types are tried as spot before all on demand, and the error tells what each one answered."""
    types = ["t3.micro", "m5.large"]
    no_spot = short("UnfulfillableCapacity", SPOT)
    demand = short("InsufficientInstanceCapacity", status=500)
    error = create_vm({**spot, **WITH_FALLBACK, "instance_type_fallbacks": types[1:]}).error
    tried = [(call["InstanceType"], f"{MARKET}.MarketType" in call) for call in sent("RunInstances")]
    assert tried == [(name, is_spot) for is_spot in (True, False) for name in types]
    listed = [f"{name} (spot): {no_spot}" for name in types] + [
        f"{name} (on demand): {demand}" for name in types
    ]
    message = f"No capacity for any of the VM's instance types. {'; '.join(listed)}"
    assert error == failure("VMCreationFailed", message, ok_to_retry=True)
    assert left() == {}
