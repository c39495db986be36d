"""Token buckets: how EC2 throttles an account.

EC2 throttles each API action separately: an action has a bucket of tokens per account and region,
each call takes a token out, and the bucket refills at a constant rate. A call that finds no token is
refused and has no effect. The figures are EC2's documented defaults.
"""

import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

from testbed.rules import Error

THROTTLED = Error("RequestLimitExceeded", "Request limit exceeded.", 503)
READING = ("Describe", "Get", "List", "Search")


@dataclass(frozen=True)
class Limit:
    """How many calls EC2 accepts."""

    burst: int
    rate: float


LAUNCHES = Limit(5, 2)
READS = Limit(100, 20)
WHOLE_LISTS = Limit(50, 10)
CHANGES = Limit(50, 5)

LAUNCHING = {"RunInstances", "StartInstances"}
LISTED = {
    "DescribeInstances",
    "DescribeInstanceStatus",
    "DescribeNetworkInterfaces",
    "DescribeSecurityGroups",
    "DescribeSnapshots",
    "DescribeSpotInstanceRequests",
    "DescribeVolumes",
}
"""The actions with a second bucket for calls that ask for everything at once."""
WHOLE = {"Action", "Version"}
"""The parameters of such a call: no ids, no filters, no pages."""


def limit_of(name: str) -> Limit:
    """Return the limit of a bucket, by its name."""
    if name in LAUNCHING:
        return LAUNCHES
    if not name.startswith(READING):
        return CHANGES
    return READS if name.isalnum() else WHOLE_LISTS


def bucket_name(action: str, parameters: dict[str, str]) -> str:
    """Return the name of the bucket of a call: usually that of its action."""
    return f"{action} (all)" if action in LISTED and parameters.keys() <= WHOLE else action


@dataclass
class Bucket:
    """The bucket of one action."""

    tokens: float
    allowed: int = 0
    throttled: int = 0

    def take(self) -> bool:
        """Take a token, if there is one."""
        if self.tokens < 1:
            self.throttled += 1
            return False
        self.tokens -= 1
        self.allowed += 1
        return True


class Buckets:
    """The buckets of the account; there are none until they are filled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._speed = 0.0
        self._at = 0.0
        self._buckets: dict[str, Bucket] = {}

    def fill(self, speed: float) -> None:
        """Throttle from now on, beginning with full buckets; see `FakeAws.throttle`."""
        with self._lock:
            self._speed, self._at = speed, time.monotonic()
            self._buckets.clear()

    def allow(self, action: str, parameters: dict[str, str]) -> bool:
        """Take a token for a call; returns whether there was one."""
        with self._lock:
            if not self._speed:
                return True
            self._refill()
            name = bucket_name(action, parameters)
            return self._buckets.setdefault(name, Bucket(limit_of(name).burst)).take()

    def figures(self) -> dict[str, dict[str, Any]]:
        """Return the `Bucket` and the `Limit` of each used bucket, by its name."""
        with self._lock:
            self._refill()
            return {
                name: {**asdict(bucket), **asdict(limit_of(name))} for name, bucket in self._buckets.items()
            }

    def _refill(self) -> None:
        now = time.monotonic()
        passed, self._at = (now - self._at) * self._speed, now
        for name, bucket in self._buckets.items():
            limit = limit_of(name)
            bucket.tokens = min(limit.burst, bucket.tokens + passed * limit.rate)
