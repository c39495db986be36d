"""How often a call is sent, for how long, and what it remembers of its attempts: tables."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError

from bosh_aws_cpi.aws.sdk.clients import Clients, CommandClients
from bosh_aws_cpi.aws.sdk.errors import call_of, may_have_taken_effect
from bosh_aws_cpi.aws.sdk.timing import THROTTLED_CALL, THROTTLED_COMMAND, THROTTLED_LAUNCH, Policy
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.aws_config import AwsConfig
from testbed.cloud import FakeAws
from tests.unit.aws.conftest import RETRIES
from tests.unit.conftest import Clock

ENDS: dict[str, Any] = {
    "throttled": {"error": {"code": "ThrottlingException", "message": "slow", "status": 400}},
    "fault": {"error": {"code": "InternalError", "message": "sorry", "status": 500}},
    "refused": {"error": {"code": "InsufficientVolumeCapacity", "message": "full", "status": 400}},
    "shortage": {"error": {"code": "InsufficientInstanceCapacity", "message": "full", "status": 500}},
    "late": {"error": {"code": "RequestTimeout", "message": "slow", "status": 400}},
    "unanswered": {"drop": "before"},
}
BLOCK: Any = {
    "SnapshotId": "snap-1",
    "BlockIndex": 0,
    "BlockData": b"1",
    "DataLength": 1,
    "Checksum": "x",
    "ChecksumAlgorithm": "SHA256",
}
CALLS: dict[str, Callable[[Clients], object]] = {
    "run_instances": lambda clients: clients.ec2.run_instances(MinCount=1, MaxCount=1, ImageId="ami-1"),
    "describe_instances": lambda clients: clients.ec2.describe_instances(),
    "create_snapshot": lambda clients: clients.ec2.create_snapshot(VolumeId="vol-1"),
    "create_subnet": lambda clients: clients.ec2.create_subnet(VpcId="vpc-1"),
    "register_image": lambda clients: clients.ec2.register_image(Name="BOSH-1"),
    "put_snapshot_block": lambda clients: clients.ebs.put_snapshot_block(**BLOCK),
    "elb": lambda clients: clients.elb.describe_load_balancers(),
}


def fail(fake_aws: FakeAws, clients: Clients, name: str, ends: str) -> Exception:
    """Make a call whose attempts end like that, and all further ones as the last; returns its error."""
    fake_aws.clear_rules()
    fake_aws.forget_calls()
    words = ends.split()
    arriving = [end for end in words if end != "unconnected"]
    for number, end in enumerate(arriving, 1):
        fake_aws.rule(action="*", nth=number, times=None if number == len(arriving) else 1, **ENDS[end])

    def connect(**_: Any) -> None:
        if (words.pop(0) if len(words) > 1 else words[0]) == "unconnected":
            raise EndpointConnectionError(endpoint_url="http://h/")

    clients.ec2.meta.events.register("before-send", connect)
    with pytest.raises((ClientError, BotoCoreError)) as caught:
        CALLS[name](clients)
    return caught.value


@pytest.mark.parametrize(
    ("name", "ends", "sent"),
    [
        ("run_instances", "shortage", 1),
        ("describe_instances", "late", RETRIES + 1),
        ("describe_instances", "unanswered", RETRIES + 1),
        ("run_instances", "throttled throttled throttled throttled fault", 4 + RETRIES + 1),
        ("run_instances", "throttled fault throttled fault throttled refused", 6),
        ("create_snapshot", "fault", 1),
        ("create_subnet", "unanswered", 1),
        ("register_image", "fault", 1),
        ("register_image", "throttled throttled throttled throttled refused", 5),
        ("put_snapshot_block", "throttled", 1),
    ],
)
def test_sent(fake_aws: FakeAws, clients: Clients, name: str, ends: str, sent: int) -> None:
    """Faults are repeated as often as is configured, throttling more often; a shortage of launches is not.

    A call without a client token is only repeated when it was certainly not done. The uploader of blocks
    waits itself, so that it can be stopped.
    """
    fail(fake_aws, clients, name, ends)
    assert len(fake_aws.actions()) == sent


@pytest.mark.parametrize(
    ("ends", "throttled", "is_perhaps_done"),
    [
        ("throttled throttled throttled throttled refused", 4, False),
        ("unconnected throttled unconnected", 1, False),
        ("shortage", 0, False),
        ("fault shortage", 0, True),
        ("unanswered throttled throttled refused", 2, True),
        ("throttled unanswered unconnected", 1, True),
    ],
)
def test_memory(
    fake_aws: FakeAws, clients: Clients, ends: str, throttled: int, *, is_perhaps_done: bool
) -> None:
    """A call may have done its work when any of its attempts may, however the last one ends."""
    error = fail(fake_aws, clients, "run_instances", ends)
    call = call_of(error)
    assert call is not None
    assert call.throttled == throttled
    assert may_have_taken_effect(error) is is_perhaps_done


@pytest.mark.parametrize(
    ("name", "policy"), [("run_instances", THROTTLED_LAUNCH), ("describe_instances", THROTTLED_CALL)]
)
def test_throttled(fake_aws: FakeAws, clients: Clients, clock: Clock, name: str, policy: Policy) -> None:
    """Each call waits throttling out for minutes from its first attempt on, at uneven, growing intervals.

    The time of a launch follows from the rate at which EC2 accepts launches.
    """
    fail(fake_aws, clients, name, "throttled")
    assert 0 < clock.now - policy.seconds <= 12
    growth = [min(1.1**earlier, 2.4) for earlier in range(len(clock.pauses))]
    parts = [pause / by for pause, by in zip(clock.pauses, growth, strict=True)]
    assert 1 <= min(parts) < 2
    assert 4 < max(parts) <= 5


@pytest.mark.parametrize("mode", ["legacy", "adaptive", "other"])
def test_mode_of_the_environment(
    fake_aws: FakeAws, aws: AwsConfig, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """The environment does not bring back a handler of the SDK, which in its older modes ends the retries."""
    monkeypatch.setenv("AWS_RETRY_MODE", mode)
    fail(fake_aws, Clients(aws, CallStatistics()), "describe_instances", "unanswered")
    assert len(fake_aws.actions()) == RETRIES + 1


def test_faults(fake_aws: FakeAws, clients: Clients, clock: Clock) -> None:
    """The pauses after faults double, and chance takes up to half of each."""
    fail(fake_aws, clients, "describe_instances", "throttled fault fault fault fault fault fault fault fault")
    after_faults = clock.pauses[1:]
    assert len(after_faults) == RETRIES
    assert all(2**nth / 2 <= pause <= 2**nth for nth, pause in enumerate(after_faults))


def test_throttled_command(fake_aws: FakeAws, aws: AwsConfig, clock: Clock) -> None:
    """The calls of an operator's command share the time for throttling, even those of several services."""
    clients = CommandClients(aws, CallStatistics())
    sent = []
    for name in ("describe_instances", "elb", "describe_instances"):
        fail(fake_aws, clients, name, "throttled")
        sent.append(len(fake_aws.actions()))
    assert sent[0] > RETRIES + 1
    assert sent[1:] == [1, 1]
    assert clock.now <= THROTTLED_COMMAND.seconds
