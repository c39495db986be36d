"""Logging: to stderr, each line with the request's id, and without secrets.

It does not use `logging`, which with all that it imports would take a quarter of `info`: each call writes to
one stream, in one form.
"""

from __future__ import annotations

import sys
import time

from bosh_aws_cpi.redact import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, TextIO

DEBUG, INFO, WARNING, ERROR = 10, 20, 30, 40
LEVELS: Final = {"debug": DEBUG, "info": INFO, "warn": WARNING, "error": ERROR}
"""The levels by their names in the configuration."""
NAMES: Final = {DEBUG: "DEBUG", INFO: "INFO", WARNING: "WARNING", ERROR: "ERROR"}
"""The levels as they appear in the log."""

LONGEST: Final = 300
"""The maximum length of a log message, except at level debug: the Director reads stderr byte by byte. The
response still contains the whole error."""
MOST_LINES: Final = 5
"""The maximum number of lines of such a message; each line gets its own time, request id and level."""

redact: Final = Redactor()
"""The process's only redactor: all log lines and errors go through it."""


class Log:
    """The process's log. A message is a %-format; no message ends a call, even if it can't be written."""

    def __init__(self) -> None:
        self.stream: TextIO | None = None
        """Nothing is logged before `start`, and nothing if the process has no stderr."""
        self.level = INFO
        self.request_id: str | None = None

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
        """Log at level error, with the traceback of the exception that is being handled."""
        from traceback import format_exc  # noqa: PLC0415 - only a bug in the CPI needs it

        self.log(ERROR, f"{text}\n%s", *arguments, format_exc().rstrip("\n"), is_whole=True)

    def log(self, level: int, text: str, *arguments: object, is_whole: bool = False) -> None:
        """Log at one of the levels."""
        if self.stream is None or level < self.level:
            return
        try:
            message = redact(text % arguments if arguments else text)
            shown = message if is_whole or self.level == DEBUG else _shortened(message)
            self.stream.write(self._lines(level, shown))
            self.stream.flush()
        except Exception:  # noqa: BLE001 - whatever an argument's own text raises
            return

    def _lines(self, level: int, message: str) -> str:
        """Put time, request id and level before each line of a message."""
        now = time.time()
        request = f"[req_id {self.request_id}] " if self.request_id else ""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(now))
        prefix = f"{stamp}.{int(now % 1 * 1000):03d} {request}{NAMES[level]}: "
        return "".join(f"{prefix}{line}\n" for line in message.splitlines() or [""])


def _shortened(text: str) -> str:
    begun = "".join(text[:LONGEST].splitlines(keepends=True)[:MOST_LINES])
    left = len(text) - len(begun)
    return f"{begun}… ({left} more characters at log level debug)" if left else text


logger: Final = Log()


def start() -> None:
    """Log to stderr from now on, at level info."""
    logger.stream = sys.stderr
    logger.level = INFO


def set_request_id(request_id: object) -> None:
    """Add the caller's request id to each line from now on, if it is a printable string."""
    if isinstance(request_id, str) and request_id.isprintable():
        logger.request_id = request_id


def set_level(level: str) -> None:
    """Log from this level on: one of `LEVELS`."""
    logger.level = LEVELS[level]
