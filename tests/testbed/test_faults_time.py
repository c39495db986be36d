"""Rules that depend on time."""

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from testbed import rules
from testbed.cloud import FakeAws
from testbed.rules import Rule

BUSY = {"code": "RequestLimitExceeded", "message": "Request limit exceeded.", "status": 503}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"seconds": 3}, [True, True, True, False, False]),
        ({"seconds": 3, "nth": 2}, [False, True, True, True, False]),
        ({"seconds": 3, "times": 1}, [True, False, False, False, False]),
    ],
)
def test_seconds(monkeypatch: pytest.MonkeyPatch, rule: dict[str, Any], expected: list[bool]) -> None:
    """A rule fires for some seconds after its first call; here there is one call each second."""
    ticks = iter(range(100, 200))
    monkeypatch.setattr(rules, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    parsed = Rule.parse({"action": "DescribeVpcs", **rule})
    assert [parsed.fires("DescribeVpcs", {}) for _ in range(5)] == expected


def test_seconds_of_the_server(fake_aws: FakeAws, ec2: Any) -> None:
    """An action that is throttled for a while answers again after that."""
    fake_aws.rule(action="DescribeVpcs", seconds=0.3, error=BUSY)
    begin = time.monotonic()
    with pytest.raises(ClientError, match="RequestLimitExceeded"):
        ec2.describe_vpcs()
    refused = 1
    while True:
        try:
            ec2.describe_vpcs()
        except ClientError:
            refused += 1
        else:
            break
    assert time.monotonic() - begin > 0.3
    assert fake_aws.actions() == ["DescribeVpcs"] * (refused + 1)


@pytest.mark.parametrize("answer", [{}, {"error": BUSY}], ids=["moto's", "a rule's"])
def test_delay(fake_aws: FakeAws, ec2: Any, answer: dict[str, Any]) -> None:
    """A rule can delay an answer of moto, and an error of a rule."""
    fake_aws.rule(action="DescribeVpcs", times=1, delay=0.2, **answer)
    begin = time.monotonic()
    try:
        ec2.describe_vpcs()
    except ClientError as error:
        assert answer["error"]["code"] in str(error)  # noqa: PT017 - both ways are a result
    assert time.monotonic() - begin > 0.2


def test_delay_after_the_effect(fake_aws: FakeAws, world: Any) -> None:
    """A call has its effect before its late answer, which does not count as held; a release sends it."""
    fake_aws.rule(action="CreateVolume", times=1, delay=50)
    made: list[Any] = []
    thread = threading.Thread(
        target=lambda: made.append(world.ec2.create_volume(AvailabilityZone=world.zone, Size=1))
    )
    begin = time.monotonic()
    thread.start()
    while not world.state()["volumes"]:
        assert made == []
    assert fake_aws.held_within(0) == []
    while thread.is_alive():
        fake_aws.release()  # the call may not wait yet: then the next release finds it
        thread.join(timeout=0.05)
    assert [[volume["VolumeId"] for volume in made]] == [world.state()["volumes"]]
    assert time.monotonic() - begin < 30
