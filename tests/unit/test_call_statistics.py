"""Counting what a call costs at AWS."""

import pytest

from bosh_aws_cpi.call_statistics import CallStatistics


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], ""),
        ([("a.B", [False, False])], ", 1 AWS call, 1 retry, 0 throttled (a.B)"),
        (
            [("a.B", [False]), ("c.D", [True, False, True, False]), ("a.B", [False, False])],
            ", 3 AWS calls, 4 retries, 2 throttled (2 x a.B, c.D)",
        ),
    ],
)
def test_summary(calls: list[tuple[str, list[bool]]], expected: str) -> None:
    """The summary names each call once with its count, and counts all attempts after the first ones."""
    statistics = CallStatistics()
    for name, attempts in calls:
        statistics.count_call(name)
        for number, is_throttled in enumerate(attempts):
            if number:
                statistics.count_retry(name)
            if is_throttled:
                statistics.count_failure(name, "Throttling", "", is_throttled=True)
    assert statistics.summary() == expected


def test_failures() -> None:
    """Of many failures the last ten are remembered."""
    statistics = CallStatistics()
    for number in range(12):
        statistics.count_failure("a.B", f"Code{number}", "", is_throttled=False)
    assert [code for _, code, _ in statistics.failures] == [f"Code{number}" for number in range(2, 12)]
