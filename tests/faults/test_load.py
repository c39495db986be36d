"""Many calls at once, throttled as EC2 throttles; `make load` is the same with many more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from testbed.load import Load, Phase, least_seconds, report

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.world import World

VMS = 8
SLOW = 0.1
"""Buckets that refill a tenth as fast as EC2's: even few VMs that a slow machine starts find them empty."""


@pytest.mark.faults
@pytest.mark.usefixtures("warm")
def test_load(fake_aws: FakeAws, world: World) -> None:
    """Every call succeeds, however often it is throttled, and in the end nothing is left.

    The facts of the instance type are asked for by several processes before any has them to keep.
    """
    fake_aws.rule(action="DescribeInstanceTypes", delay=2)
    load = Load(fake_aws, world, VMS, SLOW)
    phases = list(load.run())
    assert [(phase.method, len(phase.results), phase.problems) for phase in phases] == [
        (method, VMS, [])
        for method in ("create_vm", "create_disk", "attach_disk", "detach_disk", "delete_disk", "delete_vm")
    ]
    assert world.state() == world.empty
    created = phases[0]
    assert created.calls["RunInstances"] == VMS
    assert created.slowest == "RunInstances"
    assert created.throttled["RunInstances"] == created.retries > 0
    assert created.seconds > created.least == pytest.approx((VMS - 5) / (2 * SLOW))
    assert created.calls["DescribeInstanceTypes"] > 1
    (kept,) = (load.cpi.folder / ".cache" / "bosh-aws-cpi").iterdir()
    _, facts = json.loads(kept.read_bytes())
    assert facts["name"] == "m5.large"


@pytest.mark.faults
@pytest.mark.usefixtures("warm")
def test_failure(fake_aws: FakeAws, world: World) -> None:
    """Failures are counted with their reasons, and the other calls go on."""
    denied = {"code": "UnauthorizedOperation", "message": "Not you.", "status": 403}
    fake_aws.rule(action="CreateVolume", nth=1, error=denied)
    phases = {phase.method: phase for phase in Load(fake_aws, world, 2).run()}
    (problem,) = phases["create_disk"].problems
    assert "UnauthorizedOperation: Not you." in problem
    assert [len(phases[method].results) for method in ("create_vm", "create_disk", "attach_disk")] == [
        2,
        1,
        1,
    ]
    assert "1 succeeded, 1 failed" in report(phases["create_disk"])
    assert world.state() == world.empty


def used(tokens: float, allowed: int) -> dict[str, Any]:
    """Write the figures of a bucket of 5, refilled by 2 each second."""
    return {"tokens": tokens, "allowed": allowed, "throttled": 0, "burst": 5, "rate": 2}


@pytest.mark.parametrize(
    ("before", "allowed", "speed", "least"),
    [
        ({}, 50, 1, (22.5, "RunInstances")),
        ({}, 50, 10, (2.25, "RunInstances")),
        ({}, 5, 1, (0.0, "")),
        ({"RunInstances": used(1, 10)}, 13, 1, (1.0, "RunInstances")),
        ({"RunInstances": used(5, 10)}, 10, 1, (0.0, "")),
    ],
)
def test_least_time(before: dict[str, Any], allowed: int, speed: float, least: tuple[float, str]) -> None:
    """A bucket gives what is in it at once, and the rest at its rate."""
    assert least_seconds(before, {"RunInstances": used(0, allowed)}, speed) == least


def test_report() -> None:
    """A phase is written with its time against the least that is possible, and with each problem once."""
    phase = Phase(
        method="create_vm",
        results=["i-1"],
        problems=["no room", "no room"],
        calls={"RunInstances": 3, "DescribeImages": 2},
        throttled={"RunInstances": 4},
        retries=4,
        most_retries=3,
        seconds=7.25,
        least=1.5,
        slowest="RunInstances",
    )
    assert report(phase).splitlines() == [
        "create_vm: 1 succeeded, 2 failed",
        "  time       7.2 s (1.5 s at least, for RunInstances)",
        "  calls      5 (DescribeImages 2, RunInstances 3)",
        "  throttled  4 (RunInstances 4)",
        "  retries    4, in one process 3 at most",
        "  2 x no room",
    ]
