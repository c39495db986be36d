"""Counting what a call costs at AWS."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.tally import Tally


@pytest.mark.parametrize(
    ("names", "retries", "expected"),
    [
        ([], [], ""),
        (["ec2.RunInstances"], [0], ", 1 AWS call (ec2.RunInstances)"),
        (["a.B"], [1], ", 1 AWS call (a.B), 1 SDK retry"),
        (["a.B", "c.D", "a.B"], [0, 2, 1], ", 3 AWS calls (2 x a.B, c.D), 3 SDK retries"),
    ],
)
def test_summary(names: list[str], retries: list[int], expected: str) -> None:
    """The summary names each call once with its count, and the SDK's retries when there were any."""
    tally = Tally()
    for name in names:
        tally.called(name)
    for times in retries:
        tally.repeated(times)
    assert tally.summary() == expected
