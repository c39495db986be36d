"""The benchmark: its arithmetic, its tables, and one small run of it."""

from __future__ import annotations

import hashlib
import json
import runpy
import sys
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.tools.strays import Inventory
from bosh_release import install
from testbed.bench import __main__ as program
from testbed.bench import deployment, forms, measuring, sweeping, tables
from testbed.bench.changes import changes
from testbed.bench.figures import (
    BARE,
    ISOLATED,
    MOST_INSTRUCTIONS,
    PIP,
    PLAIN,
    PLAIN_OF_RELEASE,
    RELEASE,
    Report,
    Spread,
    Starts,
    Upload,
    above_bare,
    beyond,
    growth,
    of_bare,
    of_plain,
    of_yardstick,
    spread,
)
from testbed.bench.measuring import Bench, BenchError, Start, check_alike
from testbed.bench.rows import ROWS
from testbed.executable import DIRECTOR_UUID
from testbed.tls import Authority

if TYPE_CHECKING:
    from pathlib import Path

    from testbed.cloud import FakeAws


VM, DISK = "i-0f0d4f4e33e33ec9c", "vol-65cad0d4c74887a1f"
"""A VM of the recorded deployment, and its disk."""


def started(cpu: float, *, calls: int = 1, instructions: float | None = None) -> Starts:
    """Return the cost of some starts."""
    each, memory = Spread(cpu, cpu - 1, cpu + 1), Spread(40, 39, 41)
    return Starts(each, each, memory, modules=300, calls=calls, stderr=150, instructions=instructions)


@pytest.fixture
def report() -> Report:
    """Return a report in which every figure just meets its limit."""
    bare = {ISOLATED: started(8, instructions=20), BARE: started(12, instructions=30)}
    plain = {PLAIN: started(400, instructions=1500)}
    return Report(
        machine="2 processors",
        runs=15,
        rows={
            "info": {**bare, **at_limits("info", {PIP: (30, 30), RELEASE: (24, 20)})},
            "has_vm": {**bare, **plain, **at_limits("has_vm", {PIP: (280, 1500), RELEASE: (200, 1500)})},
        },
        waiting={"5 to 10": Spread(0.5, 0.2, 0.8)},
        uploads=[Upload(0.05, Spread(7, 6, 8), Spread(28, 27, 29))],
        sweep={"500": 10, "5000": 300},
    )


def at_limits(name: str, figures: dict[str, tuple[float, float]]) -> dict[str, Starts]:
    """Return starts from their CPU and the instructions of their yardstick, of which they take the most."""
    return {
        form: started(cpu, instructions=instructions * MOST_INSTRUCTIONS[name][form] * 0.9999)
        for form, (cpu, instructions) in figures.items()
    }


def with_has_vm(report: Report, ours: Starts) -> Report:
    """Return the report with another figure for has_vm of the release."""
    return replace(report, rows={**report.rows, "has_vm": {**report.rows["has_vm"], RELEASE: ours}})


@pytest.mark.parametrize(
    ("values", "expected"),
    [([7.0], (7, 7, 7)), ([5, 1, 4, 2, 3], (3, 2, 4)), ([2.0, 1.0], (1.5, 1.25, 1.75))],
)
def test_spread(values: list[float], expected: tuple[float, float, float]) -> None:
    """A spread has the median and the quartiles, for a single value too."""
    assert spread(values) == expected


def test_yardsticks(report: Report) -> None:
    """Each form is compared with an interpreter that is started the same way, and with the plain script."""
    info, has_vm = report.rows["info"], report.rows["has_vm"]
    assert [round(above_bare(info, name), 1) for name in (PIP, RELEASE)] == [18.0, 16.0]
    assert [round(of_bare(info, name), 2) for name in (PIP, RELEASE)] == [1.5, 2.0]
    assert [of_plain(has_vm, name) for name in (PIP, RELEASE)] == [0.7, 0.5]
    assert of_plain(info, PIP) is None


def test_limits(report: Report) -> None:
    """Figures at their limit pass; figures above it are listed with the limit. CPU is not judged."""
    assert beyond(report) == []
    assert beyond(with_has_vm(report, replace(report.rows["has_vm"][RELEASE], cpu=Spread(9e9, 0, 9e9)))) == []
    most = MOST_INSTRUCTIONS["info"][RELEASE], MOST_INSTRUCTIONS["has_vm"][RELEASE]
    info = {**report.rows["info"], RELEASE: started(24, instructions=20 * (most[0] + 1))}
    slow = with_has_vm(replace(report, rows={**report.rows, "info": info}), started(200, instructions=3000))
    assert beyond(slow) == [
        f"info, release: {most[0] + 1:.2f} of the yardstick's instructions, {most[0]:.2f} at most",
        f"has_vm, release: 2.00 of the yardstick's instructions, {most[1]:.2f} at most",
    ]


