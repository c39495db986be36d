"""Launches in capacity reservations and on their markets, and the fallback types outside of them."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.reservations import reserved
from testbed.world import World
from tests.protocols import (
    CheckRefused,
    CpiWith,
    CreateVm,
    ListResources,
    ReadCalls,
    RefuseLaunch,
    WriteError,
    WriteNetwork,
)

MARKET, RESERVED = "InstanceMarketOptions", "CapacityReservationSpecification"
FIRST, SECOND = "t3.micro", "m5.large"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/reserved"
PENDING = "InvalidCapacityReservationState.PendingActivation"
TAKEN_BACK = "InvalidCapacityReservationState.Unavailable"


@pytest.fixture
def block(world: World) -> str:
    """Return a capacity block for one instance of the first type."""
    return reserved(world.ec2, FIRST, world.zone, market="capacity-block")


def wanted(block: str, market: str = "capacity-block", **more: Any) -> dict[str, Any]:
    """Write cloud properties for a VM in it."""
    return {"instance_type": FIRST, "capacity_reservation": {"id": block, "market": market}, **more}


@pytest.mark.parametrize("market", ["capacity-block", "interruptible-capacity-reservation"])
def test_market(
    create_vm: CreateVm,
    sent: ReadCalls,
    below: Callable[[dict[str, str], str], dict[str, str]],
    world: World,
    market: str,
) -> None:
    """The VM is launched in the reservation, on its market."""
    block = reserved(world.ec2, FIRST, world.zone, market=market)
    create_vm(wanted(block, market)).ok()
    (launch,) = sent("RunInstances")
    assert below(launch, MARKET) == {"MarketType": market}
    assert below(launch, RESERVED) == {"CapacityReservationTarget.CapacityReservationId": block}


def test_market_of_a_group(
    create_vm: CreateVm, sent: ReadCalls, below: Callable[[dict[str, str], str], dict[str, str]]
) -> None:
    """The VM is launched in a group of reservations, on their market."""
    create_vm({"capacity_reservation": {"resource_group_arn": GROUP, "market": "capacity-block"}}).ok()
    (launch,) = sent("RunInstances")
    assert below(launch, MARKET) == {"MarketType": "capacity-block"}
    assert below(launch, RESERVED) == {"CapacityReservationTarget.CapacityReservationResourceGroupArn": GROUP}


@pytest.mark.parametrize(
    ("market", "fallback"),
    [("", FIRST), ("capacity-block", SECOND)],
)
def test_full(
    create_vm: CreateVm,
    sent: ReadCalls,
    below: Callable[[dict[str, str], str], dict[str, str]],
    network: WriteNetwork,
    world: World,
    market: str,
    fallback: str,
) -> None:
    """If the reservation is full, the fallback, also of its type, is launched on demand, outside of it."""
    reservation = {"id": reserved(world.ec2, FIRST, world.zone, market=market), "market": market or None}
    properties = {"instance_type": FIRST, "capacity_reservation": reservation}
    create_vm(properties).ok()
    more = {"instance_type_fallbacks": [fallback]}
    vm_cid = create_vm({**properties, **more}, {"a": network("10.0.1.11")}, agent_id="agent-2").ok()[0]
    assert world.instance(vm_cid)["InstanceType"] == fallback
    _, inside, outside = sent("RunInstances")
    assert inside["ClientToken"] != outside["ClientToken"]
    assert below(inside, RESERVED) == {"CapacityReservationTarget.CapacityReservationId": reservation["id"]}
    assert (below(outside, MARKET), below(outside, RESERVED)) == ({}, {})


def test_fallback_in_a_group(
    create_vm: CreateVm,
    short: RefuseLaunch,
    sent: ReadCalls,
    below: Callable[[dict[str, str], str], dict[str, str]],
) -> None:
    """A group may hold reservations of several types, so the fallback types use it too."""
    short("ReservationCapacityExceeded", {"InstanceType": FIRST})
    create_vm(
        {
            "instance_type": FIRST,
            "instance_type_fallbacks": [SECOND],
            "capacity_reservation": {"resource_group_arn": GROUP},
        }
    ).ok()
    assert [below(launch, RESERVED) for launch in sent("RunInstances")] == [
        {"CapacityReservationTarget.CapacityReservationResourceGroupArn": GROUP}
    ] * 2


@pytest.mark.parametrize("code", ["InvalidCapacityReservationId.NotFound", "UnauthorizedOperation"])
def test_refused_on_the_market(
    create_vm: CreateVm, short: RefuseLaunch, sent: ReadCalls, left: ListResources, block: str, code: str
) -> None:
    """A wrong id or a missing permission is the call's error: the fallback costs the on-demand price."""
    said = short(code, {f"{MARKET}.MarketType": "capacity-block"})
    error = create_vm(wanted(block, instance_type_fallbacks=[SECOND])).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith(said.removesuffix(")"))
    assert len(sent("RunInstances")) == 1
    assert left() == {}


