"""Counting what a call costs at AWS, for its summary line."""

from collections import Counter
from threading import Lock


class Tally:
    """The AWS calls of one CPI call, by name, and how often the SDK repeated them; for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: Counter[str] = Counter()
        self._retries = 0

    def called(self, name: str) -> None:
        """Count a call, "ec2.DescribeInstances"."""
        with self._lock:
            self._calls[name] += 1

    def repeated(self, times: int) -> None:
        """Count what the SDK sent again."""
        with self._lock:
            self._retries += times

    def summary(self) -> str:
        """The count as the end of a sentence: ", 2 AWS calls (2 x ec2.DescribeInstances)", or nothing."""
        if not self._calls:
            return ""
        names = ", ".join(name if n == 1 else f"{n} x {name}" for name, n in self._calls.items())
        total = self._calls.total()
        calls = f", {total} AWS call{'s' * (total != 1)} ({names})"
        retries = f", {self._retries} SDK retr{'y' if self._retries == 1 else 'ies'}"
        return calls + (retries if self._retries else "")
