"""Quotas of vCPUs against what a deployment needs."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.tools.checks import quotas
from bosh_aws_cpi.tools.checks.quotas import Demand, Instances
from bosh_aws_cpi.tools.findings import Severity
from testbed.moto_patches.quotas import QUOTAS

STANDARD = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"


@pytest.mark.parametrize(
    ("name", "quota"),
    [
        ("m5.large", STANDARD),
        ("t3.micro", STANDARD),
        ("im4gn.large", STANDARD),
        ("is4gen.medium", STANDARD),
        ("i3en.large", STANDARD),
        ("g5.xlarge", "Running On-Demand G and VT instances"),
        ("gr6.4xlarge", "Running On-Demand G and VT instances"),
        ("vt1.3xlarge", "Running On-Demand G and VT instances"),
        ("inf2.xlarge", "Running On-Demand Inf instances"),
        ("trn1.2xlarge", "Running On-Demand Trn instances"),
        ("dl2q.24xlarge", "Running On-Demand DL instances"),
        ("d3.xlarge", STANDARD),
        ("hpc7a.96xlarge", "Running On-Demand HPC instances"),
        ("h1.2xlarge", STANDARD),
        ("p5en.48xlarge", "Running On-Demand P instances"),
        ("x2gd.medium", "Running On-Demand X instances"),
        ("f2.6xlarge", "Running On-Demand F instances"),
        ("u-6tb1.56xlarge", "Running On-Demand High Memory instances"),
        ("u7i-12tb.224xlarge", "Running On-Demand High Memory instances"),
        ("mac2.metal", STANDARD),
        ("5.large", None),
        ("b1.large", None),
    ],
)
def test_on_demand(name: str, quota: str | None) -> None:
    """A type counts against the class that names its family; im4gn and gr6 against that of their letter."""
    assert quotas.quota_of(name, "demand", QUOTAS) == quota


@pytest.mark.parametrize(
    ("name", "quota"),
    [
        ("m5.large", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"),
        ("p4d.24xlarge", "All P4, P3 and P2 Spot Instance Requests"),
        ("p5.48xlarge", "All P5 Spot Instance Requests"),
        ("p6-b200.48xlarge", None),
        ("u-6tb1.56xlarge", None),
    ],
)
def test_spot(name: str, quota: str | None) -> None:
    """Spot has classes of its own, some of them for generations; some families have none."""
    assert quotas.quota_of(name, "spot", QUOTAS) == quota


@pytest.mark.parametrize(
    ("count", "severities"),
    [(2, []), (3, [Severity.NOTE]), (4, [Severity.ERROR])],
    ids=["four-fifths", "more", "too-many"],
)
def test_need(count: int, severities: list[Severity]) -> None:
    """A need beyond the quota is an error, and one beyond four fifths of it a note."""
    found = list(quotas.findings(Demand(Instances({"m5.large": count})), {"m5.large": 2}, {STANDARD: 7.0}))
    assert [each.severity for each in found] == severities
    assert all(f"{2 * count} vCPUs" in each.what and STANDARD in each.what for each in found)


@pytest.mark.parametrize(
    ("deployed", "compiling", "found"),
    [
        (2, 1, [(Severity.NOTE, "together need 6 vCPUs")]),
        (3, 1, [(Severity.ERROR, "the instance groups need 6 vCPUs")]),
        (1, 3, [(Severity.ERROR, "compilation.workers need 6 vCPUs")]),
        (
            3,
            4,
            [
                (Severity.ERROR, "the instance groups need 6 vCPUs"),
                (Severity.ERROR, "compilation.workers need 8 vCPUs"),
            ],
        ),
    ],
)
def test_compilation(deployed: int, compiling: int, found: list[tuple[Severity, str]]) -> None:
    """VMs that compile are deleted before instances are created: only each of them alone is an error."""
    demand = Demand(Instances({"m5.large": deployed}), Instances({"m5.large": compiling}))
    findings = list(quotas.findings(demand, {"m5.large": 2}, {STANDARD: 5.0}))
    assert len(findings) == len(found)
    for finding, (severity, words) in zip(findings, found, strict=True):
        assert (finding.severity, words in finding.what) == (severity, True), finding


def test_sum() -> None:
    """Types of one class count together; spot counts apart."""
    vcpus = {"m5.large": 2, "c5.xlarge": 4, "t3.micro": 2}
    (error,) = quotas.findings(
        Demand(Instances({"m5.large": 1, "c5.xlarge": 1}, {"t3.micro": 1})), vcpus, QUOTAS
    )
    assert (error.severity, "need 6 vCPUs" in error.what) == (Severity.ERROR, True)


@pytest.mark.parametrize(("name", "what"), [("b1.large", "quota"), ("m6.large", "number of vCPUs")])
def test_unknown(name: str, what: str) -> None:
    """A type whose class or size is not known is not checked."""
    (found,) = quotas.findings(Demand(Instances({name: 9}), Instances({name: 1})), {"b1.large": 2}, QUOTAS)
    assert (found.severity, found.what) == (
        Severity.NOT_CHECKED,
        f"the vCPUs of type '{name}': its {what} is not known",
    )
