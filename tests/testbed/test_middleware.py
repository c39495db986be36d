"""The record of calls, and rules."""

import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from testbed.cloud import FakeAws


def test_calls(fake_aws: FakeAws, ec2: Any) -> None:
    """Calls are recorded with their parameters and the status of their answer."""
    ec2.describe_vpcs(Filters=[{"Name": "cidr", "Values": ["10.0.0.0/16"]}])
    with pytest.raises(ClientError):
        ec2.describe_volumes(VolumeIds=["vol-x"])
    first, second = fake_aws.calls()
    assert (first["service"], first["action"], first["status"]) == ("ec2", "DescribeVpcs", 200)
    assert first["parameters"]["Filter.1.Value.1"] == "10.0.0.0/16"
    assert second["status"] == 400
    assert fake_aws.actions() == ["DescribeVpcs", "DescribeVolumes"]
    fake_aws.forget_calls()
    assert fake_aws.calls() == []


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


def test_rest_calls(fake_aws: FakeAws, world: Any) -> None:
    """A REST call has the SDK's name and parameters; a binary body is not a parameter."""
    ebs = fake_aws.client("ebs")
    made = ebs.start_snapshot(VolumeSize=1, ClientToken="token", Encrypted=True, Timeout=60)
    with pytest.raises(ClientError):
        ebs.put_snapshot_block(
            SnapshotId=made["SnapshotId"],
            BlockIndex=7,
            BlockData=b"\xff\x00",
            DataLength=2,
            Checksum="c3Vt",
            ChecksumAlgorithm="SHA256",
        )
    ebs.list_snapshot_blocks(SnapshotId=made["SnapshotId"], MaxResults=100)
    calls = fake_aws.calls()
    assert [(call["action"], call["status"]) for call in calls] == [
        ("StartSnapshot", 201),
        ("PutSnapshotBlock", 400),
        ("ListSnapshotBlocks", 200),
    ]
    assert {call["service"] for call in calls} == {"ebs"}
    started, put, listed = (call["parameters"] for call in calls)
    assert started == {"VolumeSize": "1", "ClientToken": "token", "Encrypted": "true", "Timeout": "60"}
    assert put == {
        "SnapshotId": made["SnapshotId"],
        "BlockIndex": "7",
        "DataLength": "2",
        "Checksum": "c3Vt",
        "ChecksumAlgorithm": "SHA256",
    }
    assert listed == {"SnapshotId": made["SnapshotId"], "MaxResults": "100"}
    assert world.state()["snapshots"] == [made["SnapshotId"]]


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("RequestThrottledException", 400, {"reason": "ACCOUNT_THROTTLED"}),
        ("AccessDeniedException", 403, {"reason": "UNAUTHORIZED_ACCOUNT"}),
        ("InternalServerException", 500, {}),
    ],
)
def test_rest_error(fake_aws: FakeAws, code: str, status: int, reason: dict[str, str]) -> None:
    """The EBS direct APIs write an error as JSON, its code in a header."""
    fake_aws.rule(
        action="ListSnapshotBlocks", error={"code": code, "message": "a < b", "status": status, **reason}
    )
    with pytest.raises(ClientError) as caught:
        fake_aws.client("ebs").list_snapshot_blocks(SnapshotId="snap-1")
    response: Any = caught.value.response
    assert (response["Error"]["Code"], response["Error"]["Message"]) == (code, "a < b")
    assert response["ResponseMetadata"]["HTTPStatusCode"] == status
    assert response["ResponseMetadata"]["RequestId"]
    assert response.get("Reason") == reason.get("reason")


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


def test_any_action(fake_aws: FakeAws, ec2: Any) -> None:
    """A rule for any action counts the calls of all services."""
    fake_aws.rule(action="*", nth=3, error={"code": "X", "message": "Y"})
    ec2.describe_vpcs()
    fake_aws.client("sts").get_caller_identity()
    with pytest.raises(ClientError, match="DescribeSubnets"):
        ec2.describe_subnets()
    ec2.describe_vpcs()


def test_error_is_not_forwarded(fake_aws: FakeAws, ec2: Any, world: Any) -> None:
    """A call that is answered with an error has no effect."""
    fake_aws.rule(action="CreateVolume", nth=1, error={"code": "X", "message": "Y"})
    with pytest.raises(ClientError):
        ec2.create_volume(AvailabilityZone=world.zone, Size=1)
    assert world.state() == world.empty


def test_replace(fake_aws: FakeAws, ec2: Any, run: Any, world: Any) -> None:
    """The body of an answer is rewritten, as often as the rule says."""
    instance = run()
    fake_aws.rule(
        action="DescribeInstances",
        replace=[["<code>16</code>", "<code>0</code>"], ["<name>running</name>", "<name>pending</name>"]],
        times=2,
    )
    states = [world.instance(instance["InstanceId"])["State"]["Name"] for _ in range(3)]
    assert states == ["pending", "pending", "running"]
    assert ec2.describe_instances()["Reservations"]


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


def test_instance_that_ends(fake_aws: FakeAws, run: Any, world: Any) -> None:
    """A rule lets EC2 end an instance after its launch, with a reason; nothing is left of it."""
    reason = "Server.InternalError: Internal error on launch"
    fake_aws.rule(action="RunInstances", nth=1, ends=reason)
    ended = run(PrivateIpAddress="10.0.1.5")
    assert ended["State"]["Name"] == "terminated"
    assert ended["StateReason"] == {"Code": "Server.InternalError", "Message": reason}
    assert world.state() == world.empty
    assert run(PrivateIpAddress="10.0.1.5")["State"]["Name"] == "running"


@pytest.mark.parametrize("rule", [{"holds": True}, {"drop": "later"}])
def test_bad_rule(fake_aws: FakeAws, rule: dict[str, Any]) -> None:
    """A rule with an unknown key or moment is refused."""
    with pytest.raises(RuntimeError, match="400"):
        fake_aws.rule(action="DescribeVpcs", **rule)


def test_unknown_action(fake_aws: FakeAws, ec2: Any) -> None:
    """A call that moto does not support gets an error of the service."""
    with pytest.raises(ClientError) as caught:
        ec2.describe_fpga_images()
    assert "moto" in str(caught.value)
    assert fake_aws.calls()[-1]["status"] == 500


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