def test_every_row_has_a_limit() -> None:
    """No row of a method goes unjudged in either form."""
    assert {name: {*limits} for name, limits in MOST_INSTRUCTIONS.items()} == {
        name: {PIP, RELEASE} for name in ROWS
    }


def test_yardstick_of_instructions(report: Report) -> None:
    """The release is compared with the script on its own interpreter; without counts there is no ratio."""
    row = {**report.rows["has_vm"], PIP: started(1, instructions=600), RELEASE: started(1, instructions=600)}
    assert [of_yardstick(row, name) for name in (PIP, RELEASE)] == [0.4, 0.4]
    row[PLAIN_OF_RELEASE] = started(1, instructions=1200)
    assert [of_yardstick(row, name) for name in (PIP, RELEASE)] == [0.4, 0.5]
    assert of_yardstick({**row, RELEASE: started(1)}, RELEASE) is None
    assert of_yardstick({**row, PLAIN: started(1)}, PIP) is None


def test_limit_of_the_sweep(report: Report) -> None:
    """The time for each volume may not grow with their number."""
    quadratic = {"500": 10.0, "5000": 1000.0}
    assert growth(quadratic) == 10
    assert beyond(replace(report, sweep=quadratic)) == [
        "sweep: each of many volumes is judged 10.0 times as long, 3.0 at most"
    ]


def test_sweep() -> None:
    """Resources of each sort that is compared with others are judged, and many of them are strays."""
    found = Inventory(DIRECTOR_UUID, sweeping.made_up(40)).strays()
    assert {each.resource.kind for each in found} == {"AMI", "volume"}
    assert len({each.why.partition(" vol")[0] for each in found}) > 2
    swept = sweeping.sweeping()
    assert [int(size) for size in swept] == [500, 5000]
    assert 0 < swept["500"] < swept["5000"]


@pytest.mark.parametrize(
    ("after", "seconds", "expected"),
    [
        ("15 to 20", 1.0, []),
        ("15 to 20", 1.01, ["a change after 15 to 20 s is noticed 1.01 s later, 1.0 s at most"]),
        ("40 to 60", 4.0, []),
        ("40 to 60", 4.1, ["a change after 40 to 60 s is noticed 4.10 s later, 4.0 s at most"]),
    ],
)
def test_limits_of_waiting(report: Report, after: str, seconds: float, expected: list[str]) -> None:
    """A change is noticed within a second at first, later within a tenth of the wait."""
    assert beyond(replace(report, waiting={after: Spread(seconds, 0, 9)})) == expected


@pytest.mark.parametrize(
    ("instructions", "options", "status"), [(150, ["--check"], 0), (3000, [], 0), (3000, ["--check"], 1)]
)
def test_check(
    report: Report, monkeypatch: pytest.MonkeyPatch, instructions: float, options: list[str], status: int
) -> None:
    """Only with `--check` an exceeded limit is a failure."""
    found = with_has_vm(report, started(200, instructions=instructions))
    monkeypatch.setattr(program, "measured", lambda *_: found)
    monkeypatch.setattr(program, "committed", lambda: None)
    monkeypatch.setattr(sys, "argv", ["bench", "--rows", "has_vm", *options])
    assert program.main() == status


