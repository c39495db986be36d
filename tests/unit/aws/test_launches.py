"""RunInstances, through all that EC2 may answer, or not answer; and the wait for the instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws import launches
from bosh_aws_cpi.aws.sdk.errors import may_be_done
from bosh_aws_cpi.aws.sdk.timing import INSTANCE_SEEN
from bosh_aws_cpi.model import Instance
from tests.unit.aws.looks import OF_VM, VM, instances
from tests.unit.aws.timing_script import Script, answer_late

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

MADE = Instance(VM, "pending", "m5.large", "", {}, nics=[])
NOT_FOUND = "InvalidInstanceID.NotFound"


def run(ec2: Ec2, *looks: Instance | None) -> Instance:
    """Launch an instance, which the caller looks for if its launch is uncertain."""
    return launches.run(ec2.client, {}, Script(*looks), lambda _: True)


@pytest.mark.parametrize(
    "how",
    [
        *("lost", "fault InternalError", "again RequestLimitExceeded", "again InsufficientInstanceCapacity"),
        *("again InvalidIPAddress.InUse", "again IdempotentInstanceTerminated"),
    ],
)
def test_lost_answer(ec2: Ec2, clock: Clock, how: str) -> None:
    """An instance whose launch is uncertain is looked for until it is seen; if unseen, the error says so."""
    ec2.lay("run_instances", how, how, MinCount=1, MaxCount=1)
    assert run(ec2, None, None, MADE) == MADE
    assert len(clock.pauses) == 2
    with pytest.raises((ClientError, HTTPClientError)) as caught:
        run(ec2, None)
    assert may_be_done(caught.value)


def test_unreadable_answer(ec2: Ec2, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that can't be read, as of a proxy in between, counts as lost."""
    monkeypatch.setattr(ec2.client, "run_instances", lambda **_: Script(ResponseParserError("<html>"))())
    assert run(ec2, MADE) == MADE
    with pytest.raises(ResponseParserError):
        run(ec2, None)


def test_interfaces_are_seen(ec2: Ec2, clock: Clock) -> None:
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
    assert len(clock.pauses) == 3
    ended = launches.wait_until_running(ec2.client, VM, 2)
    assert ended
    assert ended.is_ending


def test_earlier_calls_instance(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes without an answer don't prove that there is no instance of an earlier call."""
    answer_late(monkeypatch, ec2.client, "describe_instances", clock, 2 * INSTANCE_SEEN.seconds)
    ec2.lay("describe_instances", *instances("pending"), NOT_FOUND, *instances("running"), **OF_VM)
    found = launches.wait_until_running(ec2.client, VM, is_new=False)
    assert found
    assert found.state == "running"


def test_earlier_calls_instance_is_gone(ec2: Ec2, clock: Clock) -> None:
    """An earlier call's instance that EC2 does not show for minutes is none."""
    ec2.keeps("describe_instances", NOT_FOUND)
    assert launches.wait_until_running(ec2.client, VM, is_new=False) is None
    assert 0 <= clock.now - INSTANCE_SEEN.seconds <= 6
