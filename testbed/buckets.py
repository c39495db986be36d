"""Token buckets: how AWS throttles an account in a region.

A bucket refills at a constant rate; each call takes a token out of each of its buckets. A call that finds one
of them empty is refused and has no effect. The figures are AWS's defaults:

- EC2 (developer guide, "Request throttling"): a bucket per action. Its buckets of resources (1,000 instances,
  refilled at the rate of the calls or faster) are never empty before those of the calls, if a call is about
  one instance; so they are left out.
- Elastic Load Balancing (user guide, "Request throttling"): a bucket per kind of action and one for all, of
  each version of the API.
- EBS direct APIs (quotas of Amazon EBS): calls per second. No source tells the size of these buckets.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from testbed.rules import Error

THROTTLED = {
    "ec2": Error("RequestLimitExceeded", "Request limit exceeded.", 503),
    "elasticloadbalancing": Error("ThrottlingException", "Rate exceeded"),
    "ebs": Error("RequestThrottledException", "Rate exceeded", reason="ACCOUNT_THROTTLED"),
}
"""What the services answer to a call that they refuse."""
_READING = ("Describe", "Get", "List", "Search")


class Limit(NamedTuple):
    """How many calls AWS accepts: at once, and per second."""

    burst: int
    rate: float


LAUNCHES = Limit(5, 2)
READS = Limit(100, 20)
WHOLE_LISTS = Limit(50, 10)
CHANGES = Limit(50, 5)
OWN = {
    action: limit
    for limit, actions in {
        LAUNCHES: "RunInstances StartInstances",
        Limit(100, 1): "CopyImage",
        Limit(100, 10): "CreateTags",
        Limit(100, 5): """
            AssignIpv6Addresses AssignPrivateIpAddresses CreateNetworkInterface CreateSnapshot CreateVolume
            DeleteNetworkInterface DeleteSnapshot DeleteVolume DeregisterImage ModifyImageAttribute
            ModifyNetworkInterfaceAttribute TerminateInstances
        """,
    }.items()
    for action in actions.split()
}
"""EC2's actions with limits of their own ("uncategorized"), of those that the program calls."""
LISTED = {
    "DescribeInstances",
    "DescribeInstanceStatus",
    "DescribeNetworkInterfaces",
    "DescribeSecurityGroups",
    "DescribeSnapshots",
    "DescribeSpotInstanceRequests",
    "DescribeVolumes",
}
"""EC2's actions with a second bucket, for calls "without specifying either pagination or a filter"."""
_PART = re.compile(r"(Filter|MaxResults|NextToken|\w+(Id|Name))\b")
"""A parameter that makes a call one of the first bucket. Of ids and names no source says it."""

_BALANCERS = {
    "registrations": Limit(20, 4),
    "reads": Limit(40, 10),
    "changes": Limit(20, 3),
    "all": Limit(40, 10),
}
_BLOCKS = {
    "PutSnapshotBlock": Limit(1000, 1000),
    "StartSnapshot": Limit(10, 10),
    "CompleteSnapshot": Limit(10, 10),
}


def limits_of(service: str, action: str, parameters: Mapping[str, str]) -> dict[str, Limit]:
    """Return the limits of the buckets of a call, by the buckets' names; none is a call of any number."""
    is_reading = action.startswith(_READING)
    if service == "ec2":
        if action in LISTED and not any(map(_PART.match, parameters)):
            return {f"{action} (all)": WHOLE_LISTS}
        return {action: OWN.get(action, READS if is_reading else CHANGES)}
    if service == "elasticloadbalancing":
        is_registering = re.match("(Der|R)egister", action)
        kind = "reads" if is_reading else "registrations" if is_registering else "changes"
        version = parameters.get("Version", "")
        return {f"load balancers {version}, {each}": _BALANCERS[each] for each in (kind, "all")}
    return {action: _BLOCKS[action]} if service == "ebs" and action in _BLOCKS else {}


@dataclass
class Bucket:
    """One bucket, and how many calls it has allowed and throttled."""

    burst: int
    rate: float
    tokens: float
    allowed: int = 0
    throttled: int = 0


class Buckets:
    """The buckets of the account; there are none until they are filled."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._speed = 0.0
        self._at = 0.0
        self._buckets: dict[str, Bucket] = {}

    def fill(self, speed: float) -> None:
        """Throttle from now on, beginning with full buckets; see `FakeAws.throttle`."""
        with self._lock:
            self._speed, self._at = speed, self._clock()
            self._buckets.clear()

    def allow(self, service: str, action: str, parameters: Mapping[str, str]) -> bool:
        """Take a call's tokens, if there are enough; returns whether there were."""
        with self._lock:
            if not self._speed:
                return True
            self._refill()
            limits = limits_of(service, action, parameters)
            buckets = [
                self._buckets.setdefault(name, Bucket(*limit, limit.burst)) for name, limit in limits.items()
            ]
            is_allowed = all(bucket.tokens >= 1 for bucket in buckets)
            for bucket in buckets:
                bucket.tokens -= is_allowed
                bucket.allowed += is_allowed
                bucket.throttled += not is_allowed
            return is_allowed

    def figures(self) -> dict[str, dict[str, Any]]:
        """Return each used `Bucket`, by its name."""
        with self._lock:
            self._refill()
            return {name: asdict(bucket) for name, bucket in self._buckets.items()}

    def _refill(self) -> None:
        now = self._clock()
        passed, self._at = (now - self._at) * self._speed, now
        for bucket in self._buckets.values():
            bucket.tokens = min(bucket.burst, bucket.tokens + passed * bucket.rate)
