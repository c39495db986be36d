"""Creates capacity reservations of all kinds, as their owners do."""

from typing import Any

MARKETS = ("", "capacity-block", "interruptible-capacity-reservation")
"""EC2's market types of reservations; an ordinary one has none."""


def reserved(ec2: Any, instance_type: str, zone: str, *, market: str = "", state: str = "active") -> str:
    """Reserve one instance; returns the reservation's id."""
    platform = {"InstancePlatform": "Linux/UNIX"}
    if market == "capacity-block":
        bought = ec2.purchase_capacity_block(CapacityBlockOfferingId=f"cb-{instance_type}", **platform)
        block = bought["CapacityReservation"]
        while block["State"] != state:
            ids = [block["CapacityReservationId"]]
            (block,) = ec2.describe_capacity_reservations(CapacityReservationIds=ids)["CapacityReservations"]
        return str(block["CapacityReservationId"])
    where = {"InstanceType": instance_type, "AvailabilityZone": zone}
    ordinary = ec2.create_capacity_reservation(**where, **platform, InstanceCount=1)["CapacityReservation"]
    source_id: str = ordinary["CapacityReservationId"]
    if not market:
        return source_id
    ec2.create_interruptible_capacity_reservation_allocation(CapacityReservationId=source_id, InstanceCount=1)
    (source,) = (
        each
        for each in ec2.describe_capacity_reservations()["CapacityReservations"]
        if each["CapacityReservationId"] == source_id
    )
    return str(source["InterruptibleCapacityAllocation"]["InterruptibleCapacityReservationId"])
