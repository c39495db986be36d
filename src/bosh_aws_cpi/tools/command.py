"""Runs an operator's command, and turns its errors into messages and an exit status."""

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, NoReturn, TextIO
from uuid import UUID

from bosh_aws_cpi import interrupts, log
from bosh_aws_cpi.aws.sdk.translation import translate
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.errors import BoshError, InvalidCall, reason
from bosh_aws_cpi.jsontext import Json, encode
from bosh_aws_cpi.tools.command_line import fail, write_stdout

_STATUS_2: Final = (
    "bad arguments, a file or configuration that can't be read, or keys that AWS does not accept"
)

_FIRST_PROGRESS: Final = 2.0
"""Seconds until the first line about the progress."""
_PROGRESS_INTERVAL: Final = 10.0
"""Seconds between two such lines."""


class ToldStatistics(CallStatistics):
    """Counts a command's AWS calls, and tells on a terminal, from time to time, that it is at work."""

    def __init__(self) -> None:
        super().__init__()
        self._next = time.monotonic() + _FIRST_PROGRESS

    def count_call(self, name: str) -> None:
        """Count a call, "ec2.DescribeInstances"."""
        super().count_call(name)
        self._tell()

    def count_retry(self, name: str) -> None:
        """Count a retry of a call."""
        super().count_retry(name)
        self._tell()

    def _tell(self) -> None:
        now = time.monotonic()
        if now >= self._next and _is_terminal(sys.stderr):
            self._next = now + _PROGRESS_INTERVAL
            log.logger.say(f"cpi: at work{self.summary()}")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


class _Parser(argparse.ArgumentParser):
    """Reads the arguments of a command."""

    def error(self, message: str) -> NoReturn:
        """Refuse arguments, which the message quotes."""
        if wrong := re.search(r"(arguments|choice): '?([\w-]+)", message):
            what, word = wrong.groups()
            options = {each: action for action in self._actions for each in action.choices or ()}
            near = log.nearest(word, self._option_string_actions if word.startswith("-") else options)
            if near in options and what == "arguments":
                near = f"{options[near].option_strings[0]} {near}"
            message += f" (did you mean {near}?)" if near else ""
        super().error(log.printable(message))


def parser(name: str, description: str, zero: str, one: str) -> argparse.ArgumentParser:
    """Return the parser of a command, whose first argument is the configuration file, ``config``.

    Args:
        name: The command: "preflight".
        description: What it does, divided into lines.
        zero: What the exit status 0 says.
        one: What the exit status 1 says.
    """
    created = _Parser(
        f"cpi {name}",
        description=description,
        epilog=f"exit status:\n0: {zero}\n1: {one}\n2: {_STATUS_2}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    help_ = "the CPI's configuration file, cpi.json; - for stdin"
    created.add_argument("config", metavar="CONFIG_PATH", help=help_)
    created.add_argument("--json", action="store_true", help="print one JSON document")
    return created


def uuid(text: str) -> str:
    """Read an argument that is a Director's UUID."""
    with suppress(ValueError):
        return str(UUID(text.strip()))
    raise argparse.ArgumentTypeError(f"must be the UUID that `bosh env` shows, not '{text}'")


def run(
    parser: argparse.ArgumentParser, arguments: list[str], body: Callable[[argparse.Namespace], int]
) -> int:
    """Run a command; an error of the configuration or of AWS becomes one line on stderr.

    With ``--json``, that error is also the document on stdout. As in a call, a signal ends the command only
    at a safe point, and only the first signal counts.

    Args:
        parser: From `parser`, with the command's own arguments.
        arguments: Those that follow the command's name.
        body: Gets the arguments, and returns the exit status.

    Returns:
        The body's exit status, or `command_line.FAILED`.
    """
    given = parser.parse_args(arguments)
    log.start()
    try:
        interrupts.start()
        status = body(given)
        interrupts.close()
    except interrupts.Interrupted as interruption:
        return fail(str(interruption))
    except Exception as error:  # noqa: BLE001 - every error is reported, with its secrets masked
        typed = error if isinstance(error, BoshError) else translate(error, "")
        if typed is None:
            # A bare traceback would show secrets.
            log.logger.exception("Unexpected error: a bug in the CPI, please report it")
            message = f"{type(error).__name__}: {error}"
        else:
            message = f"{given.config}: {reason(typed)}" if isinstance(typed, InvalidCall) else typed.message
        if given.json:
            show({"error": message}, (), as_json=True)
        return fail(message)
    return status


_COLOURED: Final = {
    "1;31": r"^error(?=: )|(?<=  )(?:MISSING|failed|not certain)\b|\bFAILS(?=: )|^NOT READY\b|^INCOMPLETE\b",
    "33": r"^warning(?=: )|(?<=  )(?:NO VERDICT|stray|left to you.*)$",
    "35": r"^not checked(?=: )|(?<=  )not checkable$",
    "36": r"^note(?=: )",
}
"""The program's own words that a terminal shows in a colour, by the colour's number (ECMA-48, "SGR")."""


def show(document: Json, lines: Iterable[str], *, as_json: bool) -> int:
    """Write a report to stdout: the only place where a command does.

    Args:
        document: The report for scripts; its secrets are masked here.
        lines: The report for people, without secrets. Foreign text can't break the lines.
        as_json: Whether to write the document.

    Returns:
        0, or the exit status if nothing can be written.
    """
    shown = [log.printable(line) for line in ([log.redact(encode(document))] if as_json else lines)]
    if _is_terminal(sys.stdout) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        for colour, words in _COLOURED.items():
            shown = [re.sub(words, rf"\033[{colour}m\g<0>\033[0m", line) for line in shown]
    return write_stdout("".join(f"{line}\n" for line in shown))
