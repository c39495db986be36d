"""Quotas of vCPUs against what a deployment needs."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.aws.instance_types import Reservation
from bosh_aws_cpi.tools.checks import quotas
from bosh_aws_cpi.tools.checks.quotas import OPEN, Demand, InstanceKind
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
        ("mac2.metal", None),
        ("trn2u.48xlarge", "Running On-Demand Trn instances"),
        ("5.large", None),
        ("b1.large", None),
    ],
)
def test_on_demand(name: str, quota: str | None) -> None:
    """A type counts against the class that names its family, and against no other if that is not listed."""
    assert quotas.quota_of(name, "demand", QUOTAS) == quota
    others = {each: 5.0 for each in QUOTAS if each != quota}
    assert quotas.quota_of(name, "demand", others) is None


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
    found = list(quotas.findings(Demand({InstanceKind("m5.large"): count}), {"m5.large": 2}, {STANDARD: 7.0}))
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
    demand = Demand({InstanceKind("m5.large"): deployed}, {InstanceKind("m5.large"): compiling})
    findings = list(quotas.findings(demand, {"m5.large": 2}, {STANDARD: 5.0}))
    assert len(findings) == len(found)
    for finding, (severity, words) in zip(findings, found, strict=True):
        assert (finding.severity, words in finding.what) == (severity, True), finding


def test_sum() -> None:
    """Types of one class count together; spot counts apart."""
    vcpus = {"m5.large": 2, "c5.xlarge": 4, "t3.micro": 2}
    (error,) = quotas.findings(
        Demand(
            {InstanceKind("m5.large"): 1, InstanceKind("c5.xlarge"): 1, InstanceKind("t3.micro", "spot"): 1}
        ),
        vcpus,
        QUOTAS,
    )
    assert (error.severity, "need 6 vCPUs" in error.what) == (Severity.ERROR, True)


@pytest.mark.parametrize(("name", "what"), [("b1.large", "quota"), ("m6.large", "number of vCPUs")])
def test_unknown(name: str, what: str) -> None:
    """A type whose class or size is not known is not checked."""
    (found,) = quotas.findings(
        Demand({InstanceKind(name): 9}, {InstanceKind(name): 1}), {"b1.large": 2}, QUOTAS
    )
    assert (found.severity, found.what) == (
        Severity.NOT_CHECKED,
        f"the vCPUs of type '{name}': its {what} is not known",
    )


def test_reservations() -> None:
    """A reservation holds the VMs that name it, then those of its type that use any open one."""
    named, anywhere, nowhere = (InstanceKind("m5.large", reservation=name) for name in ("cr-1", OPEN, ""))
    spot, other, elsewhere = (
        InstanceKind("m5.large", "spot"),
        InstanceKind("m5.xlarge"),
        InstanceKind("m5.large", reservation="cr-2"),
    )
    whole = dict.fromkeys((anywhere, named, nowhere, spot, other, elsewhere), 3)
    left = dict.fromkeys((nowhere, spot, other, elsewhere), 3)
    expected = {(4, True): {**left, anywhere: 2}, (4, False): {**left, anywhere: 3}}
    expected |= {(2, True): {**left, named: 1, anywhere: 3}, (9, True): left}
    for (total, is_open), rest in expected.items():
        shared = Reservation("active", "us-east-1a", "m5.large", "default", total, 0, "", "1", is_open)
        assert Demand(whole, whole).without({"cr-1": shared}) == Demand(rest, rest)
