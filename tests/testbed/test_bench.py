"""The benchmark: its table, its limits, and one small run of it."""

from pathlib import Path

import pytest

from bosh_aws_cpi.aws.sdk import timing
from testbed.bench import forms, measuring, storm, table
from testbed.bench.light_ec2 import LightEc2
from testbed.bench.measuring import Bench, Figures
from testbed.bench.rows import MOST, PIP, RELEASE, ROWS
from testbed.bench.simulated import Simulation
from testbed.cloud import FakeAws


def figures(instructions: float | None, cpu: float = 100) -> Figures:
    """Return the figures of a form."""
    return Figures(instructions, cpu, memory=40, calls=1)


def has_vm(release: Figures) -> dict[str, dict[str, Figures]]:
    """Return the figures of a row, in which pip takes what it may."""
    pip = figures(1000 * MOST["has_vm"][PIP])
    return {"has_vm": {"boto3 script": figures(1000, 400), PIP: pip, RELEASE: release}}


def test_limits() -> None:
    """What takes more instructions than it may is listed; what was not counted is not, nor is CPU."""
    most = MOST["has_vm"][RELEASE]
    assert table.beyond(has_vm(figures(1000 * most, 9e9))) == []
    assert table.beyond(has_vm(figures(None))) == []
    assert table.beyond(has_vm(figures(1000 * (most + 0.1)))) == [
        f"has_vm, release: {most + 0.1:.2f} of the yardstick's instructions, {most:.2f} at most"
    ]
    assert {name: {*limits} for name, limits in MOST.items()} == {name: {PIP, RELEASE} for name in ROWS}


def test_table() -> None:
    """A row has its figures beside the yardstick's, and its least CPU is in one line with the others'."""
    rows = has_vm(figures(400))
    written = [" ".join(line.split()) for line in table.table(rows).splitlines()]
    assert "| has_vm | release | 400 | 0.40 | 40.0 | 40.0 | 1 |" in written
    assert "has_vm 0.25" in table.minima(rows, 3)


def test_run(fake_aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forms make the same calls over TLS with a role; what they take is not what this process takes."""
    monkeypatch.setattr(measuring, "VALGRIND", None)
    with forms.Front(fake_aws, tmp_path) as front:
        row = Bench(fake_aws, tmp_path, front).row("create_vm-tls-role", [forms.pip_form()], 1)
    script, pip = row["boto3 script"], row[PIP]
    assert (script.calls, pip.calls) == (7, 7)
    assert 0 < pip.memory < script.memory
    assert (pip.instructions, script.instructions) == (None, None)


@pytest.mark.usefixtures("fast_clock")
def test_storm() -> None:
    """Each life makes its changes once; a call that fails ends its life, and is told."""
    with LightEc2(speed=100) as ec2:
        lives = storm.storm(ec2, storm.LIVES["life"], 2, 2)
        failed = storm.storm(ec2, ["create_vm", "no_method", "delete_vm"], 1, 1)
    assert lives.failures == []
    changes = {action: lives.calls[action] for action, _ in storm.CHANGES.values()}
    assert changes == dict.fromkeys(changes, (2, 0))
    assert len(failed.failures) == 1
    assert "no_method" in failed.failures[0]
    assert "TerminateInstances" not in failed.calls


def test_throttled() -> None:
    """The stand-in throttles as EC2 does; a row's calls are told per VM, beside what its time can be."""
    with LightEc2(speed=1000) as ec2:
        ec2.buckets.fill(0.01)
        assert [ec2.answer({"Action": "RunInstances"})[0] for _ in range(6)] == [200] * 5 + [503]
    assert storm.least(["create_vm"], 100, 100) == (47.5 + 11, "RunInstances")
    assert storm.least(["delete_vm"], 64, 32) == (120, "callers")
    rows = {
        "create_vm-100": storm.Figures(
            117, 47, {"RunInstances": (99, 480), "CreateVolume": (100, 0)}, ["one"]
        )
    }
    summary = " ".join(storm.summary(rows).split())
    assert "| create_vm-100 | 100 | 100 | 117 | 58 | RunInstances | 2.00 | 47 | 1 |" in summary
    assert " ".join(storm.per_vm(rows).split()).endswith("-- | | RunInstances | 1.0 + 4.8 |")


def test_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that EC2 throttles wait and pass, unless they may not wait so long."""
    passed = Simulation(10)
    assert (passed.counts["RunInstances"], passed.counts["failed"]) == (10, 0)
    assert passed.counts["throttled RunInstances"] >= 5
    assert 5 < passed.least < passed.now
    monkeypatch.setattr(timing, "THROTTLED_LAUNCH", timing.AT_ONCE)
    failed = Simulation(10)
    assert (failed.counts["RunInstances"], failed.counts["failed"]) == (5, 5)
