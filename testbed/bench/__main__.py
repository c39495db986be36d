"""Compare the executable with two yardsticks, and report changes: `python -m testbed.bench`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.bench import deployment, forms, sweeping, tables, uploading, waiting
from testbed.bench.changes import changes
from testbed.bench.figures import DEPLOYMENT, INFO, PLAINS, Report, beyond, deployments
from testbed.bench.measuring import VALGRIND, Bench, BenchError
from testbed.bench.rows import ROWS
from testbed.cloud import ROOT, FakeAws

if TYPE_CHECKING:
    from testbed.bench.figures import Row
    from testbed.bench.forms import Form

PAGE = ROOT / "docs/performance.md"
DATA = ROOT / "docs/performance.json"
WAITING, UPLOADS, SWEEP = "waiting", "uploads", "sweep"
EVERYTHING = (*ROWS, DEPLOYMENT, WAITING, UPLOADS, SWEEP)
RUNS = 15


def measured(wanted: list[str], runs: int, python: Path | None = None) -> Report:
    """Measure the given rows, waiting, uploads, or the sweep; `release` on an interpreter, if one is given.

    Deployments, waiting and uploads take long: of these fewer than `runs` samples are taken.
    """
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as scratch,
        FakeAws() as fake_aws,
        forms.Front(fake_aws, folder := Path(scratch)) as front,
    ):
        bench = Bench(fake_aws, folder, front)
        started = _forms(folder, python, front.authority) if {*ROWS, DEPLOYMENT}.intersection(wanted) else []
        rows = _rows(bench, started, [method for method in ROWS if method in wanted], runs)
        if DEPLOYMENT in wanted:
            _say(DEPLOYMENT)
            rows[DEPLOYMENT] = deployment.deployment(bench, fake_aws, started, deployments(runs))
        waited, uploaded = {}, []
        if WAITING in wanted:
            _say(WAITING)
            waited = waiting.waiting(fake_aws, folder, max(1, runs // 2))
        if UPLOADS in wanted:
            _say(UPLOADS)
            uploaded = uploading.uploads(bench, fake_aws, folder, max(1, runs // 5))
    swept = sweeping.sweeping() if SWEEP in wanted else {}
    return Report(machine(python), runs, rows, waited, uploaded, swept)


def _forms(folder: Path, python: Path | None, authority: Path) -> list[Form]:
    _say("installing as the release does")
    if python is None:
        release = forms.release_form(folder, authority)
        return [*forms.bare_forms(), forms.plain_form(), forms.pip_form(), release]
    plain = [forms.plain_form(), forms.plain_form_on(python, folder)]
    release = forms.release_form_on(python, folder, authority)
    return [*forms.bare_forms(python), *plain, forms.pip_form(), release]


def _rows(bench: Bench, started: list[Form], methods: list[str], runs: int) -> dict[str, Row]:
    rows = {}
    for method in methods:
        _say(method)
        asks_aws = [form for form in started if method != INFO or form.name not in PLAINS]
        rows[method] = bench.row(method, asks_aws, runs)
    return rows


def machine(python: Path | None = None) -> str:
    """Describe this machine, and the interpreter of the release, if that is another one."""
    own = f"{platform.python_implementation()} {platform.python_version()}"
    other = f" (release: {forms.version(python)})" if python else ""
    return f"{os.cpu_count()} processors, {own}{other}, {platform.system()} {platform.machine()}"


def committed() -> Report | None:
    """Return the report of the last commit; none when it has none."""
    shown = subprocess.run(
        ["git", "show", f"HEAD:{DATA.relative_to(ROOT).as_posix()}"],  # noqa: S607 - whichever there is
        check=False,
        capture_output=True,
        cwd=ROOT,
    )
    return Report.parse(json.loads(shown.stdout)) if shown.returncode == 0 else None


def write(report: Report) -> None:
    """Write a whole report where the documentation has it."""
    DATA.write_text(json.dumps(report.document(), indent=1) + "\n")
    PAGE.write_text(tables.replaced(PAGE.read_text(), tables.report_tables(report)))


def main() -> int:
    """Measure and tell; with `--check`, exit status 1 when something takes more than it may."""
    parser = argparse.ArgumentParser(prog="python -m testbed.bench", description=__doc__)
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help="starts of each form; %(default)s"
    )
    parser.add_argument(
        "--rows",
        nargs="+",
        choices=EVERYTHING,
        default=EVERYTHING,
        metavar="ROW",
        help=f"these alone, and write nothing; of {', '.join(EVERYTHING)}",
    )
    parser.add_argument("--check", action="store_true", help="fail when something takes more than it may")
    parser.add_argument(
        "--python",
        type=Path,
        metavar="PATH",
        help="the interpreter that the release compiles, for the form `release` with the release's wheels",
    )
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs must be 1 at least")
    try:
        report = measured(arguments.rows, arguments.runs, arguments.python)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(tables.report_tables(report))
    if set(arguments.rows) == set(EVERYTHING):
        write(report)
    return _told(report, is_checked=arguments.check)


def _told(report: Report, *, is_checked: bool) -> int:
    """Print changes and exceeded limits; returns the exit status."""
    old = committed()
    found = changes(old, report) if old else ["nothing to compare with: no commit has these figures yet"]
    print("Changes against the last commit:", *(found or ["none"]), sep="\n  ")
    excess = beyond(report)
    if report.rows and VALGRIND is None:
        print("Instructions: not counted and not judged, because valgrind is not installed")
    print("More than it may be:", *(excess or ["nothing"]), sep="\n  ")
    return 1 if is_checked and excess else 0


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
