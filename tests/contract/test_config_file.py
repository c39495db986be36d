"""The configuration file as the executable gets it: its path, a pipe, or stdin."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from testbed.executable import EXECUTABLE, Answer, Cpi, config
from testbed.loopback import slowly

pytestmark = pytest.mark.usefixtures("warm")

NOWHERE = "http://127.0.0.1:1"
SECRET = "file-secret-2c19"


def refused(answer: Answer, *words: str) -> None:
    """Check that the file was refused in these words, and not quoted."""
    assert answer.error["type"] == "Unknown"
    for word in words:
        assert word in answer.error["message"]
    assert answer.returncode == 0
    assert SECRET not in answer.stdout.decode() + answer.stderr


def test_broken_file() -> None:
    """A file that is neither JSON nor YAML is refused by its path, and never quoted."""
    cpi = Cpi({})
    cpi.config_path.write_text(f'{{"cloud": "{SECRET}')
    refused(cpi.call("info"), f"The configuration file '{cpi.config_path}' is neither JSON (")


@pytest.fixture
def fifo() -> Cpi:
    """Return the executable with a pipe in place of its configuration file."""
    cpi = Cpi({})
    cpi.config_path.unlink()
    os.mkfifo(cpi.config_path)
    return cpi


def test_pipe(fifo: Cpi) -> None:
    """A pipe such as the shell's <(…) is read to its end."""
    with ThreadPoolExecutor(1) as writers:
        written = writers.submit(fifo.config_path.write_text, json.dumps(config(NOWHERE)))
        assert fifo.call("ping").ok() == "pong"
        written.result()


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize("has_writer", [False, True])
def test_pipe_without_end(fifo: Cpi, *, has_writer: bool) -> None:
    """A pipe without a writer, or with a slow one, is an error after a minute."""

    def write() -> None:
        with suppress(BrokenPipeError), fifo.config_path.open("wb", buffering=0) as pipe:
            pipe.writelines(slowly(b" " * 60_000))

    with ThreadPoolExecutor(1) as writers:
        written = writers.submit(write) if has_writer else None
        refused(fifo.call("info"), "it is a pipe, and its writer did not close it within 60 seconds")
        if written:
            written.result()


@pytest.mark.parametrize(
    "command", [["check", "cloud-config.yml", "--offline"], ["preflight"]], ids=lambda each: each[0]
)
def test_stdin_of_commands(command: list[str]) -> None:
    """A hyphen in place of the path is stdin for commands."""
    cpi = Cpi(config(NOWHERE, max_retries=0))
    (cpi.folder / "cloud-config.yml").write_text("azs: []")
    usual = cpi.run(*command)
    content = cpi.config_path.read_bytes()
    cpi.config_path = Path("-")
    answer = cpi.run(*command, stdin=content)
    assert (answer.returncode, answer.stdout, answer.stderr) == (usual.returncode, usual.stdout, usual.stderr)
    said = "cpi: Cannot read the configuration file '-': it is larger than 1 MiB\n"
    assert cpi.run(*command, stdin=b" " * (2 << 20)).stderr == said


@pytest.mark.parametrize("line", ['exec "$0"', 'exec "$0" "$1" "$1"'], ids=["none", "two"])
def test_number_of_paths(line: str) -> None:
    """The executable takes exactly one path; with none, or with more, it answers its usage."""
    cpi = Cpi({}, command=["/bin/sh", "-c", line, EXECUTABLE])
    refused(cpi.call("ping"), "Usage: cpi CONFIG_PATH")
