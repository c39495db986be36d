"""The launch options of a VM, in the order in which they are tried."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.records import Record

Market = Literal["on-demand", "spot", "capacity-block", "interruptible-capacity-reservation"]


class LaunchOption(Record):
    """One instance type on one market, with the block devices that it gets."""

    of_type: InstanceTypeFacts
    devices: BlockDevices
    market: Market = "on-demand"
    """EC2's market type; "on-demand" stands for none."""
    is_reserved: bool = False
    """Whether it names the reservation, or the group of them, of `capacity_reservation`."""
    subnet_id: str = ""
    """The subnet of its interface, if the network has several; otherwise empty."""
    zone: str = ""
    """The zone that its subnet is in."""
    skips_placement_group: bool = False
    """Whether the VM is launched outside of its spread placement group (``spread: prefer``)."""

    @property
    def is_on_demand(self) -> bool:
        """Whether it needs no market type."""
        return self.market == "on-demand"

    @property
    def is_spot(self) -> bool:
        """Whether it is a spot launch."""
        return self.market == "spot"

    @property
    def label(self) -> str:
        """The option for messages, without its subnet: "m5.large (spot, not spread)"."""
        on_demand = "reserved" if self.is_reserved else "on demand"
        outside = ", not spread" if self.skips_placement_group else ""
        return f"{self.of_type.name} ({on_demand if self.is_on_demand else self.market}{outside})"

    @property
    def offer(self) -> tuple[str, str]:
        """The label and the zone: EC2 has capacity for both, or not."""
        return self.label, self.zone

    def __str__(self) -> str:
        return f"{self.label} in {self.subnet_id}" if self.subnet_id else self.label


def launch_options(
    properties: VmProperties, types: Mapping[str, tuple[InstanceTypeFacts, BlockDevices]]
) -> list[LaunchOption]:
    """The launch options.

    Those on spot come first: another type on spot is preferred to the on-demand price. A reservation takes
    only its own type (EC2 user guide, "Launch instances into an existing Capacity Reservation"), so with its
    id only the first type is launched in it, and the others, which may include the first, on demand. So they
    are with a market, because a full group of such reservations does not lead to on-demand capacity (the same
    guide, "Launch instances into Capacity Reservations in a group").

    Args:
        properties: The VM's.
        types: The facts and the block devices of its instance types, by name.
    """
    return [
        LaunchOption(*types[name], market, is_reserved) for name, market, is_reserved in _order(properties)
    ]


def _order(properties: VmProperties) -> Iterator[tuple[str, Market, bool]]:
    """Instance type, market, and whether it is reserved, of each launch option."""
    names, reservation = properties.instance_types, properties.capacity_reservation
    if properties.is_spot:
        yield from ((name, "spot", False) for name in names)
        if properties.spot_ondemand_fallback:
            yield from ((name, "on-demand", False) for name in names)
    elif reservation and (reservation.id or reservation.market):
        yield names[0], reservation.market or "on-demand", True
        fallbacks = dict.fromkeys(properties.instance_type_fallbacks)
        yield from ((name, "on-demand", False) for name in fallbacks)
    else:
        is_reserved = reservation is not None and reservation.resource_group_arn is not None
        yield from ((name, "on-demand", is_reserved) for name in names)


def prefer_spread(options: Sequence[LaunchOption]) -> list[LaunchOption]:
    """The launch options for ``spread: prefer``: each in the placement group, then outside of it.

    So a VM gives up its place in the group before its instance type, its market or its reservation. A type
    that EC2 launches into no such group is launched outside only.
    """
    both = (each for option in options for each in (option, option.replace(skips_placement_group=True)))
    return [each for each in both if each.skips_placement_group or "spread" not in each.of_type.lacks]


def in_subnets(options: Sequence[LaunchOption], subnets: Mapping[str, str], zone: str) -> list[LaunchOption]:
    """The launch options for a network with several subnets: each option in one subnet after the other.

    All options are tried in a zone before the first one is tried in the next zone.

    Args:
        options: The options.
        subnets: The subnets' zones, by id, in the order in which to try them.
        zone: The zone of the options if there are no such subnets.
    """
    if not subnets:
        return [each.replace(zone=zone) for each in options]
    zones = list(subnets.values())
    placed = [each.replace(subnet_id=subnet, zone=subnets[subnet]) for each in options for subnet in subnets]
    return sorted(placed, key=lambda option: zones.index(option.zone))
