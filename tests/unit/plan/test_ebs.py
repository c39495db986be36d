"""Which figures a type of EBS volume takes."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.plan.ebs import refusal

Case = tuple[str, int, int | None, int | None]


@pytest.mark.parametrize(
    "given",
    [
        *((name, 10, None, None) for name in ("gp2", "gp3", "st1", "sc1", "standard", "not-made-yet")),
        *(("gp3", 1, 3000, None), ("gp3", 6, 3000, None), ("gp3", 7, 3500, None), ("gp3", 32, 16000, None)),
        *(("gp3", 1, None, 125), ("gp3", 1, None, 750), ("gp3", 1, 3000, 750), ("gp3", 8, 4000, 1000)),
        *(("io1", 4, 100, None), ("io1", 4, 200, None), ("io1", 1, 100, None), ("io1", 1280, 64000, None)),
        *(("io2", 4, 100, None), ("io2", 4, 4000, None), ("io2", 256, 256_000, None)),
    ],
)
def test_taken(given: Case) -> None:
    """What EBS takes is let through, up to the border of each rule; an unknown type is left to EBS."""
    assert refusal(*given) is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("gp2", 10, 3000, None), "iops can't be set for type gp2: remove it, or use gp3, io1 or io2"),
        (("st1", 500, 100, None), "iops can't be set for type st1: remove it, or use gp3, io1 or io2"),
        (("gp2", 10, None, 125), "throughput can't be set for type gp2: remove it, or use gp3"),
        (("io2", 10, 500, 125), "throughput can't be set for type io2: remove it, or use gp3"),
        (("gp2", 10, 3000, 125), "throughput can't be set for type gp2: remove it, or use gp3"),
        (("io1", 10, None, None), "iops is needed for type io1"),
        (("io2", 10, None, None), "iops is needed for type io2"),
        (("gp3", 10, 2999, None), "iops is 2999, type gp3 takes 3000 and more"),
        (("io1", 10, 99, None), "iops is 99, type io1 takes 100 and more"),
        (("io2", 10, 99, None), "iops is 99, type io2 takes 100 and more"),
        (("gp3", 6, 3001, None), "iops is 3001, type gp3 takes at most 3000 for 6 GiB"),
        (("gp3", 8, 4001, None), "iops is 4001, type gp3 takes at most 4000 for 8 GiB"),
        (("io1", 10, 501, None), "iops is 501, type io1 takes at most 500 for 10 GiB"),
        (("io1", 1, 101, None), "iops is 101, type io1 takes at most 100 for 1 GiB"),
        (("io2", 4, 4001, None), "iops is 4001, type io2 takes at most 4000 for 4 GiB"),
        (("gp3", 10, None, 124), "throughput is 124 MiB/s, type gp3 takes 125 and more"),
        (("gp3", 10, None, 751), "throughput of 751 MiB/s needs 3004 iops, there are 3000"),
        (("gp3", 10, 4000, 1001), "throughput of 1001 MiB/s needs 4004 iops, there are 4000"),
        (("gp3", 10, 2999, 124), "iops is 2999, type gp3 takes 3000 and more"),
    ],
)
def test_refused(given: Case, reason: str) -> None:
    """What EBS would refuse is told by the property's name, with the border or the remedy."""
    assert refusal(*given) == reason
