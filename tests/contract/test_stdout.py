"""Stdout carries the response and nothing else, and the exit status says whether it could."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.executable import EXECUTABLE, Cpi, config, finish
from tests.protocols import Checked

NOWHERE = "http://127.0.0.1:1"
NOISE = "noise of a library"
FULL = ["/dev/full"] if Path("/dev/full").exists() else []
"""A file that takes nothing; not every system has one."""

NOISY = """
import os, subprocess, sys
from bosh_aws_cpi.process import run
from bosh_aws_cpi.cpi import info
quiet = info.ping
def ping(cloud):
    {statement}
    return quiet(cloud)
info.ping = ping
run()
"""
"""The executable, with a ping that does something on its way."""

ORPHANED = """
import os, sys
reader, writer = os.pipe()
os.close(reader)
os.dup2(writer, {descriptor})
os.execv(sys.argv[1], sys.argv[1:])
"""
"""The executable, with a stream that nobody reads any more."""

STATEMENTS = {
    "original": f"print({NOISE!r}, file=sys.__stdout__, flush=True)",
    "descriptor": f"os.write(1, {NOISE.encode()!r})",
    "child": f"subprocess.run(['/bin/echo', {NOISE!r}], check=True)",
}


def noisy(statement: str) -> list[str]:
    """Return the command of an executable whose ping does something on its way."""
    return [sys.executable, "-c", NOISY.format(statement=statement)]


def shell(line: str, *command: str) -> Cpi:
    """Return a command behind a shell, which gets it and the configuration's path as its arguments."""
    return Cpi(config(NOWHERE), command=["/bin/sh", "-c", line, "sh", *(command or [EXECUTABLE])])


def orphaned(descriptor: int, *command: str) -> Cpi:
    """Return a command with a stream that nobody reads any more."""
    code = ORPHANED.format(descriptor=descriptor)
    return Cpi(config(NOWHERE), command=[sys.executable, "-c", code, *(command or [EXECUTABLE])])


@pytest.mark.parametrize(("kind", "stderr"), [*((kind, "") for kind in STATEMENTS), ("child", " 2>&-")])
def test_noise(result: Checked, kind: str, stderr: str) -> None:
    """Output of libraries and child processes goes to stderr, or is dropped when that is closed."""
    answer = shell(f'exec "$@"{stderr}', *noisy(STATEMENTS[kind])).call("ping")
    assert result(answer) == "pong"
    assert (NOISE in answer.stderr) is (not stderr)


def test_noise_without_reader(result: Checked) -> None:
    """Output of a library is dropped if stderr has no reader; the call succeeds."""
    assert result(orphaned(2, *noisy(f"print({NOISE!r})")).call("ping")) == "pong"


@pytest.mark.parametrize("stderr", ["&-", *FULL])
def test_no_stderr(result: Checked, stderr: str) -> None:
    """Without a stderr to log to, the call is answered all the same."""
    assert result(shell(f'exec "$@" 2>{stderr}').call("ping")) == "pong"


@pytest.mark.parametrize(
    ("stdout", "said"),
    [
        ("&-", "stdout is closed: no response can be written, so the call is not executed"),
        *((full, 'and did not read the response: {"result":"pong"') for full in FULL),
    ],
)
def test_no_stdout(stdout: str, said: str) -> None:
    """A response that could not be written shows in the exit status and the log, without a traceback."""
    answer = shell(f'exec "$@" >{stdout}').call("ping")
    assert answer.returncode == 1
    assert answer.stdout == b""
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr


def test_no_stdout_and_no_stderr() -> None:
    """Without any place to tell it, the exit status still does."""
    answer = shell('exec "$@" <&- >&- 2>&-').call("ping")
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, b"", "")


def test_no_reader_of_stdout() -> None:
    """A caller that is gone shows in the exit status and the log, without a traceback."""
    answer = orphaned(1).call("ping")
    assert answer.returncode == 1
    assert "Traceback" not in answer.stderr
    assert '"result":"pong"' in answer.stderr


@pytest.mark.parametrize(
    ("command", "stdout", "why"),
    [
        ('check "$2" --offline -', ">&- <<.\nazs: []\n.\n", "can't write to stdout: it is closed"),
        *(("help", f">{full}", "can't write to stdout: No space left on device") for full in FULL),
    ],
)
def test_command_without_stdout(command: str, stdout: str, why: str) -> None:
    """A command whose report can't be written says so in one line, and fails."""
    answer = shell(f'exec "$1" {command} {stdout}').call("ping")
    assert answer.stderr == f"cpi: {why}\n"
    assert answer.returncode == 2


def test_long_response(early: Checked) -> None:
    """A response longer than a pipe holds arrives as a whole."""
    answer = Cpi(config(NOWHERE)).call("\U000e0041" * 10_000)
    assert len(answer.stdout) > 1 << 16
    assert early(answer)[1].endswith(r"\udb40\udc41'")


def test_ascii(early: Checked) -> None:
    """A response is ASCII alone, so that it reads the same in every encoding."""
    answer = Cpi(config(NOWHERE), env={"LC_ALL": "C", "PYTHONIOENCODING": "latin-1"}).call("größe 😀")
    assert answer.stdout.isascii()
    assert "größe 😀" in early(answer)[1]


def test_child_does_not_keep_stdout_open(result: Checked, tmp_path: Path) -> None:
    """A child process that outlives the call does not keep stdout open, for which the caller would wait."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    statement = f"subprocess.Popen(['/bin/cat', {str(fifo)!r}], close_fds=False)"
    cpi = Cpi(config(NOWHERE), command=noisy(statement))
    process = cpi.start("ping")
    assert process.stdout is not None
    stdout = process.stdout.read()
    with fifo.open("wb") as end_of_child:  # opens only because the child is there to read
        end_of_child.write(NOISE.encode())
    answer = replace(finish(process), stdout=stdout)
    assert NOISE in answer.stderr
    assert result(answer) == "pong"
