"""Logging: to stderr, each line with the request's id, and without secrets.

It does not use `logging`, which with all that it imports would take a quarter of `info`: each call writes to
one stream, in one form. It does not write through `sys.stderr`, which waits for ever when a pipe is full.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Iterable
from typing import Final

from bosh_aws_cpi.redact import Redactor

DEBUG, INFO, WARNING, ERROR = 10, 20, 30, 40
LEVELS: Final = {"debug": DEBUG, "info": INFO, "warn": WARNING, "error": ERROR}
"""The levels by their names in the configuration."""
NAMES: Final = {DEBUG: "DEBUG", INFO: "INFO", WARNING: "WARNING", ERROR: "ERROR"}
"""The levels as they appear in the log."""

HEAD, TAIL = 300, 200
"""The characters that a long log message keeps: of its beginning, which names the resource, and of its end,
which has the remedy. The Director reads stderr byte by byte. Nothing is cut at level debug."""
IN_RESPONSE: Final = 10
"""How many times as much a message of the response keeps: a launch may have been refused by many types."""
NEAR_SECURITY: Final = 0.7
"""How alike (see `nearest`) an unknown key must be to one that decides on security, to be refused for it."""
_STDERR: Final = 2
PATIENCE: Final = 5.0
"""How many seconds, in all, a process waits for the reader of a full stderr, before it drops log lines."""
_LAST_PATIENCE: Final = 1.0
"""How many seconds it waits for the reader at its end, to tell how many lines were dropped."""

redact: Final = Redactor()
"""The process's only redactor: all log lines and errors go through it."""


def printable(text: str) -> str:
    """Text for people, on one line: characters that show nothing, or steer a terminal, are escaped.

    These are line breaks, control and format characters, and everything else that Python does not call
    printable. The escapes are JSON's, so a JSON document keeps its meaning.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def counted(number: float, noun: str) -> str:
    """A number of things: "1 minute", "2 minutes", "2 addresses"."""
    shown = f"{number:.0f}"
    plural = "es" if noun.endswith("s") else "s"
    return f"{shown} {noun}{'' if shown == '1' else plural}"


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known name that a mistyped one is most like, in whatever case; empty if it is like none.

    Args:
        name: The mistyped name.
        known: The known names.
        cutoff: How alike they must be, from 0 to 1.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - few calls have a mistyped name

    lower = {each.lower(): each for each in known}
    return next((lower[each] for each in get_close_matches(name.lower(), lower, n=1, cutoff=cutoff)), "")


class Log:
    """The process's log. A message is a %-format; no message ends a call, even if it can't be written."""

    def __init__(self) -> None:
        self.descriptor: int | None = None
        """Nothing is logged before `start`, and nothing if the process has no stderr."""
        self.level = INFO
        self.request_id: str | None = None
        self._patience = PATIENCE
        self._dropped = 0
        self._is_cut = False
        """Whether the last line that was written lacks its end."""

    def debug(self, text: str, *arguments: object) -> None:
        """Log at level debug."""
        self.log(DEBUG, text, *arguments)

    def info(self, text: str, *arguments: object, is_whole: bool = False) -> None:
        """Log at level info; `is_whole` messages are never shortened, because they appear nowhere else."""
        self.log(INFO, text, *arguments, is_whole=is_whole)

    def warning(self, text: str, *arguments: object, is_whole: bool = False) -> None:
        """Log at level warning; `is_whole` as for `info`."""
        self.log(WARNING, text, *arguments, is_whole=is_whole)

    def error(self, text: str, *arguments: object, is_whole: bool = False) -> None:
        """Log at level error; `is_whole` as for `info`."""
        self.log(ERROR, text, *arguments, is_whole=is_whole)

    def exception(self, text: str, *arguments: object) -> None:
        """Log at level error, with the traceback of the exception that is being handled.

        The traceback may quote foreign text, so each of its lines is marked.
        """
        from traceback import format_exc  # noqa: PLC0415 - only a bug in the CPI needs it

        self.log(ERROR, text, *arguments, is_whole=True)
        for line in redact(format_exc()).rstrip("\n").split("\n"):
            self.log(ERROR, "| %s", line, is_whole=True)

    def log(self, level: int, text: str, *arguments: object, is_whole: bool = False) -> None:
        """Log at one of the levels."""
        if self.descriptor is None or level < self.level:
            return
        try:
            message = redact(text % arguments if arguments else text)
            self._put(self._line(level, message if is_whole or self.level == DEBUG else shortened(message)))
        except Exception:  # noqa: BLE001 - whatever an argument's own text raises
            return

    def say(self, text: str) -> None:
        """Write a line for the operator of a command, without time and level."""
        self._put(printable(redact(text)))

    def end(self) -> None:
        """Tell how many lines were dropped, now that the response is written."""
        self._patience = _LAST_PATIENCE
        self._tell_dropped()

    def _line(self, level: int, message: str) -> str:
        """A message after its time, request id and level."""
        now = time.time()
        request = f"[req_id {self.request_id}] " if self.request_id else ""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(now))
        return f"{stamp}.{int(now % 1 * 1000):03d} {request}{NAMES[level]}: {printable(message)}"

    def _put(self, line: str) -> None:
        """Write a line, or count it as dropped."""
        if not (self._tell_dropped() and self._write(line)):
            self._dropped += 1

    def _tell_dropped(self) -> bool:
        """Write how many lines were dropped, if any; False if stderr is still full."""
        lines = counted(self._dropped, "log line")
        text = f"{lines} dropped here, because stderr was full and nobody read it"
        if self._dropped and not self._write(self._line(WARNING, text)):
            return False
        self._dropped = 0
        return True

    def _write(self, line: str) -> bool:
        """Write a line; False if stderr stays full. What can't be written for another reason is lost.

        A pipe that is ready takes PIPE_BUF bytes without blocking (Python's documentation of `select`). The
        parent process may use the same pipe, so it is not made non-blocking.
        """
        if self.descriptor is None:
            return True
        poller = select.poll()
        poller.register(self.descriptor, select.POLLOUT)
        whole = (f"\n{line}\n" if self._is_cut else f"{line}\n").encode()
        rest = whole
        try:
            while rest:
                began = time.monotonic()
                is_ready = poller.poll(self._patience * 1000)
                self._patience = max(0, self._patience - (time.monotonic() - began))
                if not is_ready:
                    return False
                rest = rest[os.write(self.descriptor, rest[: select.PIPE_BUF]) :]
        except OSError:
            return True
        finally:
            self._is_cut = bool(rest) and (self._is_cut or rest != whole)
        return True


def shortened(text: str, times: int = 1) -> str:
    """A text without its middle, if it is longer than `HEAD` and `TAIL`, or than that many times as much."""
    head, tail = times * HEAD, times * TAIL
    left = len(text) - head - tail
    if left <= 0:
        return text
    return f"{text[:head]}… ({counted(left, 'character')} at log level debug) …{text[-tail:]}"


logger: Final = Log()


def start() -> None:
    """Log to stderr from now on, at level info."""
    logger.descriptor = None if sys.stderr is None else _STDERR
    logger.level = INFO


def set_request_id(request_id: object) -> None:
    """Add the caller's request id to each line from now on, if it is a printable string."""
    if isinstance(request_id, str) and request_id.isprintable():
        logger.request_id = request_id


def set_level(level: str) -> None:
    """Log from this level on: one of `LEVELS`."""
    logger.level = LEVELS[level]
