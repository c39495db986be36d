"""What the cloud properties of a VM need of each other, and which exclude each other."""

from typing import Final

NEEDS: Final = (("placement_partition", "placement_group"),)
"""Properties that mean nothing without another one."""
_EITHER: Final = "remove one of them"
EXCLUSIVE: Final = (
    ("spot_bid_price", "capacity_reservation", _EITHER),
    # EC2 user guide, "Capacity Reservations", limitations.
    ("capacity_reservation", "dedicated_host", "a VM on a Dedicated Host can't use a Capacity Reservation"),
    ("tenancy: dedicated", "dedicated_host", _EITHER),
    # EC2 API reference, SpotPlacement: host tenancy "is not supported for Spot Instances".
    ("spot_bid_price", "dedicated_host", "a spot VM can't run on a Dedicated Host"),
    # EC2 user guide, "Placement groups", rules and limitations.
    ("placement_group", "dedicated_host", "a Dedicated Host can't be in a placement group"),
    # The same page, spread placement groups. It allows Dedicated Instances in no spread placement group.
    ("spread", "placement_group", "a VM can be in only one placement group"),
    ("spread", "dedicated_host", "a Dedicated Host can't be in a placement group"),
    ("spread", "tenancy: dedicated", "EC2 spreads no VMs on dedicated hardware"),
    # EC2 user guide, "Launch instances into Capacity Reservations in a group". Instances in any placement
    # group can use other reservations (the same guide, "Placement group rules and limitations").
    ("market: capacity-block", "placement_group", "a Capacity Block can't be used with a placement group"),
    ("market: capacity-block", "spread", "a Capacity Block can't be used with a placement group"),
    # The same guide, "Capacity Blocks for ML", supported platforms.
    ("market: capacity-block", "tenancy: dedicated", "Capacity Blocks have the tenancy default"),
    # EC2 API reference, HibernationOptionsRequest and RunInstances: EC2 can't terminate an interrupted spot
    # instance with hibernation, as BOSH needs it; enclaves and hibernation exclude each other.
    (
        "hibernation",
        "spot_bid_price",
        "EC2 would hibernate an interrupted spot VM, but BOSH needs it terminated",
    ),
    ("hibernation", "enclave", _EITHER),
)
"""Properties of which a VM can have one, and why."""
