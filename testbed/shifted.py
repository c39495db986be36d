"""Runs the executable with a wrong clock: `python -P testbed/shifted.py FILE CONFIG_PATH`.

The file has the seconds by which the clock of dates is ahead. It is read each time, so the clock can jump.
"""

import datetime as dt
import runpy
import sys
import time
from pathlib import Path
from typing import Self

COMMAND = (sys.executable, "-P", __file__)
"""Before the file's name: the executable's command."""


def shift(file: Path) -> None:
    """Put another clock in place of the machine's."""
    real = time.time

    def ahead() -> float:
        return float(file.read_text())

    class Shifted(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Self:
            return super().now(tz) + dt.timedelta(seconds=ahead())

    dt.datetime = Shifted  # type: ignore[misc]
    time.time = lambda: real() + ahead()


def main() -> None:
    """Be the console script beside this interpreter."""
    shift(Path(sys.argv.pop(1)))
    sys.argv[0] = str(Path(sys.executable).parent / "cpi")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
