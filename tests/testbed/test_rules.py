"""The record of calls, and rules."""

import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

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
    fake_aws.rule(action=action, error={"code": "Busy", "message": "a < b", "status": 503})
    with pytest.raises(ClientError) as caught:
        getattr(client, call)()
    response: Any = caught.value.response
    assert response["Error"]["Code"] == "Busy"
    assert response["Error"]["Message"] == "a < b"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert response["ResponseMetadata"]["RequestId"]
    fake_aws.clear_rules()
    getattr(client, call)()


@pytest.mark.parametrize(("when", "made"), [("before", 0), ("after", 1), ("reset", 1)])
def test_drop(fake_aws: FakeAws, ec2: Any, world: Any, when: str, made: int) -> None:
    """A connection is closed without an answer, before or after the call has its effect, or reset."""
    fake_aws.rule(action="CreateVolume", times=1, drop=when)
    with pytest.raises(ConnectionClosedError):
        ec2.create_volume(AvailabilityZone=world.zone, Size=1)
    assert len(world.state()["volumes"]) == made
    ec2.create_volume(AvailabilityZone=world.zone, Size=1)
    assert len(world.state()["volumes"]) == made + 1


def statuses(fake_aws: FakeAws, ec2: Any, count: int) -> list[int]:
    """Make some calls and list the statuses of their answers."""
    fake_aws.forget_calls()
    for _ in range(count):
        try:
            ec2.describe_vpcs()
        except ClientError:
            continue
    return [call["status"] for call in fake_aws.calls()]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"nth": 2}, [200, 400, 200, 200]),
        ({"nth": 2, "times": 2}, [200, 400, 400, 200]),
        ({"times": 1}, [400, 200, 200, 200]),
        ({}, [400, 400, 400, 400]),
        ({"where": {"VpcId.1": "vpc-1"}}, [200, 200, 200, 200]),
    ],
)
def test_which_calls(fake_aws: FakeAws, ec2: Any, rule: dict[str, Any], expected: list[int]) -> None:
    """A rule fires at the calls that it is for."""
    fake_aws.rule(action="DescribeVpcs", error={"code": "X", "message": "Y"}, **rule)
    assert statuses(fake_aws, ec2, 4) == expected


def test_hold(fake_aws: FakeAws, ec2: Any, world: Any) -> None:
    """A held answer waits for its release; the call has had its effect."""
    fake_aws.rule(action="CreateVolume", hold=True)
    made: list[Any] = []
    thread = threading.Thread(
        target=lambda: made.append(ec2.create_volume(AvailabilityZone=world.zone, Size=1))
    )
    thread.start()
    assert fake_aws.wait_until_held() == ["CreateVolume"]
    assert len(world.state()["volumes"]) == 1
    assert made == []
    fake_aws.release()
    thread.join(timeout=30)
    assert made[0]["Size"] == 1
    ec2.create_volume(AvailabilityZone=world.zone, Size=1)


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
