"""How often a call is sent, against a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError

from bosh_aws_cpi.aws.sdk.clients import CommandClients
from bosh_aws_cpi.aws.sdk.error_codes import NO_CAPACITY, THROTTLED
from bosh_aws_cpi.aws.sdk.timing import THROTTLED_CALL, THROTTLED_COMMAND
from bosh_aws_cpi.call_statistics import CallStatistics
from tests.unit.aws.service_calls import CALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bosh_aws_cpi.aws.sdk.clients import Clients
    from bosh_aws_cpi.config.aws_config import AwsConfig
    from testbed.cloud import FakeAws
    from tests.unit.conftest import Clock

RETRIES = 2
"""As many as `max_retries` says."""
PATIENCE = THROTTLED_CALL.seconds


def attempts(fake_aws: FakeAws, code: str, status: int, call: Callable[[], object]) -> int:
    """How often a call is sent that is answered with an error each time."""
    fake_aws.clear_rules()
    fake_aws.forget_calls()
    fake_aws.rule(action="*", error={"code": code, "message": "sorry", "status": status})
    with pytest.raises(ClientError, match=code):
        call()
    return len(fake_aws.actions())


def launch(client: Any) -> None:
    """Launch an instance."""
    client.run_instances(MinCount=1, MaxCount=1, ImageId="ami-1")


def test_shortage(fake_aws: FakeAws, client: Any) -> None:
    """A launch that EC2 has no capacity for is not hammered, also when EC2 says so as a fault of its own."""
    sent = {
        (code, status): attempts(fake_aws, code, status, lambda: launch(client))
        for code in NO_CAPACITY
        for status in (400, 500, 503)
    }
    assert set(sent.values()) == {1}


def test_faults(fake_aws: FakeAws, client: Any, clock: Clock) -> None:
    """A fault of AWS is repeated as often as is configured: the client token makes it safe."""
    answers = [("InternalError", 500), ("Unavailable", 503), ("ServiceUnavailable", 503)]
    sent = {answer: attempts(fake_aws, *answer, lambda: launch(client)) for answer in answers}
    assert sent == dict.fromkeys(answers, RETRIES + 1)
    assert len(clock.pauses) == len(answers) * RETRIES


def assert_patient(clock: Clock, began: float, sent: int) -> None:
    """Check how a call was repeated that AWS throttled to the end, since this time."""
    pauses = clock.pauses[1 - sent :]
    assert sent > RETRIES + PATIENCE / THROTTLED_CALL.longest_pause
    assert sum(pauses) == pytest.approx(clock.now - began)
    assert PATIENCE < clock.now - began <= PATIENCE + THROTTLED_CALL.longest_pause
    assert 1 <= min(pauses[RETRIES:]) < max(pauses[RETRIES:]) <= THROTTLED_CALL.longest_pause


def test_throttled(fake_aws: FakeAws, client: Any, clock: Clock) -> None:
    """Throttling is waited out for five minutes from the first attempt on, at uneven intervals."""
    sent = attempts(fake_aws, "RequestLimitExceeded", 503, lambda: launch(client))
    assert_patient(clock, 0, sent)


def throttled_more_often(fake_aws: FakeAws, code: str, call: Callable[[], object], status: int = 400) -> int:
    """How often a call is sent that is throttled more often than faults are repeated, and then refused."""
    fake_aws.clear_rules()
    fake_aws.forget_calls()
    fake_aws.rule(action="*", times=RETRIES + 2, error={"code": code, "message": "", "status": status})
    fake_aws.rule(action="*", error={"code": "Refused", "message": "", "status": 400})
    with pytest.raises(ClientError, match="Refused"):
        call()
    return len(fake_aws.actions())


@pytest.mark.parametrize("status", [400, 429, 503])
def test_codes_of_throttling(fake_aws: FakeAws, client: Any, status: int) -> None:
    """That is so for every code that says it, whatever the HTTP status."""
    sent = {code: throttled_more_often(fake_aws, code, lambda: launch(client), status) for code in THROTTLED}
    assert sent == dict.fromkeys(THROTTLED, RETRIES + 3)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_throttled_services(fake_aws: FakeAws, clients: Clients, call: Callable[[Clients], object]) -> None:
    """That is so whichever service throttles."""
    sent = throttled_more_often(fake_aws, "ThrottlingException", lambda: call(clients))
    assert sent == RETRIES + 3


def test_throttled_block(fake_aws: FakeAws, clients: Clients) -> None:
    """The upload of a block is not repeated here: the uploader waits itself, and can be stopped."""
    block: Any = {"DataLength": 1, "Checksum": "x", "ChecksumAlgorithm": "SHA256"}
    sent = attempts(
        fake_aws,
        "RequestThrottledException",
        400,
        lambda: clients.ebs.put_snapshot_block(SnapshotId="snap-1", BlockIndex=0, BlockData=b"1", **block),
    )
    assert sent == RETRIES + 1


def test_throttled_call_by_call(fake_aws: FakeAws, client: Any, clock: Clock) -> None:
    """Each call has all that time for itself."""
    for _ in range(2):
        began = clock.now
        sent = attempts(fake_aws, "RequestLimitExceeded", 503, lambda: launch(client))
        assert_patient(clock, began, sent)


def test_throttled_command(fake_aws: FakeAws, aws: AwsConfig, clock: Clock) -> None:
    """The calls of an operator's command share the time for throttling, even those of several services."""
    clients = CommandClients(aws, CallStatistics())
    calls = (clients.ec2.describe_key_pairs, clients.elb.describe_load_balancers, clients.ec2.describe_hosts)
    sent = [attempts(fake_aws, "Throttling", 400, call) for call in calls]
    own_pauses = len(calls) * RETRIES * THROTTLED_CALL.longest_pause
    assert sent[0] > RETRIES + 1
    assert sent[1:] == [RETRIES + 1] * 2
    assert clock.now <= THROTTLED_COMMAND.seconds + own_pauses


