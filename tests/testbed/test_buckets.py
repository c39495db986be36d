"""Throttling as EC2 does it."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.buckets import Buckets, bucket_name, limit_of
from testbed.cloud import FakeAws
from testbed.protocols import OURS


class Clock:
    """A clock that stands still until a test advances it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Tell the time, in seconds."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock."""
    return Clock()


@pytest.fixture
def buckets(clock: Clock) -> Buckets:
    """Return full buckets."""
    filled = Buckets(clock)
    filled.fill(1)
    return filled


def taken(buckets: Buckets, action: str, **parameters: str) -> int:
    """Call until a call is throttled; return how many were not."""
    count = 0
    while buckets.allow(action, {"Action": action, "Version": "2016-11-15", **parameters}):
        count += 1
    return count


@pytest.mark.parametrize(
    ("action", "parameters", "burst", "rate"),
    [
        ("RunInstances", {}, 5, 2),
        ("CreateVolume", {}, 50, 5),
        ("DescribeVolumes", {"VolumeId.1": "vol-1"}, 100, 20),
        ("DescribeVolumes", {}, 50, 10),
        ("DescribeRegions", {}, 100, 20),
    ],
)
def test_limits(
    buckets: Buckets, clock: Clock, action: str, parameters: dict[str, str], burst: int, rate: int
) -> None:
    """A full bucket allows a burst, then one call per refilled token, and never more than a burst."""
    assert taken(buckets, action, **parameters) == burst
    assert taken(buckets, action, **parameters) == 0
    clock.now += 2
    assert taken(buckets, action, **parameters) == min(2 * rate, burst)
    clock.now += 1000
    assert taken(buckets, action, **parameters) == burst


def test_each_action_by_itself(buckets: Buckets) -> None:
    """Each action has its own bucket."""
    taken(buckets, "CreateVolume")
    assert taken(buckets, "DeleteVolume") == 50


def test_speed(buckets: Buckets, clock: Clock) -> None:
    """Buckets can refill faster, for a program with a faster clock."""
    buckets.fill(10)
    taken(buckets, "CreateTags")
    clock.now += 1
    assert taken(buckets, "CreateTags") == 50


def test_none(clock: Clock) -> None:
    """Nothing is throttled before the buckets are filled, or after they are removed."""
    buckets = Buckets(clock)
    assert all(buckets.allow("RunInstances", {}) for _ in range(20))
    buckets.fill(1)
    assert not all(buckets.allow("RunInstances", {}) for _ in range(20))
    buckets.fill(0)
    assert all(buckets.allow("RunInstances", {}) for _ in range(20))
    assert buckets.figures() == {}


def test_figures(buckets: Buckets, clock: Clock) -> None:
    """The state of a bucket shows the allowed calls, the throttled ones and the tokens that are left."""
    taken(buckets, "StartInstances")
    clock.now += 0.75
    figures = {"tokens": 1.5, "allowed": 5, "throttled": 1, "burst": 5, "rate": 2}
    assert buckets.figures() == {"StartInstances": figures}


def test_bucket_names() -> None:
    """A call that asks for everything has a separate bucket where EC2 has one."""
    everything = {"Action": "DescribeInstances", "Version": "1"}
    assert bucket_name("DescribeInstances", everything) == "DescribeInstances (all)"
    assert bucket_name("DescribeInstances", {**everything, "MaxResults": "5"}) == "DescribeInstances"
    assert limit_of("DescribeInstances (all)").rate == limit_of("DescribeInstances").rate / 2


@pytest.fixture
def of_program(fake_aws: FakeAws) -> Any:
    """Return a client whose calls look like the program's."""
    client = fake_aws.new_client("ec2")

    def disguise(request: Any, **_: Any) -> None:
        request.headers["User-Agent"] = OURS

    client.meta.events.register("before-send.ec2", disguise)
    return client


def test_server(
    fake_aws: FakeAws, world: Any, of_program: Any, refused: Callable[..., Any], run: Callable[..., Any]
) -> None:
    """A throttled call has no effect, is recorded, and counts for no rule; only the program is throttled."""
    launch = {"ImageId": world.image_id, "SubnetId": world.subnet_id, "MinCount": 1, "MaxCount": 1}
    fake_aws.rule(action="RunInstances", nth=6, error={"code": "Busy", "message": "Not now."})
    fake_aws.throttle(speed=1e-9)
    for _ in range(5):
        of_program.run_instances(**launch)
    with refused("RequestLimitExceeded", "Request limit exceeded."):
        of_program.run_instances(**launch)
    assert len(world.state()["instances"]) == 5
    assert [call["status"] for call in fake_aws.calls() if call["action"] == "RunInstances"][-1] == 503
    figures = fake_aws.buckets()["RunInstances"]
    assert (figures["allowed"], figures["throttled"]) == (5, 1)
    with refused("Busy"):
        run()
    run()
    fake_aws.throttle(0)
    of_program.run_instances(**launch)
    assert len(world.state()["instances"]) == 7


def test_reset(fake_aws: FakeAws, of_program: Any) -> None:
    """A reset ends the throttling."""
    fake_aws.throttle()
    of_program.describe_volumes()
    assert sum(figures["allowed"] for figures in fake_aws.buckets().values()) == 1
    fake_aws.reset()
    of_program.describe_volumes()
    assert fake_aws.buckets() == {}
