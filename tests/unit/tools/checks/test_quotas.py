"""Quotas of vCPUs against what a deployment needs."""

from bosh_aws_cpi.tools.checks import account_findings
from bosh_aws_cpi.tools.findings import Severity
from testbed.world import QUOTAS

LARGE = ("m5.large", "demand")


def test_sum() -> None:
    """Types of one class count together; spot counts apart; a type of no known class is left out.

    A class may be of some generations of a family only.
    """
    vcpus = {"m5.large": 2, "c5.xlarge": 4, "t3.micro": 2, "b1.large": 2, "p5.48xlarge": 192}
    needed = {LARGE: 1, ("c5.xlarge", "demand"): 1, ("t3.micro", "spot"): 1, ("b1.large", "demand"): 9}
    needed[("p5.48xlarge", "spot")] = 1
    error, of_generation = account_findings.over_quota("the groups need", needed, vcpus, QUOTAS)
    assert (error.severity, "need 6 vCPUs" in error.what) == (Severity.ERROR, True)
    assert "need 192 vCPUs, but the quota 'All P5 Spot Instance Requests' is 0" in of_generation.what