@pytest.mark.parametrize("max_retries", [0])
def test_no_retries(fake_aws: FakeAws, client: Any, clock: Clock) -> None:
    """With max_retries 0 nothing is repeated, throttled or not."""
    for answer in (("RequestLimitExceeded", 503), ("Throttling", 400), ("InternalError", 500)):
        assert attempts(fake_aws, *answer, lambda: launch(client)) == 1
    assert clock.pauses == []


def lay(fake_aws: FakeAws, *answers: str) -> None:
    """Lay out what is answered to one attempt after the other; all that follow are answered."""
    errors = {"throttled": ("RequestLimitExceeded", 503), "fault": ("InternalError", 500)}
    for number, answer in enumerate(answers, 1):
        code, status = errors[answer]
        fake_aws.rule(action="*", nth=number, error={"code": code, "message": "", "status": status})


@pytest.mark.parametrize(
    "answers",
    [
        ["throttled"] * 4 + ["fault"] * RETRIES,
        ["throttled"] * 4 + ["fault"],
        ["fault"] * RETRIES + ["throttled"] * 4,
        ["throttled", "fault"] * RETRIES + ["throttled"],
    ],
    ids=["faults after it", "one fault after it", "faults before it", "in turn"],
)
def test_faults_and_throttling(fake_aws: FakeAws, client: Any, answers: list[str]) -> None:
    """Throttled attempts don't count against the retries of faults."""
    lay(fake_aws, *answers)
    assert client.describe_instances()["Reservations"] == []
    assert len(fake_aws.actions()) == len(answers) + 1


def test_too_many_faults(fake_aws: FakeAws, client: Any) -> None:
    """Faults are repeated as often as is configured, also after throttling."""
    lay(fake_aws, *["throttled"] * 4, *["fault"] * (RETRIES + 1))
    with pytest.raises(ClientError, match="InternalError"):
        client.describe_instances()
    assert len(fake_aws.actions()) == 4 + RETRIES + 1


def test_other_calls(fake_aws: FakeAws, client: Any) -> None:
    """Only launches know shortages: any other call that meets such a fault is repeated."""
    code = "InsufficientInstanceCapacity"
    assert attempts(fake_aws, code, 500, client.describe_instances) == RETRIES + 1


MAKERS: dict[str, Any] = {
    "CreateSnapshot": lambda client: client.create_snapshot(VolumeId="vol-1"),
    "RegisterImage": lambda client: client.register_image(Name="BOSH-1"),
}
WITHOUT_TOKEN = pytest.mark.parametrize("call", MAKERS.values(), ids=MAKERS)


@WITHOUT_TOKEN
def test_without_a_token(fake_aws: FakeAws, client: Any, call: Callable[[Any], object]) -> None:
    """A call without a client token is not repeated when it may have been done."""
    for answer in (("InternalError", 500), ("Unavailable", 503), ("ServiceUnavailable", 503)):
        assert attempts(fake_aws, *answer, lambda: call(client)) == 1


@WITHOUT_TOKEN
def test_without_a_token_and_throttled(fake_aws: FakeAws, client: Any, call: Callable[[Any], object]) -> None:
    """Throttling says that it was not done: it is repeated as any other call."""
    for code, status in (("RequestLimitExceeded", 503), ("Throttling", 400)):
        assert throttled_more_often(fake_aws, code, lambda: call(client), status) == RETRIES + 3


@WITHOUT_TOKEN
def test_without_a_token_and_answer(fake_aws: FakeAws, client: Any, call: Callable[[Any], object]) -> None:
    """A call without a token is not repeated when the connection breaks before the answer."""
    fake_aws.forget_calls()
    fake_aws.rule(action="*", drop="before")
    with pytest.raises(HTTPClientError):
        call(client)
    assert len(fake_aws.actions()) == 1
