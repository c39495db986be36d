"""What is known of instance types, from EC2 or without asking it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.type_facts import type_facts
from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan.instance_types import static_facts

if TYPE_CHECKING:
    import pytest

    from tests.unit.conftest import Ec2

NAMES = ["m5.large", "i3.large"]
STATIC = {name: static_facts(name) for name in NAMES}


def test_asked(cloud: Cloud, ec2: Ec2) -> None:
    """EC2 knows best."""
    found = [{"InstanceType": name, "BurstablePerformanceSupported": True} for name in NAMES]
    ec2.answers("describe_instance_types", {"InstanceTypes": found}, InstanceTypes=NAMES)
    assert type_facts(cloud, NAMES) == {
        name: InstanceTypeFacts(name, ebs_needs_nvme_path=False, is_burstable=True) for name in NAMES
    }


def test_unauthorised(cloud: Cloud, ec2: Ec2, program_log: pytest.LogCaptureFixture) -> None:
    """An account that may not ask gets the built-in table, and one warning that says what to do."""
    ec2.refuses("describe_instance_types", "UnauthorizedOperation", InstanceTypes=NAMES)
    assert type_facts(cloud, NAMES) == STATIC
    (record,) = program_log.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "The account may not call ec2:DescribeInstanceTypes: using a built-in table, which lacks newer "
        "types. Allow the call, or set aws.enable_describe_instance_types to false"
    )


def test_switched_off(cloud: Cloud, program_log: pytest.LogCaptureFixture) -> None:
    """An operator who switched the question off gets the table without a word."""
    aws = cloud.config.aws._replace(enable_describe_instance_types=False)
    silent = Cloud(cloud.config._replace(aws=aws), 2)
    vars(silent)["clients"] = cloud.clients
    assert type_facts(silent, NAMES) == STATIC
    assert program_log.records == []
