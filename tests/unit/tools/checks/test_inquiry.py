"""What `cpi check` does about calls that AWS throttles."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.error_codes import THROTTLED
from bosh_aws_cpi.tools.checks.account.inquiry import Inquiry
from bosh_aws_cpi.tools.findings import Severity


@pytest.mark.parametrize("code", sorted(THROTTLED))
def test_throttled(code: str) -> None:
    """A service that throttles to the end is not called again; other services are."""
    asked = []

    def throttled() -> str:
        asked.append("ec2")
        raise ClientError({"Error": {"Code": code, "Message": "slow down"}}, "DescribeKeyPairs")

    aws: Any = SimpleNamespace(role_arn=None)
    inquiry = Inquiry(aws)
    assert inquiry.ask("ec2", "key pairs", throttled) is None
    assert inquiry.ask("ec2", "hosts", throttled) is None
    assert inquiry.ask("iam", "instance profiles", lambda: "bosh") == "bosh"
    assert asked == ["ec2"]
    why = f"ec2: throttled: DescribeKeyPairs failed with {code}: slow down"
    for what, found in zip(("key pairs", "hosts"), inquiry.not_checked, strict=True):
        assert (found.severity, found.remedy) == (Severity.NOT_CHECKED, "Repeat this command later")
        assert found.what.startswith(f"{what}: {why}")
