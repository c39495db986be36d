"""The launch options of a VM, in the order in which they are tried."""

from collections.abc import Sequence
from dataclasses import dataclass

from bosh_aws_cpi.model import BlockDevices, InstanceTypeFacts


@dataclass(frozen=True)
class LaunchOption:
    """One instance type on one market, with the block devices that it gets."""

    facts: InstanceTypeFacts
    devices: BlockDevices
    is_spot: bool
    market: str = ""
    """EC2's market type of the reservation that it is launched in: "capacity-block"; otherwise empty."""

    def __str__(self) -> str:
        return f"{self.facts.name} ({self.market or ('spot' if self.is_spot else 'on demand')})"


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
