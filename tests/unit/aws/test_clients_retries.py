"""What the SDK repeats by itself, against a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError

from bosh_aws_cpi import config
from bosh_aws_cpi.aws.clients import Clients
from bosh_aws_cpi.aws.errors import NO_CAPACITY, THROTTLED
from bosh_aws_cpi.aws.timing import THROTTLED_CALL
from bosh_aws_cpi.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from tests.unit.conftest import Clock

RETRIES = 2
PATIENCE = THROTTLED_CALL.seconds


def made(server: FakeAws, max_retries: int) -> Clients:
    """Make clients as calls get them."""
    endpoints = dict.fromkeys(
        ("ec2_endpoint", "elb_endpoint", "sts_endpoint", "ebs_endpoint"), server.endpoint
    )
    keys = {"access_key_id": "AKIAUNIT", "secret_access_key": "unit"}
    aws = {"max_retries": max_retries, "region": "us-east-1", **endpoints, **keys}
    return Clients(config.parse({"cloud": {"properties": {"aws": aws}}}, {}, {}).aws, Tally())


@pytest.fixture
def max_retries() -> int:
    """Return how often the SDK repeats a call."""
    return RETRIES


@pytest.fixture
def clients(server: FakeAws, clock: Clock, monkeypatch: pytest.MonkeyPatch, max_retries: int) -> Clients:
    """Return clients whose pauses take no time."""
    assert clock.pauses == []
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")  # the clients add to both
    return made(server, max_retries)


@pytest.fixture
def client(clients: Clients) -> Any:
    """Return the client of EC2."""
    return clients.ec2


def attempts(fake_aws: FakeAws, code: str, status: int, call: Callable[[], object]) -> int:
    """How often the SDK sends a call that is answered with an error each time."""
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


@pytest.mark.parametrize("code", sorted(THROTTLED))
def test_throttled(fake_aws: FakeAws, client: Any, clock: Clock, code: str) -> None:
    """Throttling is waited out for some minutes, beyond what the SDK does, at uneven intervals."""
    status = 503 if code == "RequestLimitExceeded" else 400
    sent = attempts(fake_aws, code, status, lambda: launch(client))
    assert_patient(clock, 0, sent)


CALLS: dict[str, Callable[[Clients], object]] = {
    "ec2": lambda clients: clients.ec2.describe_instances(),
    "elb": lambda clients: clients.elb.describe_load_balancers(),
    "elbv2": lambda clients: clients.elbv2.describe_target_groups(),
    "ebs": lambda clients: clients.ebs.start_snapshot(VolumeSize=1),
    "sts": lambda clients: clients.sts.get_caller_identity(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_throttled_services(
    fake_aws: FakeAws, clients: Clients, clock: Clock, call: Callable[[Clients], object]
) -> None:
    """That is so whichever service throttles."""
    sent = attempts(fake_aws, "ThrottlingException", 400, lambda: call(clients))
    assert_patient(clock, 0, sent)


def test_throttled_call_by_call(fake_aws: FakeAws, client: Any, clock: Clock) -> None:
    """Each call has all that time for itself."""
    for _ in range(2):
        began = clock.now
        sent = attempts(fake_aws, "RequestLimitExceeded", 503, lambda: launch(client))
        assert_patient(clock, began, sent)


@pytest.mark.parametrize("max_retries", [0])
def test_no_retries(fake_aws: FakeAws, client: Any, clock: Clock) -> None:
    """With max_retries 0 nothing is repeated, throttled or not."""
    for answer in (("RequestLimitExceeded", 503), ("Throttling", 400), ("InternalError", 500)):
        assert attempts(fake_aws, *answer, lambda: launch(client)) == 1
    assert clock.pauses == []


def test_throttling_that_passes(fake_aws: FakeAws, client: Any) -> None:
    """Throttling that passes is not seen by the caller."""
    error = {"code": "RequestLimitExceeded", "message": "sorry", "status": 503}
    fake_aws.rule(action="DescribeInstances", times=RETRIES + 5, error=error)
    assert client.describe_instances()["Reservations"] == []
    assert fake_aws.actions() == ["DescribeInstances"] * (RETRIES + 6)


def test_fault_after_throttling(fake_aws: FakeAws, client: Any) -> None:
    """What is no throttling is repeated no more once the SDK's own attempts are used up."""
    throttled = {"code": "RequestLimitExceeded", "message": "sorry", "status": 503}
    fake_aws.rule(action="*", times=RETRIES + 1, error=throttled)
    fault = {"code": "InternalError", "message": "sorry", "status": 500}
    fake_aws.rule(action="*", error=fault)
    with pytest.raises(ClientError, match="InternalError"):
        launch(client)
    assert len(fake_aws.actions()) == RETRIES + 2


def test_other_calls(fake_aws: FakeAws, client: Any) -> None:
    """Only launches know shortages: any other call that meets such a fault is repeated."""
    code = "InsufficientInstanceCapacity"
    assert attempts(fake_aws, code, 500, client.describe_instances) == RETRIES + 1


def test_success_after_a_fault(fake_aws: FakeAws, client: Any) -> None:
    """A fault that passes is not seen by the caller."""
    error = {"code": "InternalError", "message": "sorry", "status": 500}
    fake_aws.rule(action="DescribeInstances", nth=1, error=error)
    assert client.describe_instances()["Reservations"] == []
    assert fake_aws.actions() == ["DescribeInstances"] * 2


MAKERS: dict[str, Any] = {
    "CreateSnapshot": lambda client: client.create_snapshot(VolumeId="vol-1"),
    "RegisterImage": lambda client: client.register_image(Name="BOSH-1"),
}
WITHOUT_TOKEN = pytest.mark.parametrize("call", MAKERS.values(), ids=MAKERS)


@WITHOUT_TOKEN
def test_without_a_token(fake_aws: FakeAws, client: Any, call: Callable[[Any], object]) -> None:
    """What makes something each time it arrives is not repeated when it may have been done."""
    for answer in (("InternalError", 500), ("Unavailable", 503), ("ServiceUnavailable", 503)):
        assert attempts(fake_aws, *answer, lambda: call(client)) == 1


@WITHOUT_TOKEN
def test_without_a_token_and_throttled(
    fake_aws: FakeAws, client: Any, clock: Clock, call: Callable[[Any], object]
) -> None:
    """Throttling says that it was not done: it is repeated as any other call."""
    for answer in (("RequestLimitExceeded", 503), ("Throttling", 400)):
        began = clock.now
        sent = attempts(fake_aws, *answer, lambda: call(client))
        assert_patient(clock, began, sent)


@WITHOUT_TOKEN
def test_without_a_token_and_answer(fake_aws: FakeAws, client: Any, call: Callable[[Any], object]) -> None:
    """Nor is it repeated when the connection breaks before there is an answer."""
    fake_aws.forget_calls()
    fake_aws.rule(action="*", drop="before")
    with pytest.raises(HTTPClientError):
        call(client)
    assert len(fake_aws.actions()) == 1
