"""Counts the AWS calls of one CPI call, for the summary line in the log."""

from collections import Counter
from threading import Lock


class CallStatistics:
    """The AWS calls of one CPI call, by name, with their retries; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: Counter[str] = Counter()
        self._retries = 0
        self._throttled = 0

    def called(self, name: str) -> None:
        """Count a call, "ec2.DescribeInstances"."""
        with self._lock:
            self._calls[name] += 1

    def attempted(self, number: int, *, is_throttled: bool) -> None:
        """Count a completed attempt at a call: the first one or a retry, which AWS may have throttled."""
        with self._lock:
            self._retries += number > 1
            self._throttled += is_throttled

    def summary(self) -> str:
        """The counts as the end of a sentence; empty when AWS was not called.

        ", 2 AWS calls, 1 retry, 0 throttled (2 x ec2.DescribeInstances)".
        """
        if not self._calls:
            return ""
        names = ", ".join(name if n == 1 else f"{n} x {name}" for name, n in self._calls.items())
        total = self._calls.total()
        calls = f"{total} AWS call{'s' * (total != 1)}"
        retries = f"{self._retries} retr{'y' if self._retries == 1 else 'ies'}"
        return f", {calls}, {retries}, {self._throttled} throttled ({names})"
