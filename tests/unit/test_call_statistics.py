"""Counting what a call costs at AWS."""

import pytest

from bosh_aws_cpi.call_statistics import CallStatistics


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], ""),
        ([("ec2.RunInstances", [False])], ", 1 AWS call, 0 retries, 0 throttled (ec2.RunInstances)"),
        ([("a.B", [False, False])], ", 1 AWS call, 1 retry, 0 throttled (a.B)"),
        ([("a.B", [True])], ", 1 AWS call, 0 retries, 1 throttled (a.B)"),
        (
            [("a.B", [False]), ("c.D", [True, False, True, False]), ("a.B", [False, False])],
            ", 3 AWS calls, 4 retries, 2 throttled (2 x a.B, c.D)",
        ),
        ([("a.B", [])], ", 1 AWS call, 0 retries, 0 throttled (a.B)"),
    ],
)
def test_summary(calls: list[tuple[str, list[bool]]], expected: str) -> None:
    """The summary names each call once with its count, and counts all attempts after the first ones."""
    statistics = CallStatistics()
    for name, attempts in calls:
        statistics.called(name)
        for number, is_throttled in enumerate(attempts):
            if number:
                statistics.retried(name)
            if is_throttled:
                statistics.failed(name, "Throttling", "", is_throttled=True)
    assert statistics.summary() == expected
