"""Many calls of create_vm at once, on paper: EC2's buckets, the executable's pauses, and a clock of its own.

It has no processes, so that it shows what the pauses alone do, of a thousand calls in a second.
"""

import heapq
import random
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from statistics import mean

from bosh_aws_cpi.aws.sdk import attempts, timing
from testbed.bench import table
from testbed.bench.light_ec2 import ANSWERED, TRANSITIONS
from testbed.buckets import LAUNCHES, Buckets

RUNS = {32: 100, 100: 32, 1000: 3}
"""How many simulations, by the number of calls."""
COUNTED = ("DescribeInstances", "throttled DescribeInstances", "throttled RunInstances")
HEAD = [
    *("create_vm at once", "Seconds", "At least", "Of it", "Looks per VM", "Throttled looks"),
    *("Throttled launches", "Seconds late", "Failures"),
]


class Simulation:
    """What happens to calls that begin at the same moment.

    Attributes:
        now: The clock, in seconds; in the end what all calls took.
        least: What they take if each token is used at once, and each change seen at once.
        late: The seconds by which each call saw late that its instance ran, in sum.
        counts: Answered and throttled calls by action, and calls that gave up.
    """

    def __init__(self, calls: int) -> None:
        self.now = self.least = self.late = 0.0
        self.counts: Counter[str] = Counter()
        self._buckets = Buckets(lambda: self.now)
        self._buckets.fill(1.0)
        steps = [(0.0, number, self._create_vm()) for number in range(calls)]
        while steps:
            self.now, number, call = heapq.heappop(steps)
            if (pause := next(call, None)) is not None:
                heapq.heappush(steps, (self.now + pause + ANSWERED, number, call))

    def _create_vm(self) -> Iterator[float]:
        """Yield the pauses of a call."""
        if (yield from self._until_allowed("RunInstances", {}, timing.THROTTLED_LAUNCH)) is None:
            return
        pending = random.uniform(*TRANSITIONS["pending"][:2])  # noqa: S311 - protects nothing
        running_at = self.now + pending
        waited = max(self.counts["RunInstances"] - LAUNCHES.burst, 0) / LAUNCHES.rate
        self.least = max(self.least, waited + pending)
        throttling = timing.Throttling()
        for pause in timing.slowed_pauses(timing.INSTANCE_RUNNING, throttling):
            yield pause
            look = ("DescribeInstances", {"InstanceId.1": "i-1"}, timing.THROTTLED_CALL)
            throttled = yield from self._until_allowed(*look)
            if throttled is None:
                return
            if self.now >= running_at:
                self.late += self.now - running_at
                return
            throttling.count += throttled

    def _until_allowed(
        self, action: str, parameters: Mapping[str, str], limit: timing.Policy
    ) -> Generator[float, None, int | None]:
        """Yield the pauses of an action; returns how often it was throttled, None if it was given up."""
        began, throttled = self.now, 0
        while not self._buckets.allow("ec2", action, parameters):
            throttled += 1
            self.counts[f"throttled {action}"] += 1
            if self.now - began >= limit.seconds:
                self.counts["failed"] += 1
                return None
            yield attempts.pause_after_throttling(throttled)
        self.counts[action] += 1
        return throttled


def figures() -> str:
    """Write the table of all numbers of calls, averages of several simulations."""
    random.seed(1)
    return table.aligned(HEAD, [_line(calls, runs) for calls, runs in RUNS.items()])


def _line(calls: int, runs: int) -> list[str]:
    simulations = [Simulation(calls) for _ in range(runs)]
    seconds, least = (mean(each) for each in zip(*((one.now, one.least) for one in simulations), strict=True))
    counts = sum((one.counts for one in simulations), Counter())
    sums = [*(counts[what] for what in COUNTED), sum(one.late for one in simulations)]
    return [
        *(f"{calls:,}", f"{seconds:.0f}", f"{least:.0f}", f"{seconds / least:.2f}"),
        *(f"{each / calls / runs:.1f}" for each in sums),
        f"{counts['failed'] / runs:.0f}",
    ]
