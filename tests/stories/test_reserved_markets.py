"""Launches in capacity reservations and on their markets, and the fallback types outside of them."""

from typing import Any

import pytest

from testbed.reservations import reserved
from testbed.world import World
from tests.stories.story import Story, below

MARKET, RESERVED = "InstanceMarketOptions", "CapacityReservationSpecification"
FIRST, SECOND = "t3.micro", "m5.large"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/reserved"
PENDING = "InvalidCapacityReservationState.PendingActivation"


@pytest.fixture
def block(world: World) -> str:
    """Return a capacity block for one instance of the first type."""
    return reserved(world.ec2, FIRST, world.zone, market="capacity-block")


def wanted(block: str, market: str = "capacity-block", **more: Any) -> dict[str, Any]:
    """Write cloud properties for a VM in it."""
    return {"instance_type": FIRST, "capacity_reservation": {"id": block, "market": market}, **more}


def test_market(story: Story, block: str) -> None:
    """The VM is launched in the reservation, on its market."""
    story.create_vm(wanted(block)).ok()
    (launch,) = story.parameters_of("RunInstances")
    assert below(launch, MARKET) == {"MarketType": "capacity-block"}
    assert below(launch, RESERVED) == {"CapacityReservationTarget.CapacityReservationId": block}


def test_full(story: Story, block: str) -> None:
    """If the reservation is full, the fallback, also of its type, is launched on demand, outside of it."""
    story.create_vm(wanted(block)).ok()
    more = wanted(block, instance_type_fallbacks=[FIRST])
    story.create_vm(more, {"a": story.network("10.0.1.11")}, agent_id="agent-2").ok()
    _, inside, outside = story.parameters_of("RunInstances")
    assert (inside["InstanceType"], outside["InstanceType"]) == (FIRST, FIRST)
    assert inside["ClientToken"] != outside["ClientToken"]
    assert below(inside, RESERVED) == {"CapacityReservationTarget.CapacityReservationId": block}
    assert (below(outside, MARKET), below(outside, RESERVED)) == ({}, {})


def test_fallback_in_a_group(story: Story) -> None:
    """A group may hold reservations of several types, so the fallback types use it too."""
    story.refuse_launch("ReservationCapacityExceeded", {"InstanceType": FIRST})
    story.create_vm(
        {
            "instance_type": FIRST,
            "instance_type_fallbacks": [SECOND],
            "capacity_reservation": {"resource_group_arn": GROUP},
        }
    ).ok()
    assert [below(launch, RESERVED) for launch in story.parameters_of("RunInstances")] == [
        {"CapacityReservationTarget.CapacityReservationResourceGroupArn": GROUP}
    ] * 2


def test_refused_on_the_market(story: Story, block: str) -> None:
    """A wrong id is the call's error: the fallback costs the on-demand price."""
    said = story.refuse_launch(
        "InvalidCapacityReservationId.NotFound", {f"{MARKET}.MarketType": "capacity-block"}
    )
    error = story.create_vm(wanted(block, instance_type_fallbacks=[SECOND])).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith(said.removesuffix(")"))
    assert len(story.parameters_of("RunInstances")) == 1
    assert story.leftovers() == {}


def test_closed(story: Story, world: World) -> None:
    """If EC2 takes the reservation back, the fallback is launched; the log has EC2's words."""
    market = "interruptible-capacity-reservation"
    reservation_id = reserved(world.ec2, FIRST, world.zone, market=market)
    said = story.refuse_launch(
        "InvalidCapacityReservationState.Unavailable", {f"{MARKET}.MarketType": market}
    )
    answer = story.create_vm(wanted(reservation_id, market, instance_type_fallbacks=[SECOND]))
    assert world.instance(answer.ok()[0])["InstanceType"] == SECOND
    assert f"EC2 can't launch {FIRST} ({market}): {said.removesuffix(')')}" in answer.stderr


def test_no_way_out(story: Story, block: str) -> None:
    """Without a fallback, the error of a capacity block that has not begun has the remedy."""
    pending = story.refuse_launch(PENDING, {f"{MARKET}.MarketType": "capacity-block"})
    remedy = "Wait until the capacity block begins, or add instance_type_fallbacks"
    assert story.create_vm(wanted(block)).error == story.failure("CloudError", f"{pending}. {remedy}")
    assert story.leftovers() == {}
