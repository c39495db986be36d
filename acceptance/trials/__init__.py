"""The trials: one function for each assumption that can be tried, grouped by AWS's resources."""

from acceptance.trials import (
    balancers,
    blocks,
    disks,
    errors,
    images,
    interfaces,
    launches,
    other_vpcs,
    placement_groups,
    quotas,
    subnets,
    tokens,
)
from acceptance.trials.trial import Trial

MODULES = (
    errors,
    interfaces,
    subnets,
    other_vpcs,
    quotas,
    blocks,
    disks,
    balancers,
    placement_groups,
    launches,
    tokens,
    images,
)
"""Cheap ones first; those that take minutes last."""


def trials() -> dict[str, Trial]:
    """Return all trials by the ids of their assumptions, in the order in which they are run."""
    return {trial.name: trial for module in MODULES for trial in module.TRIALS.all}
