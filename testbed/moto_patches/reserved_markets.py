"""Capacity reservations with a market type of their own: capacity blocks, and interruptible reservations."""

from collections.abc import Sequence
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses.general import General
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.utils import random_resource_id

from testbed.moto_patches import states
from testbed.moto_patches.patching import Original, Patches, parameter, refuse
from testbed.moto_patches.placement import BEFORE_ACTIVE, kept

PATCHES = Patches()


class Reservation(dict[str, Any]):
    """A reservation, and the states that it goes through."""

    testbed_count: int
    testbed_course: states.Course

    def enter(self, state: str, _: str) -> None:
        """Show a state: no instances before active.

        User guide, "View Capacity Blocks": before it begins, "the available capacity appears as zero". A test
        of hashicorp's provider for AWS, of aws_ec2_capacity_block_reservation, says so of the total.
        """
        count = self.testbed_count if state == "active" else 0
        self |= {"State": state, "TotalInstanceCount": count, "AvailableInstanceCount": count}


def keep(
    response: Any, reservation: dict[str, Any], count: int, before: Sequence[str] = ()
) -> dict[str, Any]:
    """Add a reservation that goes through these states before it is active."""
    whole = Reservation({**reservation, "CapacityReservationId": f"cr-{random_resource_id(17)}"})
    whole.testbed_count = count
    states.begin(whole, "active", whole.enter, before=before)
    kept(response, "reservations")[whole["CapacityReservationId"]] = whole
    return whole


@PATCHES.adding(General, "purchase_capacity_block")
def purchased_block(response: Any) -> Any:
    """EC2 creates a reservation of the type capacity-block (API model, CapacityReservationType); moto can't.

    User guide, "View Capacity Blocks": it is payment-pending, then scheduled, and active when it begins. Here
    it begins when somebody has looked at each of these states, is for one instance in the first zone, and an
    offering's id is cb- and the type. "Capacity Blocks for ML", supported platforms: the tenancy is default.
    """
    reservation = {
        "InstanceType": parameter(response, "CapacityBlockOfferingId").removeprefix("cb-"),
        "AvailabilityZone": f"{response.region}a",
        "ReservationType": "capacity-block",
        "Tenancy": "default",
        "OwnerId": response.current_account,
    }
    bought = keep(response, reservation, 1, BEFORE_ACTIVE)
    return ActionResult({"CapacityReservation": bought})


@PATCHES.adding(General, "create_interruptible_capacity_reservation_allocation")
def allocated(response: Any) -> Any:
    """EC2 creates an interruptible reservation from the free capacity of another one; moto can't.

    The API model, CapacityReservation: the new one has Interruptible, the other one names it.
    """
    source_id, count = parameter(response, "CapacityReservationId"), int(parameter(response, "InstanceCount"))
    source = kept(response, "reservations")[source_id]
    source["AvailableInstanceCount"] -= count
    interruptible = keep(response, {**source, "Interruptible": True}, count)
    source["InterruptibleCapacityAllocation"] = {
        "InstanceCount": count,
        "InterruptibleCapacityReservationId": interruptible["CapacityReservationId"],
    }
    return ActionResult({"SourceCapacityReservationId": source_id, "TargetInstanceCount": count})


@PATCHES.around(InstanceResponse, "run_instances")
def launched_on_its_market(original: Original, response: Any) -> Any:
    """EC2 refuses a launch in a reservation on another market than the reservation's; moto knew no markets.

    User guide, "Launch instances using Capacity Blocks", "Interruptible Capacity Reservations for capacity
    consumers": the launch names the market type and the reservation. "Launch instances into Capacity
    Reservations in a group": capacity blocks take no placement group. The codes are guesses.
    """
    specification = parameter(response, "CapacityReservationSpecification", {})
    wanted = specification.get("CapacityReservationTarget", {}).get("CapacityReservationId")
    reservation = kept(response, "reservations").get(wanted, {})
    given = parameter(response, "InstanceMarketOptions.MarketType")
    if reservation and given != market_of(reservation):
        refuse(
            "InvalidParameterValue", f"The capacity reservation '{wanted}' is not for the market '{given}'"
        )
    if given == "capacity-block" and parameter(response, "Placement.GroupName"):
        refuse("InvalidParameterCombination", "Capacity Blocks do not support placement groups.")
    return original(response)


def market_of(reservation: dict[str, Any]) -> str | None:
    """The market type for launches in a reservation; None for an ordinary one."""
    if reservation.get("ReservationType") == "capacity-block":
        return "capacity-block"
    return "interruptible-capacity-reservation" if reservation.get("Interruptible") else None
