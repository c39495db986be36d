"""Logging to stderr."""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from bosh_aws_cpi import log
from bosh_aws_cpi.redact import Redactor

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} "


class Stderr:
    """What the program logs to."""

    def __init__(self, file: IO[str]) -> None:
        """Take a new file."""
        self.file = file

    def getvalue(self) -> str:
        """Return what was logged."""
        self.file.seek(0)
        return self.file.read()

    def lines(self) -> list[str]:
        """Return what was logged, line by line, without the time."""
        return [re.sub(STAMP, "", line) for line in self.getvalue().splitlines()]


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Stderr]:
    """Log as the program does, and give everything back."""
    monkeypatch.setattr(log, "logger", log.Log())
    monkeypatch.setattr(log, "redact", Redactor())
    with (tmp_path / "stderr").open("w+") as file:
        log.start()
        log.logger.descriptor = file.fileno()
        yield Stderr(file)


def test_traceback(stderr: Stderr) -> None:
    """Every line of a traceback has the request id and a mark, so that it can't look like a message."""

    def fail() -> None:
        raise ValueError("wrong\nforged")

    log.set_request_id("cpi-1")
    try:
        fail()
    except ValueError:
        log.logger.exception("failed")
    lines = stderr.getvalue().splitlines()
    assert len(lines) > 3
    assert lines[0].endswith("[req_id cpi-1] ERROR: failed")
    assert all(re.match(STAMP + r"\[req_id cpi-1\] ERROR: \| ", line) for line in lines[1:])
    assert lines[-1].endswith("| forged")


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [(0, "hour", "0 hours"), (1, "hour", "1 hour"), (1.4, "hour", "1 hour"), (2, "address", "2 addresses")],
)
def test_counted(number: float, noun: str, said: str) -> None:
    """A noun is in the singular only after a one that is shown."""
    assert log.pluralize(number, noun) == said


@pytest.mark.parametrize(("level", "is_whole"), [("debug", True), ("info", False), ("error", False)])
def test_long_message(level: str, stderr: Stderr, *, is_whole: bool) -> None:
    """A long message lacks its middle, unless all is to be logged; what is said of its length is true."""
    log.set_level(level)
    begin, end = "b" * log.HEAD, "e" * log.TAIL
    log.logger.error(begin + end)
    log.logger.error(f"{begin}7 chars{end}")
    middle = "7 chars" if is_whole else "… (7 characters at log level debug) …"
    assert stderr.lines() == [f"ERROR: {begin}{end}", f"ERROR: {begin}{middle}{end}"]


def test_whole_message(stderr: Stderr) -> None:
    """Messages that must be read as a whole are logged whole, and so is the place of a bug."""
    text = "x" * (log.HEAD + log.TAIL + 7)
    log.logger.info(text, is_whole=True)
    try:
        json.loads("")
    except ValueError:
        log.logger.exception("failed for %s", text)
    lines = stderr.lines()
    assert lines[:2] == [f"INFO: {text}", f"ERROR: failed for {text}"]
    assert lines[-1].startswith("ERROR: | json.decoder.JSONDecodeError: ")


@pytest.mark.parametrize(
    ("before", "after"), [(log.HEAD - 10, log.TAIL + 20), (log.HEAD + 20, log.TAIL - 10)]
)
def test_secret_at_the_cut(stderr: Stderr, before: int, after: int) -> None:
    """No half of a secret is left where a message is cut."""
    log.redact.learn({"password": "hunter2-hunter2"})
    log.logger.info("%s hunter2-hunter2%s", "x" * before, "x" * after)
    assert "hunter" not in stderr.getvalue()
    assert "at log level debug" in stderr.getvalue()


def test_stderr_that_nobody_reads(stderr: Stderr) -> None:
    """A log line that can't be written ends no call."""
    stderr.file.close()
    log.logger.info("text")


def test_line_that_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that stderr takes a part of is counted as dropped, and the next one begins anew."""
    monkeypatch.setattr(log, "PATIENCE", 0)
    log_to_pipe = log.Log()
    reader, log_to_pipe.descriptor = os.pipe()
    size = fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ)
    log_to_pipe.info("x" * size, is_whole=True)
    log_to_pipe.info("lost")
    assert re.fullmatch(STAMP + "INFO: x+", os.read(reader, size).decode())
    log_to_pipe.info("next")
    _, count, line = os.read(reader, size).decode().split("\n")[:3]
    assert re.fullmatch(STAMP + "WARNING: 2 log lines dropped here, .*", count)
    assert line.endswith("INFO: next")
    os.close(reader)
    os.close(log_to_pipe.descriptor)


class Wordless:
    """A value that can't be written."""

    def __str__(self) -> str:
        """Fail as a library's error may whose fields are missing."""
        raise KeyError


@pytest.mark.parametrize(("text", "value"), [("%d", "text"), ("%s", Wordless())], ids=["form", "value"])
def test_message_that_does_not_fit_its_arguments(text: str, value: object, stderr: Stderr) -> None:
    """A log line that can't be composed ends no call."""
    log.logger.info(text, value)
    assert stderr.lines() == []
