"""Placement groups, hosts, reservations, keys and quotas answer as AWS does."""

from typing import Any

import pytest

from testbed.reservations import MARKETS, reserved

ZONE, OTHER_ZONE = "us-east-1a", "us-east-1b"


def placed(**placement: str) -> dict[str, Any]:
    """Write a launch's placement in the first zone."""
    return {"Placement": {"AvailabilityZone": ZONE, **placement}}


def into(reservation_id: str) -> dict[str, Any]:
    """Write a launch's capacity reservation."""
    target = {"CapacityReservationTarget": {"CapacityReservationId": reservation_id}}
    return {**placed(), "CapacityReservationSpecification": target}


def test_partitions(ec2: Any, run: Any, refused: Any) -> None:
    """A launch's partition is one of its group's; only groups of the strategy partition have any."""
    ec2.create_placement_group(GroupName="near", Strategy="cluster")
    ec2.create_placement_group(GroupName="apart", Strategy="partition", PartitionCount=2)
    for name, number in (("near", 1), ("apart", 3)):
        with refused("InvalidParameterValue", f"partition number {number}"):
            run(Placement={"AvailabilityZone": ZONE, "GroupName": name, "PartitionNumber": number})
    assert run(Placement={"AvailabilityZone": ZONE, "GroupName": "apart", "PartitionNumber": 2})


def test_spread_group(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """A spread group takes seven running instances in a zone, none of them dedicated."""
    ec2.create_placement_group(GroupName="apart", Strategy="spread")
    ids = [run(**placed(GroupName="apart"))["InstanceId"] for _ in range(7)]
    with refused("InsufficientInstanceCapacity", "limit of instances in this spread placement group"):
        run(**placed(GroupName="apart"))
    elsewhere = {"AvailabilityZone": OTHER_ZONE, "GroupName": "apart"}
    assert run(SubnetId=world.subnet_ids[2], Placement=elsewhere)
    with refused("InvalidParameterCombination", "Dedicated Instances"):
        run(**placed(GroupName="apart", Tenancy="dedicated"))
    ec2.stop_instances(InstanceIds=ids[:1])
    assert run(**placed(GroupName="apart"))


def test_reservations(ec2: Any, run: Any, refused: Any) -> None:
    """A reservation takes as many launches of its type in its zone as it has room for, while it is active."""
    with refused("InvalidCapacityReservationId.NotFound"):
        run(**into("cr-0123456789abcdef0"))
    made = [
        ec2.create_capacity_reservation(
            InstanceType=name, InstancePlatform="Linux/UNIX", AvailabilityZone=zone, InstanceCount=1
        )["CapacityReservation"]["CapacityReservationId"]
        for name, zone in (
            ("m5.large", ZONE),
            ("m5.xlarge", ZONE),
            ("m5.large", OTHER_ZONE),
            ("m5.large", ZONE),
        )
    ]
    fit, *unfit = made
    ec2.cancel_capacity_reservation(CapacityReservationId=unfit[-1])
    for reservation_id in unfit:
        with refused("InvalidParameterValue", reservation_id):
            run(**into(reservation_id))
    shown = run(**into(fit))
    given = into(fit)["CapacityReservationSpecification"]
    assert (shown["CapacityReservationId"], shown["CapacityReservationSpecification"]) == (fit, given)
    with refused("ReservationCapacityExceeded"):
        run(**into(fit))
    active = [{"Name": "state", "Values": ["active"]}]
    listed = ec2.describe_capacity_reservations(Filters=active)["CapacityReservations"]
    free = {each["CapacityReservationId"]: each["AvailableInstanceCount"] for each in listed}
    assert free == {fit: 0, unfit[0]: 1, unfit[1]: 1}


@pytest.mark.parametrize("market", MARKETS)
def test_markets(ec2: Any, run: Any, refused: Any, market: str) -> None:
    """A reservation takes launches only on its own market, and shows of which kind it is."""
    reservation_id = reserved(ec2, "m5.large", ZONE, market=market)
    listed = ec2.describe_capacity_reservations()["CapacityReservations"]
    (shown,) = (each for each in listed if each["CapacityReservationId"] == reservation_id)
    assert shown.get("ReservationType") == ("capacity-block" if market == "capacity-block" else None)
    assert shown.get("Interruptible") == (True if market.startswith("interruptible") else None)
    for other in MARKETS:
        if other != market:
            with refused("InvalidParameterValue", reservation_id):
                run(
                    **into(reservation_id),
                    **({"InstanceMarketOptions": {"MarketType": other}} if other else {}),
                )
    assert run(
        **into(reservation_id), **({"InstanceMarketOptions": {"MarketType": market}} if market else {})
    )


def test_block_before_it_begins(ec2: Any, run: Any, refused: Any) -> None:
    """A bought block is payment-pending, then scheduled, and takes no launches until it is active."""
    market = {"InstanceMarketOptions": {"MarketType": "capacity-block"}}
    for state in ("payment-pending", "scheduled"):
        block = reserved(ec2, "m5.large", ZONE, market="capacity-block", state=state)
        shown = {
            each["CapacityReservationId"]: each
            for each in ec2.describe_capacity_reservations()["CapacityReservations"]
        }[block]
        counts = (shown["TotalInstanceCount"], shown["AvailableInstanceCount"])
        assert (shown["State"], counts) == (state, (0, 0))
        with refused("InvalidCapacityReservationState.PendingActivation", "not active yet"):
            run(**into(block), **market)
    assert run(**into(reserved(ec2, "m5.large", ZONE, market="capacity-block")), **market)
