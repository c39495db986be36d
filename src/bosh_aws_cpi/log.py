"""Logging: to stderr, each line with the request's id, and without secrets."""

import logging
import sys
from typing import Final

from bosh_aws_cpi.redact import Redactor

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}

LONGEST: Final = 300
"""The maximum length of a log message, except at level debug: the Director reads stderr byte by byte. The
response still contains the whole error."""
MOST_LINES: Final = 5
"""The maximum number of lines of such a message; each line gets its own time, request id and level."""
WHOLE: Final = {"is_whole": True}
"""``extra`` for a message that is never shortened, because it appears nowhere else."""

redact: Final = Redactor()
"""The process's only redactor: all log lines and errors go through it."""

logger: Final = logging.getLogger("bosh_aws_cpi")


class _LineFormatter(logging.Formatter):
    """Puts time, request id and level before each line, including the lines of a traceback."""

    request_id: str | None = None

    def format(self, record: logging.LogRecord) -> str:
        text = redact(super().format(record))
        if not (record.exc_info or hasattr(record, "is_whole") or logger.isEnabledFor(logging.DEBUG)):
            text = _shortened(text)
        request = f"[req_id {self.request_id}] " if self.request_id else ""
        time = self.formatTime(record, "%Y-%m-%dT%H:%M:%S")
        prefix = f"{time}.{int(record.msecs):03d} {request}{record.levelname}: "
        return "\n".join(prefix + line for line in text.splitlines() or [""])


def _shortened(text: str) -> str:
    begun = "".join(text[:LONGEST].splitlines(keepends=True)[:MOST_LINES])
    left = len(text) - len(begun)
    return f"{begun}… ({left} more characters at log level debug)" if left else text


_formatter = _LineFormatter("%(message)s")


def start() -> None:
    """Log to stderr from now on, at level info."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter)
    logging.raiseExceptions = False  # a closed stderr must not end a call
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)


def set_request_id(request_id: object) -> None:
    """Add the caller's request id to each line from now on, if it is a printable string."""
    if isinstance(request_id, str) and request_id.isprintable():
        _formatter.request_id = request_id


def set_level(level: str) -> None:
    """Log from this level on: one of `LEVELS`."""
    logger.setLevel(LEVELS[level])
