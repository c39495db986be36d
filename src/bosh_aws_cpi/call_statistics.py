"""Counts the AWS calls of one CPI call, for the summary line in the log and for the event log.

`caller` checks the caller's ids for the User-Agent and the event log. `info` needs neither the ids nor this
module.
"""

from collections import Counter, deque
from threading import Lock

MAX_FAILURES = 10
"""The maximum number of failed attempts to record, of which the last ones are kept."""
_MAX_ID_LENGTH = 64
READS = ("Describe", "Get", "List", "Assume")
"""The prefixes of the operations that change nothing."""


def caller(director_uuid: str | None, request_id: str | None) -> dict[str, str]:
    """The caller's ids by "director" and "request", without ids that are unfit for a header or a log line.

    The caller may send anything; a Director sends a UUID and "cpi-123456".
    """
    ids = {"director": director_uuid, "request": request_id}
    return {name: value for name, value in ids.items() if value and _is_id(value)}


def _is_id(text: str) -> bool:
    """Whether a text is short, and has only ASCII letters, digits, hyphens and underscores."""
    return len(text) <= _MAX_ID_LENGTH and text.isascii() and text.replace("-", "").replace("_", "").isalnum()


class CallStatistics:
    """The AWS calls of one CPI call, by name, with their retries; thread-safe.

    Attributes:
        calls: The number of calls by name, "ec2.DescribeInstances".
        retries: The number of retries by name.
        throttled: The number of throttled attempts by name.
        failures: (name, error code, AWS's request id or "") of the last failed attempts.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.calls: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.throttled: Counter[str] = Counter()
        self.failures: deque[tuple[str, str, str]] = deque(maxlen=MAX_FAILURES)

    def count_call(self, name: str) -> None:
        """Count a call, "ec2.DescribeInstances"."""
        with self._lock:
            self.calls[name] += 1

    def count_retry(self, name: str) -> None:
        """Count a retry of a call."""
        with self._lock:
            self.retries[name] += 1

    def count_failure(self, name: str, code: str, request_id: str, *, is_throttled: bool) -> None:
        """Record a failed attempt, which AWS may have throttled."""
        with self._lock:
            self.failures.append((name, code, request_id))
            if is_throttled:
                self.throttled[name] += 1

    @property
    def has_only_reads(self) -> bool:
        """Whether all calls so far were of operations that change nothing."""
        return all(name.partition(".")[2].startswith(READS) for name in self.calls)

    def summary(self) -> str:
        """The counts as the end of a sentence; empty without AWS calls.

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
