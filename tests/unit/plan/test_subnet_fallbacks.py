"""The order of the subnets of a dynamic network."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.model import NicPlan, Subnet
from bosh_aws_cpi.plan.subnet_fallbacks import subnet_order


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        ([5, 5, 5], ["a", "b", "c"]),
        ([0, 5, 0], ["b", "a", "c"]),
        ([1, 250, 0], ["a", "b", "c"]),
        ([0, 0, 0], ["a", "b", "c"]),
        ([None, None, None], ["a", "b", "c"]),
    ],
)
def test_order(free: list[int | None], expected: list[str]) -> None:
    """Subnets without a free address come last; otherwise the order is that of the properties."""
    plan = NicPlan("n", ["n"], "a", "dynamic", fallback_subnets=("b", "c"))
    found = {name: Subnet(name, "vpc-1", "z", free=count) for name, count in zip("abc", free, strict=True)}
    assert subnet_order(plan, found) == expected
