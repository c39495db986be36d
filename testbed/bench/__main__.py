"""Compare the executable's instructions with a plain boto3 script's: `python -m testbed.bench`."""

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

from testbed.bench import forms, table
from testbed.bench.measuring import VALGRIND, Bench, BenchError, Figures
from testbed.bench.rows import ROWS
from testbed.cloud import ROOT, FakeAws

PAGE = ROOT / "docs/performance.md"
RUNS = 12


def measured(wanted: list[str], runs: int) -> dict[str, dict[str, Figures]]:
    """Measure the given rows."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as scratch,
        FakeAws() as fake_aws,
        forms.Front(fake_aws, folder := Path(scratch)) as front,
    ):
        _say("installing as the release does")
        executables = [forms.pip_form(), forms.release_form(folder, front.authority)]
        bench = Bench(fake_aws, folder, front)
        rows = {}
        for name in wanted:
            _say(name)
            rows[name] = bench.row(name, executables, runs)
        return rows


def machine() -> str:
    """Describe this machine and its interpreter."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} processors, {python}, {platform.system()} {platform.machine()}"


def main() -> int:
    """Measure and tell; with `--check`, exit status 1 when something takes more than it may."""
    parser = argparse.ArgumentParser(prog="python -m testbed.bench", description=__doc__)
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help="starts of each form; %(default)s"
    )
    parser.add_argument(
        "--rows",
        nargs="+",
        choices=[*ROWS],
        default=[*ROWS],
        metavar="ROW",
        help=f"these alone, and write nothing; of {', '.join(ROWS)}",
    )
    parser.add_argument("--check", action="store_true", help="fail when something takes more than it may")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs must be 1 at least")
    try:
        rows = measured(arguments.rows, arguments.runs)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    text = "\n\n".join([f"{machine()}.", table.table(rows), table.minima(rows, arguments.runs)])
    excess = table.beyond(rows)
    print(text)
    if set(arguments.rows) == set(ROWS):
        PAGE.write_text(table.replace(PAGE.read_text(), text))
    if VALGRIND is None:
        print("Instructions: not counted and not judged, because valgrind is not installed")
    print("More than it may be:", *(excess or ["nothing"]), sep="\n  ")
    return 1 if arguments.check and excess else 0


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
