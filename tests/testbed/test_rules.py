"""Rules: errors, and a call that comes after its test."""

import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError

from testbed.cloud import FakeAws


@pytest.mark.parametrize(
    ("service", "action", "call"),
    [
        ("ec2", "DescribeVpcs", "describe_vpcs"),
        ("elb", "DescribeLoadBalancers", "describe_load_balancers"),
        ("elbv2", "DescribeTargetGroups", "describe_target_groups"),
        ("sts", "GetCallerIdentity", "get_caller_identity"),
    ],
)
def test_error(fake_aws: FakeAws, service: str, action: str, call: str) -> None:
    """An error is written as the service writes it."""
    client = fake_aws.client(service)
    fake_aws.refuse(action, "Busy", "a < b", 503)
    with pytest.raises(ClientError) as caught:
        getattr(client, call)()
    response: Any = caught.value.response
    assert response["Error"]["Code"] == "Busy"
    assert response["Error"]["Message"] == "a < b"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert response["ResponseMetadata"]["RequestId"]
    fake_aws.clear_rules()
    getattr(client, call)()


def test_late_call(fake_aws: FakeAws, ec2: Any) -> None:
    """A call that is held until everything is deleted has no effect on the next test."""
    fake_aws.rule(action="CreateVpc", hold_before=True)
    errors = []

    def call() -> None:
        with pytest.raises(ClientError) as caught:
            ec2.create_vpc(CidrBlock="10.9.0.0/16")
        errors.append(caught.value.response["ResponseMetadata"]["HTTPStatusCode"])

    thread = threading.Thread(target=call)
    thread.start()
    assert fake_aws.wait_until_held() == ["CreateVpc"]
    fake_aws.reset()
    fake_aws.lay()
    thread.join()
    assert errors == [500]
    assert "10.9.0.0/16" not in [vpc["CidrBlock"] for vpc in ec2.describe_vpcs()["Vpcs"]]