def test_without_valgrind(
    report: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where instructions can't be counted, it is said that they were not judged."""
    uncounted = with_has_vm(report, started(200))
    monkeypatch.setattr(program, "measured", lambda *_: uncounted)
    monkeypatch.setattr(program, "committed", lambda: None)
    monkeypatch.setattr(program, "VALGRIND", None)
    monkeypatch.setattr(sys, "argv", ["bench", "--rows", "has_vm", "--check"])
    assert program.main() == 0
    assert (
        "Instructions: not counted and not judged, because valgrind is not installed"
        in capsys.readouterr().out
    )


def test_report_is_kept_as_json(report: Report) -> None:
    """A report is the same after it was written and read."""
    assert Report.parse(json.loads(json.dumps(report.document()))) == report


def test_changes(report: Report) -> None:
    """Changed ratios are listed if they exceed the noise, and all changed counts."""
    row = {**report.rows["has_vm"], RELEASE: started(200, instructions=600)}
    report = replace(report, rows={"has_vm": row})
    assert changes(report, with_has_vm(report, started(202, instructions=601))) == []
    faster = with_has_vm(report, replace(started(100, calls=2, instructions=450), modules=299))
    assert changes(report, faster) == [
        "has_vm, release, instructions of the yardstick's: 0.4 → 0.3 (-25%)",
        "has_vm, release, CPU of the boto3 script's: 0.5 → 0.25 (-50%)",
        "has_vm, release, CPU above Python's, of Python's alone: 24 → 11.5 (-52%)",
        "has_vm, release, modules: 300 → 299 (-0%)",
        "has_vm, release, calls: 1 → 2 (+100%)",
    ]


def test_changes_beyond_starts(report: Report) -> None:
    """Waiting and uploads are compared too, where both reports have them."""
    slower = replace(
        report,
        waiting={"5 to 10": Spread(1, 1, 1)},
        uploads=[Upload(0.05, Spread(7, 7, 7), Spread(14, 14, 14))],
        sweep={"500": 10, "5000": 100},
    )
    assert changes(report, slower) == [
        "a change after 5 to 10 s is noticed, seconds: 0.5 → 1 (+100%)",
        "sweep, time for each of many volumes: 3 → 1 (-67%)",
        "upload with 50 ms per answer, of the sequential loop's: 4 → 2 (-50%)",
    ]
    assert changes(report, replace(slower, rows={}, waiting={}, uploads=[], sweep={})) == []


def test_tables(report: Report) -> None:
    """The tables contain the ratios and their parts; the bare interpreter is shown once."""
    written = [" ".join(line.split()) for line in tables.report_tables(report).splitlines()]
    assert "| has_vm | release | 192.0 ms | 24.00 | 0.50 | 0.50 |" in written
    assert "| has_vm | pip | 280.0 | 280.0 | 40.0 | 300 | 1 | 150 |" in written
    most = MOST_INSTRUCTIONS["info"][RELEASE]
    assert f"| info | release | {20 * most:.0f} | 20 | {most:.2f} | {most:.2f} |" in written
    assert "| 5000 | 300 ms | 60 µs: 3.0 times, 3.0 at most |" in written
    assert "| 5 to 10 s | 0.50 s | 0.20 to 0.80 s | 1.0 s |" in written
    assert "| 50 ms | 7.0 MiB/s (6.0 to 8.0) | 28.0 MiB/s (27.0 to 29.0) | 4.0 times |" in written
    assert [line for line in written if f"| {ISOLATED} |" in line][1:] == []


def test_script_on_the_interpreter_of_the_release(report: Report) -> None:
    """Where the script was started on the release's interpreter too, the release is compared with both."""
    row = {**report.rows["has_vm"], PLAIN_OF_RELEASE: started(320)}
    written = tables.ratios(replace(report, rows={"has_vm": row}))
    pip, release = [" ".join(line.split()) for line in written.splitlines()[-2:]]
    assert pip == "| has_vm | pip | 268.0 ms | 22.33 | 0.70 | 0.70 |"
    assert release == "| has_vm | release | 192.0 ms | 24.00 | 0.50 | 0.62 |"


def test_page() -> None:
    """Only the text between the markers is replaced; a page without markers is not changed."""
    page = f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n"
    assert tables.replaced(page, "new\n") == f"before\n{tables.BEGIN}\n\nnew\n\n{tables.END}\nafter\n"
    with pytest.raises(ValueError, match="the page has no"):
        tables.replaced("before", "new")


def test_page_holds_the_data() -> None:
    """docs/performance.md contains the tables of docs/performance.json."""
    kept = Report.parse(json.loads(program.DATA.read_text()))
    page = program.PAGE.read_text()
    assert tables.replaced(page, tables.report_tables(kept)) == page


def test_flags() -> None:
    """The release's form is started with the options of the job's template."""
    assert forms.flags(forms.TEMPLATE.read_text())[:2] == ["-I", "-S"]
    with pytest.raises(ValueError, match="starts no interpreter"):
        forms.flags("exec ruby")


def test_sources(tmp_path: Path) -> None:
    """The release's installer gets wheels of the installed packages, with matching hashes."""
    folder = forms.laid_sources(tmp_path, ["six"])
    [(sha256, name)] = [line.split() for line in (folder / install.HASHES).read_text().splitlines()]
    assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256
    with zipfile.ZipFile(folder / name) as wheel:
        modules = [each for each in wheel.namelist() if ".dist-info/" not in each]
    assert modules == ["six.py"]


def test_trust(tmp_path: Path) -> None:
    """The release's package trusts the front by a folder that stands for the machine's."""
    folder = forms.laid_sources(tmp_path, ["six"])
    forms.trust(folder, Authority(tmp_path, "front").path)
    said = runpy.run_path(str(folder / "bosh_release" / install.ROOTS))
    assert said["where"]() == str(folder / "roots")


def test_forms_make_the_same_calls() -> None:
    """Forms that ask AWS for different things are not compared."""
    check_alike("has_vm", {PIP: ("DescribeInstances",), PLAIN: ("DescribeInstances",)})
    with pytest.raises(BenchError, match=r"has_vm: .* different calls"):
        check_alike("has_vm", {PIP: ("DescribeInstances",), PLAIN: ()})


def test_run(fake_aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run reports the cost of each start by itself: a small process is smaller than its parent."""
    monkeypatch.setattr(measuring, "VALGRIND", None)
    started_in_turn = [*forms.bare_forms(), forms.plain_form(), forms.pip_form()]
    row = Bench(fake_aws, tmp_path).row("create_vm", started_in_turn, 1)
    assert list(row) == [ISOLATED, BARE, PLAIN, PIP]
    assert [each.calls for each in row.values()] == [0, 0, 5, 5]
    assert 0 < row[BARE].cpu.median < row[PIP].cpu.median < row[PIP].wall.median
    assert 2 * row[BARE].memory.median < row[PIP].memory.median
    modules = [row[name].modules or 0 for name in (ISOLATED, BARE, PIP)]
    assert 0 < modules[0] < modules[1] < 100 < modules[2]
    assert row[PLAIN].stderr == 0 < row[PIP].stderr
    assert {each.instructions for each in row.values()} == {None}


def test_production(fake_aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forms make the same calls over TLS with a role: its own AssumeRole is one, as production has it."""
    monkeypatch.setattr(measuring, "VALGRIND", None)
    compared = [forms.plain_form(), forms.pip_form()]
    with forms.Front(fake_aws, tmp_path) as front:
        row = Bench(fake_aws, tmp_path, front).row("create_vm-tls-role", compared, 1)
        actions = {call.action for call in front.calls}
    assert [each.calls for each in row.values()] == [6, 6]
    assert {"AssumeRole", "RunInstances"} <= actions


@pytest.mark.skipif(measuring.VALGRIND is None, reason="valgrind counts instructions, and is not installed")
def test_instructions(fake_aws: FakeAws, tmp_path: Path) -> None:
    """Counts of the same start are alike, and are in millions."""
    bench, bare = Bench(fake_aws, tmp_path), forms.bare_forms()[1]
    first, second = (bench.row("info", [bare], 1)[BARE].instructions for _ in range(2))
    assert first == pytest.approx(second, rel=0.005)
    assert 1 < (first or 0) < 1000


def test_deployment(fake_aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment is the recorded Director's calls; the plain script makes the same calls to AWS.

    Here it is one VM's part of the recording, and one info.
    """
    info, *lines = deployment.RECORDED.read_text().splitlines()
    lines = [info, *(each for each in lines if VM in each or DISK in each)]
    monkeypatch.setattr(deployment, "RECORDED", tmp_path / "part.jsonl")
    deployment.RECORDED.write_text("\n".join(lines))
    compared = [forms.bare_forms()[1], forms.plain_form(), forms.pip_form()]
    row = deployment.deployment(Bench(fake_aws, tmp_path), fake_aws, compared, 1)
    assert list(row) == [BARE, PLAIN, PIP]
    assert [each.calls for each in row.values()] == [0, 14, 14]
    assert [each.modules for each in row.values()] == [None] * 3
    assert 0 < row[BARE].cpu.median < row[PIP].cpu.median
    assert row[PIP].memory.median < row[PLAIN].memory.median
    assert row[PLAIN].stderr == 0 < row[PIP].stderr


def test_total() -> None:
    """The starts of a deployment are added up, except for the memory."""
    starts = [Start(10, 8, 40, 100, ("B",)), Start(20, 9, 30, 50, ("A", "B"))]
    assert deployment.total(starts) == Start(30, 17, 40, 150, ("A", "B", "B"))


def test_number_of_deployments(report: Report) -> None:
    """The tables say that a deployment was measured less often."""
    assert tables.report_tables(report).startswith("2 processors; 15 starts of each.\n")
    deployed = replace(report, rows={"deployment": report.rows["has_vm"]})
    assert tables.report_tables(deployed).startswith("2 processors; 15 starts of each, deployments 3.\n")


def test_rows_without_modules(report: Report) -> None:
    """Where no modules were counted, the table says so, and none are compared."""
    uncounted = with_has_vm(report, replace(started(200), modules=None))
    assert "| - | 1 | 150 |" in " ".join(tables.report_tables(uncounted).split())
    assert changes(report, uncounted) == changes(uncounted, report) == []


def test_failure(fake_aws: FakeAws, tmp_path: Path) -> None:
    """A failed call is reported, not measured."""
    fake_aws.rule(action="DescribeInstances", error={"code": "UnauthorizedOperation", "message": "no"})
    with pytest.raises(BenchError, match=r"has_vm failed.*UnauthorizedOperation"):
        Bench(fake_aws, tmp_path).start(forms.pip_form(), "has_vm", ["i-0123456789abcdef0"])