@pytest.mark.parametrize(
    ("market", "code"),
    [("capacity-block", PENDING), ("interruptible-capacity-reservation", TAKEN_BACK)],
)
def test_closed(create_vm: CreateVm, short: RefuseLaunch, world: World, market: str, code: str) -> None:
    """If a capacity block has not begun, or EC2 takes the reservation back, the fallback is launched.

    The log has EC2's words.
    """
    reservation_id = reserved(world.ec2, FIRST, world.zone, market=market)
    said = short(code, {f"{MARKET}.MarketType": market})
    answer = create_vm(wanted(reservation_id, market, instance_type_fallbacks=[SECOND]))
    assert world.instance(answer.ok()[0])["InstanceType"] == SECOND
    assert f"EC2 can't launch {FIRST} ({market}): {said.removesuffix(')')}" in answer.stderr


@pytest.mark.parametrize("fallbacks", [[], [FIRST]], ids=["no-fallback", "fallback"])
def test_no_way_out(
    create_vm: CreateVm,
    short: RefuseLaunch,
    failure: WriteError,
    left: ListResources,
    block: str,
    fallbacks: list[str],
) -> None:
    """If the fallback fails too, the error has both answers; without one it has the remedy."""
    pending = short(PENDING, {f"{MARKET}.MarketType": "capacity-block"})
    none = short("InsufficientInstanceCapacity", {"InstanceType": FIRST})
    error = create_vm(wanted(block, instance_type_fallbacks=fallbacks)).error
    listed = f"{FIRST} (capacity-block): {pending}; {FIRST} (on demand): {none}"
    assert left() == {}
    if fallbacks:
        message = f"No capacity for any of the VM's instance types. {listed}"
        assert error == failure("VMCreationFailed", message, ok_to_retry=True)
    else:
        remedy = "Wait until the capacity block begins, or add instance_type_fallbacks"
        assert error == failure("CloudError", f"{pending}. {remedy}")


def test_throttled_on_the_market(
    create_vm: CreateVm, cpi_with: CpiWith, short: RefuseLaunch, world: World, block: str
) -> None:
    """When AWS throttles the launch on the market longer than the CPI waits, the fallback is launched."""
    short("RequestLimitExceeded", {f"{MARKET}.MarketType": "capacity-block"}, 503)
    answer = create_vm(wanted(block, instance_type_fallbacks=[SECOND]), executable=cpi_with(max_retries=0))
    assert world.instance(answer.ok()[0])["InstanceType"] == SECOND


def test_ended_on_the_market(create_vm: CreateVm, fake_aws: FakeAws, sent: ReadCalls, block: str) -> None:
    """When EC2 ends the instance while it starts, as with spot, the fallback is launched."""
    fake_aws.rule(action="RunInstances", times=1, ends="Server.InternalError: Internal error on launch")
    create_vm(wanted(block, instance_type_fallbacks=[FIRST])).ok()
    tried = [(call["InstanceType"], f"{MARKET}.MarketType" in call) for call in sent("RunInstances")]
    assert tried == [(FIRST, True), (FIRST, False)]


def test_refused(create_vm: CreateVm, refused: CheckRefused) -> None:
    """A market without a reservation is refused before any AWS call."""
    reservation = {"preference": "none", "market": "capacity-block"}
    message = (
        "cloud_properties.capacity_reservation.market needs cloud_properties.capacity_reservation.id "
        "or cloud_properties.capacity_reservation.resource_group_arn, not a preference"
    )
    assert refused(create_vm({"capacity_reservation": reservation}), message) == []
