"""Capacity blocks and interruptible reservations, which are markets of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.world import World
    from tests.protocols import CheckRefused, CreateVm, ReadCalls, RefuseLaunch

MARKET, RESERVED = "InstanceMarketOptions", "CapacityReservationSpecification"
FIRST, SECOND = "t3.micro", "m5.large"


@pytest.fixture
def block(world: World) -> str:
    """Return a reservation for one instance of the first type."""
    answer = world.ec2.create_capacity_reservation(
        InstanceType=FIRST, InstancePlatform="Linux/UNIX", AvailabilityZone=world.zone, InstanceCount=1
    )
    return str(answer["CapacityReservation"]["CapacityReservationId"])


def wanted(block: str, market: str = "capacity-block", **more: Any) -> dict[str, Any]:
    """Write cloud properties for a VM in it."""
    return {"instance_type": FIRST, "capacity_reservation": {"id": block, "market": market}, **more}


@pytest.mark.parametrize("market", ["capacity-block", "interruptible-capacity-reservation"])
def test_market(
    create_vm: CreateVm,
    sent: ReadCalls,
    below: Callable[[dict[str, str], str], dict[str, str]],
    block: str,
    market: str,
) -> None:
    """The VM is launched in the reservation, on its market."""
    create_vm(wanted(block, market)).ok()
    (launch,) = sent("RunInstances")
    assert below(launch, MARKET) == {"MarketType": market}
    assert below(launch, RESERVED) == {"CapacityReservationTarget.CapacityReservationId": block}


def test_full(
    create_vm: CreateVm,
    short: RefuseLaunch,
    sent: ReadCalls,
    below: Callable[[dict[str, str], str], dict[str, str]],
    world: World,
    block: str,
) -> None:
    """When the reservation is full, the fallback types are launched on demand, outside of it."""
    short("ReservationCapacityExceeded", {"InstanceType": FIRST})
    vm_cid = create_vm(wanted(block, instance_type_fallbacks=[SECOND])).ok()[0]
    assert world.instance(vm_cid)["InstanceType"] == SECOND
    _, launch = sent("RunInstances")
    assert (below(launch, MARKET), below(launch, RESERVED)) == ({}, {})


@pytest.mark.parametrize(
    ("reservation", "message"),
    [
        (
            {"market": "capacity-block"},
            (
                "cloud_properties.capacity_reservation must hold exactly one of: "
                "id, resource_group_arn, preference"
            ),
        ),
        (
            {"preference": "none", "market": "capacity-block"},
            "cloud_properties.capacity_reservation.market needs capacity_reservation.id",
        ),
        (
            {"id": "cr-1", "market": "block"},
            (
                "Invalid properties: cloud_properties.capacity_reservation.market: Input should be "
                "'capacity-block' or 'interruptible-capacity-reservation', got String"
            ),
        ),
    ],
)
def test_refused(
    create_vm: CreateVm, refused: CheckRefused, reservation: dict[str, str], message: str
) -> None:
    """A market without a reservation, or one that does not exist, is refused before any AWS call."""
    assert refused(create_vm({"capacity_reservation": reservation}), message) == []
