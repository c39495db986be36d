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
"""Characters of a message, unless all is to be logged: the Director reads stderr byte by byte. The error that
ends a call is in the response as a whole."""
MOST_LINES: Final = 5
"""Lines of such a message, each of which is logged with all that stands before a message."""
WHOLE: Final = {"is_whole": True}
"""``extra`` of a message that is logged as a whole in any case: it stands nowhere else."""

redact: Final = Redactor()
"""The process's one redactor: all that is logged or answered as an error goes through it."""

logger: Final = logging.getLogger("bosh_aws_cpi")


class _LineFormatter(logging.Formatter):
    """Puts time, request id and level before every line, those of a traceback too."""

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
    logging.raiseExceptions = False  # a stderr that nobody reads any more must not end a call
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)


def set_request_id(request_id: object) -> None:
    """Put the caller's request id on each line from now on; only a plain string is taken."""
    if isinstance(request_id, str) and request_id.isprintable():
        _formatter.request_id = request_id


def set_level(level: str) -> None:
    """Log from this level on: one of `LEVELS`."""
    logger.setLevel(LEVELS[level])
