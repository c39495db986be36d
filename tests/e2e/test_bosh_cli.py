"""The CLI of the test bed: nothing that it started outlives a run, and its own exit status comes through."""

import os
import select
import subprocess
from pathlib import Path

import pytest

from testbed import bosh_cli

# As the CLI starts packaging scripts: in a process group of their own, and here even in another session.
LINGERS = """#!/bin/sh
setsid sh -c 'echo here; exec sleep 1000' >"$HOME/fifo" 2>/dev/null </dev/null &
wait
"""


@pytest.fixture
def bosh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bosh_cli.Bosh:
    """Return the CLI, of which the executable is still to be written; its home has a pipe in it."""
    monkeypatch.setattr(bosh_cli, "TOOLS", tmp_path)
    made = bosh_cli.Bosh(tmp_path / "home of mine")
    os.mkfifo(tmp_path / "home of mine" / "fifo")
    return made


def write(folder: Path, script: str) -> None:
    """Write what stands for the executable."""
    (folder / "bosh").write_text(script)
    (folder / "bosh").chmod(0o755)


def test_nothing_outlives_a_run_that_is_cut_short(
    bosh: bosh_cli.Bosh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a run takes too long, all that it started ends with it, whatever its process group."""
    write(tmp_path, LINGERS)
    monkeypatch.setattr(bosh_cli, "PATIENCE", 3.0)
    pipe = os.open(tmp_path / "home of mine" / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            bosh.run("create-env")
        said = os.read(pipe, 100)
        ready, _, _ = select.select([pipe], [], [], 20)
        assert ready, "what writes to the pipe is still there"
        assert (said, os.read(pipe, 100)) == (b"here\n", b"")
    finally:
        os.close(pipe)
