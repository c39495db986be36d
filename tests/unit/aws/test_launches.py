"""What EC2 may show of a new instance that no story can lay out: late interfaces, and none for minutes."""

from typing import Any

from bosh_aws_cpi.aws import launches
from bosh_aws_cpi.aws.sdk.timing import INSTANCE_SEEN
from tests.unit.aws.looks import OF_VM, VM, instances
from tests.unit.conftest import Clock, Stub

NOT_FOUND = "InvalidInstanceID.NotFound"


def test_interfaces_are_seen(ec2: Stub, clock: Clock) -> None:
    """An instance that runs is waited for until each of its interfaces is seen attached, unless it ends."""
    seen: list[dict[str, Any]] = [
        {"NetworkInterfaceId": f"eni-{n}", "Attachment": {"AttachmentId": f"a-{n}", "DeviceIndex": n}}
        for n in (0, 1)
    ]
    shown: Any = ([], seen[:1], [seen[0], {"NetworkInterfaceId": "eni-1"}], seen)
    looks = [look for nics in shown for look in instances("running", NetworkInterfaces=nics)]
    ec2.lay("describe_instances", *looks, *instances("shutting-down"), **OF_VM)
    running = launches.wait_until_running(ec2.client, VM, 2)
    assert running
    assert [nic.nic_id for nic in running.nics] == ["eni-0", "eni-1"]
    assert len(clock.pauses) == 4  # the first one is before the first look
    ended = launches.wait_until_running(ec2.client, VM, 2)
    assert ended
    assert ended.is_ending


def test_earlier_calls_instance(ec2: Stub, clock: Clock) -> None:
    """Minutes without an answer don't prove that there is no instance of an earlier call."""
    late = ["fault Unavailable"] * 36
    ec2.lay("describe_instances", *late, *instances("pending"), NOT_FOUND, *instances("running"), **OF_VM)
    found = launches.wait_until_running(ec2.client, VM, is_new=False)
    assert found
    assert found.state == "running"
    assert clock.now > INSTANCE_SEEN.seconds


def test_earlier_calls_instance_is_gone(ec2: Stub, clock: Clock) -> None:
    """An earlier call's instance that EC2 does not show for minutes is none."""
    ec2.keeps("describe_instances", NOT_FOUND)
    assert launches.wait_until_running(ec2.client, VM, is_new=False) is None
    assert 0 <= clock.now - INSTANCE_SEEN.seconds <= 6
