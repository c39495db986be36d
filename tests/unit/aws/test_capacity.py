"""The quotas that instance types count against."""

from typing import Any

import pytest

from bosh_aws_cpi.aws import capacity
from testbed.world import QUOTAS

STANDARD = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
ON_DEMAND = "Running On-Demand {} instances"


@pytest.mark.parametrize(
    ("name", "market", "quota"),
    [
        ("m5.large", "demand", STANDARD),
        ("im4gn.large", "demand", STANDARD),
        ("gr6.4xlarge", "demand", ON_DEMAND.format("G and VT")),
        ("vt1.3xlarge", "demand", ON_DEMAND.format("G and VT")),
        ("u-6tb1.56xlarge", "demand", ON_DEMAND.format("High Memory")),
        ("b1.large", "demand", None),
        ("m5.large", "spot", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"),
        ("p4d.24xlarge", "spot", "All P4, P3 and P2 Spot Instance Requests"),
        ("p5.48xlarge", "spot", "All P5 Spot Instance Requests"),
        ("p6-b200.48xlarge", "spot", None),
    ],
)
def test_class(name: str, market: Any, quota: str | None) -> None:
    """A type counts against the class that names its family, and against no other if that is not listed."""
    assert capacity.quota_of(name, market, QUOTAS) == quota
    others = {each: 5.0 for each in QUOTAS if each != quota}
    assert capacity.quota_of(name, market, others) is None
