"""Runs the demo and the console as processes, and looks for leftovers."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from testbed.cloud import ROOT

PATIENCE = 100.0
MOMENT = 5.0
"""Seconds in which the system removes processes that have closed their files."""


class Program:
    """A module of the test bed as a process in its own session, for one `with` block."""

    def __init__(self, module: str, *arguments: str, stdin: int = subprocess.PIPE) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="program-")
        home = self._folder.name
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.defpath, "HOME": home, "TMPDIR": home},
            cwd=ROOT,
            bufsize=0,  # unbuffered: reading lines must leave the rest to `finish`
            start_new_session=True,
        )

    def read_until(self, beginning: str) -> list[str]:
        """Read lines up to and including the first one with this prefix, or to the end."""
        assert self.process.stdout is not None  # noqa: S101 - tells the type checker
        lines = []
        for line in self.process.stdout:
            lines.append(line.decode().rstrip("\n"))
            if lines[-1].startswith(beginning):
                break
        return lines

    def finish(self, stdin: str | None = None) -> tuple[str, str, int]:
        """Wait for its end; return the rest of stdout and stderr, and the exit status."""
        given = None if stdin is None else stdin.encode()
        stdout, stderr = self.process.communicate(given, timeout=PATIENCE)
        return stdout.decode(), stderr.decode(), self.process.returncode

    def signal(self, number: int) -> None:
        """Send a signal to the process and all its children, as a terminal does."""
        os.killpg(self.process.pid, number)

    def left(self) -> list[str]:
        """List its leftover files and processes, after its end; one that is ending gets a moment."""
        left = [path.name for path in Path(self._folder.name).iterdir()]
        deadline = time.monotonic() + MOMENT
        while self._has_processes():
            if time.monotonic() > deadline:
                return [*left, "a process"]
        return left

    def _has_processes(self) -> bool:
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.process.communicate()
        self._folder.cleanup()
