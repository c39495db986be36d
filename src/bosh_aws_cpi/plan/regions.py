"""AWS's regions, as far as their names tell."""

from collections.abc import Iterable
from typing import Final

_PARTITIONS: Final = ("cn-", "us-gov-", "us-isob-", "us-isof-", "us-iso-", "eu-isoe-", "eusc-")
"""How the regions of the partitions begin that are not the ordinary one; nothing is copied between them."""


def nearest(regions: Iterable[str], region: str) -> str | None:
    """The region to copy from: of the same partition, and of the same continent if there is one.

    Args:
        regions: Those that something is in.
        region: The one that it is to come to.
    """
    candidates = [name for name in regions if _partition(name) == _partition(region)]
    continent = region.partition("-")[0]
    return min(candidates, key=lambda name: (name.partition("-")[0] != continent, name), default=None)


def _partition(region: str) -> str:
    return next((prefix for prefix in _PARTITIONS if region.startswith(prefix)), "")
