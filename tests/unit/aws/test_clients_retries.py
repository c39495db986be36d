"""What the SDK repeats by itself, against a server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError

from bosh_aws_cpi import config
from bosh_aws_cpi.aws.clients import Clients
from bosh_aws_cpi.aws.errors import NO_CAPACITY
from bosh_aws_cpi.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws

RETRIES = 2


@pytest.fixture
def client(server: FakeAws, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an EC2 client as calls get it, whose pauses take no time."""
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")  # the clients add to both
    monkeypatch.setattr(time, "sleep", lambda _: None)
    endpoints = dict.fromkeys(("ec2_endpoint", "elb_endpoint", "sts_endpoint"), server.endpoint)
    keys = {"access_key_id": "AKIAUNIT", "secret_access_key": "unit"}
    aws = {"max_retries": RETRIES, "region": "us-east-1", **endpoints, **keys}
    parsed = config.parse({"cloud": {"properties": {"aws": aws}}}, {}, {})
    return Clients(parsed.aws, Tally()).ec2


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


def test_faults(fake_aws: FakeAws, client: Any) -> None:
    """What passes by itself is repeated as often as is configured: the client token makes it safe."""
    answers = [
        *(("InternalError", 500), ("Unavailable", 503), ("ServiceUnavailable", 503)),
        *(("RequestLimitExceeded", 503), ("Throttling", 400)),
    ]
    sent = {answer: attempts(fake_aws, *answer, lambda: launch(client)) for answer in answers}
    assert sent == dict.fromkeys(answers, RETRIES + 1)


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
def test_without_a_token_and_throttled(fake_aws: FakeAws, client: Any, call: Callable[[Any], object]) -> None:
    """Throttling says that it was not done: it is repeated as any other call."""
    for answer in (("RequestLimitExceeded", 503), ("Throttling", 400)):
        assert attempts(fake_aws, *answer, lambda: call(client)) == RETRIES + 1


@WITHOUT_TOKEN
def test_without_a_token_and_answer(fake_aws: FakeAws, client: Any, call: Callable[[Any], object]) -> None:
    """Nor is it repeated when the connection breaks before there is an answer."""
    fake_aws.forget_calls()
    fake_aws.rule(action="*", drop="before")
    with pytest.raises(HTTPClientError):
        call(client)
    assert len(fake_aws.actions()) == 1
