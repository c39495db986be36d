"""Facts about AWS's regions that follow from their names."""

from collections.abc import Iterable
from typing import Final

_PARTITIONS: Final = ("cn-", "us-gov-", "us-isob-", "us-isof-", "us-iso-", "eu-isoe-", "eusc-")
"""Prefixes of the regions outside the partition "aws"; AMIs can't be copied between partitions."""


def nearest(regions: Iterable[str], region: str) -> str | None:
    """The region to copy from: in the same partition, and on the same continent if there is one.

    Args:
        regions: The regions to choose from.
        region: The target region.
    """
    candidates = [name for name in regions if _partition(name) == _partition(region)]
    continent = region.partition("-")[0]
    return min(candidates, key=lambda name: (name.partition("-")[0] != continent, name), default=None)


def _partition(region: str) -> str:
    return next((prefix for prefix in _PARTITIONS if region.startswith(prefix)), "")
