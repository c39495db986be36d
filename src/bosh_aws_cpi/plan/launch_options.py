"""The launch options of a VM, in the order in which they are tried."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bosh_aws_cpi.model import BlockDevices, InstanceTypeFacts


@dataclass(frozen=True)
class LaunchOption:
    """One instance type on one market, with the block devices that it gets."""

    facts: InstanceTypeFacts
    devices: BlockDevices
    is_spot: bool
    market: str = ""
    """EC2's market type of the reservation that it is launched in: "capacity-block"; otherwise empty."""
    subnet_id: str = ""
    """The subnet of its interface, if the network has several; otherwise empty."""

    @property
    def way(self) -> str:
        """Instance type and market, without the subnet."""
        return f"{self.facts.name} ({self.market or ('spot' if self.is_spot else 'on demand')})"

    def __str__(self) -> str:
        return f"{self.way} in {self.subnet_id}" if self.subnet_id else self.way


def launch_options(
    types: Sequence[tuple[InstanceTypeFacts, BlockDevices]],
    *,
    is_spot: bool,
    falls_back_to_demand: bool,
    market: str = "",
) -> list[LaunchOption]:
    """The launch options; those on spot come first: another type on spot is preferred to the on-demand price.

    Args:
        types: The instance types in their order, each with its block devices.
        is_spot: Whether a spot price is set.
        falls_back_to_demand: Whether on-demand launches are tried after the spot launches have failed.
        market: The market type of a reservation, which is for the first type only: the others are launched
            on demand.
    """
    if market:
        first, *others = types
        return [
            LaunchOption(*first, is_spot=False, market=market),
            *(LaunchOption(*each, is_spot=False) for each in others),
        ]
    markets = [True, False] if is_spot and falls_back_to_demand else [is_spot]
    return [LaunchOption(facts, devices, market) for market in markets for facts, devices in types]


def in_subnets(options: Sequence[LaunchOption], subnets: Sequence[str]) -> list[LaunchOption]:
    """The launch options for a network with several subnets: each option in one subnet after the other.

    Args:
        options: The options.
        subnets: The subnets' ids, in the order in which to try them; with a single one, the options remain
            as they are.
    """
    if len(subnets) == 1:
        return list(options)
    return [replace(option, subnet_id=subnet) for option in options for subnet in subnets]
