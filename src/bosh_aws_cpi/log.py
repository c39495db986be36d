"""Logging: to stderr, each line with the request's id, and without secrets.

This does not use `logging`, whose import would take a quarter of `info`: each call writes to one stream, in
one format. This does not write through `sys.stderr`, which waits for ever when a pipe is full.
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
"""The numbers of characters to keep of a long log message: of its beginning, which names the resource, and of
its end, which has the remedy. The Director reads stderr byte by byte. At level debug nothing is cut."""
IN_RESPONSE: Final = 10
"""The factor for messages in the response: a message may name many instance types that EC2 refused."""
NEAR_SECURITY: Final = 0.7
"""The minimum similarity (see `nearest`) to a key for security at which an unknown key is refused."""
_STDERR: Final = 2
PATIENCE: Final = 5.0
"""The seconds, in total, that a process waits for the reader of a full stderr before it drops log lines."""
_PATIENCE_AT_END: Final = 1.0
"""The seconds that a process waits for the reader at its end, to log the number of dropped lines."""

redact: Final = Redactor()
"""The process's only redactor: all log lines and errors go through it."""


def printable(text: str) -> str:
    """Return a text on one line, with escapes for characters that are invisible or control a terminal.

    These are line breaks, control and format characters, and all others that Python does not consider
    printable. The escapes are JSON's escapes, so a JSON document keeps its meaning.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def pluralize(number: float, noun: str) -> str:
    """Format a number with a noun: "1 minute", "2 minutes", "2 addresses"."""
    shown = f"{number:.0f}"
    plural = "es" if noun.endswith("s") else "s"
    return f"{shown} {noun}{'' if shown == '1' else plural}"


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known name that is most similar to a mistyped name, ignoring case; empty if no name is similar.

    Args:
        name: The mistyped name.
        known: The known names.
        cutoff: The minimum similarity, from 0 to 1.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - few calls have a mistyped name

    lower = {each.lower(): each for each in known}
    return next((lower[each] for each in get_close_matches(name.lower(), lower, n=1, cutoff=cutoff)), "")


class Log:
    """The log of the process. A message is a %-format; a message that can't be written raises no error."""

    def __init__(self) -> None:
        self.descriptor: int | None = None
        """The file descriptor of stderr; None before `start`, or if the process has no stderr."""
        self.level = INFO
        self.request_id: str | None = None
        self._patience = PATIENCE
        self._dropped = 0
        self._is_cut = False
        """Whether the last line was written incompletely."""

    def debug(self, text: str, *arguments: object) -> None:
        """Log at level debug."""
        self.log(DEBUG, text, *arguments)

    def info(self, text: str, *arguments: object, is_whole: bool = False) -> None:
        """Log at level info; a message with `is_whole` is never shortened."""
        self.log(INFO, text, *arguments, is_whole=is_whole)

    def warning(self, text: str, *arguments: object, is_whole: bool = False) -> None:
        """Log at level warning; `is_whole` as for `info`."""
        self.log(WARNING, text, *arguments, is_whole=is_whole)

    def error(self, text: str, *arguments: object, is_whole: bool = False) -> None:
        """Log at level error; `is_whole` as for `info`."""
        self.log(ERROR, text, *arguments, is_whole=is_whole)

    def exception(self, text: str, *arguments: object) -> None:
        """Log at level error, with the traceback of the exception that is being handled.

        The traceback may quote foreign text, so "| " precedes each of its lines.
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
            self._emit(self._line(level, message if is_whole or self.level == DEBUG else shorten(message)))
        except Exception:  # noqa: BLE001 - an argument's __str__ may raise anything
            return

    def say(self, text: str) -> None:
        """Write a line for the operator who runs a command, without time and level."""
        self._emit(printable(redact(text)))

    def end(self) -> None:
        """Log the number of dropped lines, after the response is written."""
        self._patience = _PATIENCE_AT_END
        self._log_dropped()

    def _line(self, level: int, message: str) -> str:
        """Format a log line: time, request id, level, message."""
        now = time.time()
        request = f"[req_id {self.request_id}] " if self.request_id else ""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(now))
        return f"{stamp}.{int(now % 1 * 1000):03d} {request}{NAMES[level]}: {printable(message)}"

    def _emit(self, line: str) -> None:
        """Write a line, or count it as dropped."""
        if not (self._log_dropped() and self._write(line)):
            self._dropped += 1

    def _log_dropped(self) -> bool:
        """Log the number of dropped lines, if any; False if stderr is still full."""
        lines = pluralize(self._dropped, "log line")
        text = f"{lines} dropped here, because stderr was full and nobody read it"
        if self._dropped and not self._write(self._line(WARNING, text)):
            return False
        self._dropped = 0
        return True

    def _write(self, line: str) -> bool:
        """Write a line; False if stderr stays full. After any other error the line is lost.

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


def shorten(text: str, times: int = 1) -> str:
    """Cut the middle out of a text that is longer than `HEAD` plus `TAIL`, multiplied by ``times``."""
    head, tail = times * HEAD, times * TAIL
    cut = len(text) - head - tail
    if cut <= 0:
        return text
    return f"{text[:head]}… ({pluralize(cut, 'character')} at log level debug) …{text[-tail:]}"


logger: Final = Log()


def start() -> None:
    """Log to stderr from now on, at level info."""
    logger.descriptor = None if sys.stderr is None else _STDERR
    logger.level = INFO


def set_request_id(request_id: object) -> None:
    """Add a request id, if it is a printable string, to each line from now on."""
    if isinstance(request_id, str) and request_id.isprintable():
        logger.request_id = request_id


def set_level(level: str) -> None:
    """Log only messages of this level, one of `LEVELS`, and higher levels."""
    logger.level = LEVELS[level]


def warn_of_text(name: str, value: object) -> None:
    """Warn of a boolean that is given as a string, whose author may have meant the opposite.

    Only a short one is shown: another may be a secret.
    """
    if isinstance(value, str):
        shown = f" '{value}'" if len(value) <= len("false") else ""
        logger.warning("%s%s is given as a string, which counts as true", name, shown)
