"""What EC2 says of instance types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import instance_types
from bosh_aws_cpi.model import InstanceTypeFacts

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2

TYPE = {"InstanceTypes": ["m5.large"]}


@pytest.mark.parametrize(
    ("entry", "nvme"),
    [
        ({"EbsInfo": {"NvmeSupport": "required"}}, True),
        ({"EbsInfo": {"NvmeSupport": "supported"}}, False),
        ({"EbsInfo": {"NvmeSupport": "unsupported"}}, False),
        ({}, False),
    ],
)
def test_facts(ec2: Ec2, entry: dict[str, Any], *, nvme: bool) -> None:
    """EBS volumes have NVMe names where EC2 says that NVMe is required."""
    ec2.answers("describe_instance_types", {"InstanceTypes": [entry]}, **TYPE)
    assert instance_types.facts(ec2.client, "m5.large") == InstanceTypeFacts("m5.large", nvme)


@pytest.mark.parametrize("code", [None, "InvalidInstanceType", "InvalidParameterValue"])
def test_unknown_type(ec2: Ec2, program_log: pytest.LogCaptureFixture, code: str | None) -> None:
    """A type that EC2 does not know is warned about and taken as one without NVMe."""
    if code is None:
        ec2.answers("describe_instance_types", {"InstanceTypes": []}, **TYPE)
    else:
        ec2.refuses("describe_instance_types", code, **TYPE)
    assert instance_types.facts(ec2.client, "m5.large").ebs_needs_nvme_path is False
    assert [(record.levelname, record.getMessage()) for record in program_log.records] == [
        ("WARNING", "EC2 does not know instance type 'm5.large': taken as one without NVMe")
    ]


def test_other_refusals(ec2: Ec2) -> None:
    """Any other refusal goes on as it is."""
    ec2.refuses("describe_instance_types", "UnauthorizedOperation", **TYPE)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        instance_types.facts(ec2.client, "m5.large")
