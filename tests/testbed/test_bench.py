"""The benchmark: its table, its limits, and one small run of it."""

from pathlib import Path

import pytest

from testbed.bench import forms, measuring, table
from testbed.bench.measuring import Bench, Figures
from testbed.bench.rows import MOST, PIP, RELEASE, ROWS
from testbed.cloud import FakeAws


def figures(instructions: float | None, cpu: float = 100) -> Figures:
    """Return the figures of a form."""
    return Figures(instructions, cpu, memory=40, stderr=150, calls=1)


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
    most = MOST["has_vm"][RELEASE]
    assert f"| has_vm | release | 400 | 1,000 | 0.40 | {most:.2f} | 40.0 | 40.0 | 1 | 150 |" in written
    assert "has_vm 0.25" in table.minima(rows, 3)


def test_run(fake_aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forms make the same calls over TLS with a role; what they take is not what this process takes."""
    monkeypatch.setattr(measuring, "VALGRIND", None)
    with forms.Front(fake_aws, tmp_path) as front:
        row = Bench(fake_aws, tmp_path, front).row("create_vm-tls-role", [forms.pip_form()], 1)
    script, pip = row["boto3 script"], row[PIP]
    assert (script.calls, pip.calls) == (7, 7)
    assert 0 < pip.memory < script.memory
    assert script.stderr == 0 < pip.stderr
    assert (pip.instructions, script.instructions) == (None, None)
