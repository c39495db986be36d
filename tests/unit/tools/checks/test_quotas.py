"""Quotas of vCPUs against what a deployment needs."""

from typing import Any

import pytest

from bosh_aws_cpi.tools.checks import quotas
from bosh_aws_cpi.tools.checks.quotas import Demand
from bosh_aws_cpi.tools.findings import Severity
from testbed.world import QUOTAS

LARGE = ("m5.large", "demand")
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
    assert quotas.quota_of(name, market, QUOTAS) == quota
    others = {each: 5.0 for each in QUOTAS if each != quota}
    assert quotas.quota_of(name, market, others) is None


@pytest.mark.parametrize(
    ("deployed", "compiling", "found"),
    [
        (2, 2, []),
        (3, 4, ["the instance groups need 6 vCPUs", "compilation.workers need 8 vCPUs"]),
    ],
)
def test_need(deployed: int, compiling: int, found: list[str]) -> None:
    """VMs that compile are deleted before instances are created: each of them alone must fit the quota."""
    demand = Demand({LARGE: deployed}, {LARGE: compiling})
    findings = list(quotas.findings(demand, {"m5.large": 2}, {STANDARD: 5.0}))
    assert [each.severity for each in findings] == [Severity.ERROR] * len(found)
    assert [each.what for each in findings] == [
        f"{words}, but the quota '{STANDARD}' is 5" for words in found
    ]


def test_sum() -> None:
    """Types of one class count together; spot counts apart."""
    vcpus = {"m5.large": 2, "c5.xlarge": 4, "t3.micro": 2}
    (error,) = quotas.findings(
        Demand({LARGE: 1, ("c5.xlarge", "demand"): 1, ("t3.micro", "spot"): 1}),
        vcpus,
        QUOTAS,
    )
    assert (error.severity, "need 6 vCPUs" in error.what) == (Severity.ERROR, True)


@pytest.mark.parametrize(("name", "what"), [("b1.large", "quota"), ("m6.large", "number of vCPUs")])
def test_unknown(name: str, what: str) -> None:
    """A type whose class or size is not known is not checked."""
    (found,) = quotas.findings(Demand({(name, "demand"): 9}), {"b1.large": 2}, QUOTAS)
    assert (found.severity, found.what) == (
        Severity.NOT_CHECKED,
        f"the vCPUs of type '{name}': its {what} is not known",
    )
