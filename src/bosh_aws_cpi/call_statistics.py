"""Counts the AWS calls of one CPI call, for the summary line in the log and for the event log.

`caller` checks the caller's ids for the User-Agent and the event log. It is here because `info` does not load
this module.
"""

from collections import Counter, deque
from threading import Lock

MOST_FAILURES = 10
"""The number of failed attempts that are remembered: the last ones."""
_LONGEST_ID = 64


def caller(director_uuid: str | None, request_id: str | None) -> dict[str, str]:
    """The caller's ids by "director" and "request", where they can be part of a header or of a line.

    The caller may send anything; a Director's are a UUID and "cpi-123456".
    """
    ids = {"director": director_uuid, "request": request_id}
    return {name: value for name, value in ids.items() if value and _is_id(value)}


def _is_id(text: str) -> bool:
    """Whether a text has only ASCII letters, digits, hyphens and underscores, and not too many of them."""
    return len(text) <= _LONGEST_ID and text.isascii() and text.replace("-", "").replace("_", "").isalnum()


class CallStatistics:
    """The AWS calls of one CPI call, by name, with their retries; thread-safe.

    Attributes:
        calls: Their number by name, "ec2.DescribeInstances".
        retries: The number of attempts after the first ones, by name.
        throttled: The number of attempts that AWS throttled, by name.
        failures: The name, the error code and AWS's request id (may be empty) of the last failed attempts.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.calls: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.throttled: Counter[str] = Counter()
        self.failures: deque[tuple[str, str, str]] = deque(maxlen=MOST_FAILURES)

    def count_call(self, name: str) -> None:
        """Count a call, "ec2.DescribeInstances"."""
        with self._lock:
            self.calls[name] += 1

    def count_retry(self, name: str) -> None:
        """Count an attempt at a call after the first one."""
        with self._lock:
            self.retries[name] += 1

    def count_failure(self, name: str, code: str, request_id: str, *, is_throttled: bool) -> None:
        """Remember a failed attempt, which AWS may have throttled."""
        with self._lock:
            self.failures.append((name, code, request_id))
            if is_throttled:
                self.throttled[name] += 1

    def summary(self) -> str:
        """The counts as the end of a sentence; empty when AWS was not called.

        ", 2 AWS calls, 1 retry, 0 throttled (2 x ec2.DescribeInstances)".
        """
        if not self.calls:
            return ""
        names = ", ".join(name if n == 1 else f"{n} x {name}" for name, n in self.calls.items())
        total = self.calls.total()
        calls = f"{total} AWS call{'s' * (total != 1)}"
        retried = self.retries.total()
        retries = f"{retried} retr{'y' if retried == 1 else 'ies'}"
        return f", {calls}, {retries}, {self.throttled.total()} throttled ({names})"
