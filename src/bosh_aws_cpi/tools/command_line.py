"""What the executable does with other arguments than one path: commands, help, and what is neither."""

import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Final

from bosh_aws_cpi import VERSION, log
from bosh_aws_cpi.errors import CloudError

FAILED: Final = 2
"""The exit status of a command that failed; argparse uses it too, for bad arguments."""
COMMANDS: Final = ("check", "diagnose", "preflight", "sweep")
"""Modules beside this one."""
_STDIN: Final = 0
_USAGE: Final = """\
Usage: cpi check CONFIG_PATH FILE ...   finds the mistakes of a cloud config
       cpi preflight CONFIG_PATH ...    checks keys, endpoints and permissions
       cpi diagnose CONFIG_PATH VM_CID  says why a VM does not answer
       cpi sweep CONFIG_PATH ...        lists what killed calls have left in AWS
       cpi help, cpi version
       cpi CONFIG_PATH                  for BOSH: reads one JSON request from
                                        stdin, writes the response to stdout
CONFIG_PATH is cpi.json. The job's bin/cpi adds it: bin/cpi check FILE ...
Each command accepts --help.
"""


def carried_out(arguments: list[str]) -> int | None:
    """Carry out a command, or refuse what is none.

    Args:
        arguments: Those of the executable, but for the path of a configuration alone.

    Returns:
        The exit status; None for wrong arguments that a caller of methods may have passed, and which are
        answered by a response.
    """
    word = arguments[0] if arguments else ""
    if word in COMMANDS:
        return int(import_module(f"bosh_aws_cpi.tools.{word}").main(arguments[1:]))
    if word in {"-h", "--help", "help"}:
        return _written(_USAGE)
    if word in {"--version", "version"}:
        return _written(f"bosh-aws-cpi {VERSION}\n")
    if not arguments and os.isatty(_STDIN):
        sys.stderr.write(_USAGE)
        return FAILED
    if problem := _problem(word, arguments):
        return failed(problem)
    return None


def failed(message: str) -> int:
    """Say why a command failed, and return its exit status."""
    log.start()
    log.logger.say(f"cpi: {message}")
    return FAILED


def write(text: str) -> None:
    """Write to stdout at once. A reader that is gone, as with `| head`, is no error.

    Raises:
        CloudError: Stdout is closed or full.
    """
    if sys.stdout is None:
        raise CloudError("can't write to stdout: it is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        return
    except OSError as error:
        raise CloudError(f"can't write to stdout: {error.strerror}") from None


def _written(text: str) -> int:
    try:
        write(text)
    except CloudError as error:
        return failed(error.message)
    return 0


def _problem(word: str, arguments: list[str]) -> str:
    """What is wrong with arguments that have no command in the first place; empty if they are paths."""
    if arguments[1:] == [] and not word.startswith("-") and os.access(word, os.F_OK):
        return ""
    if not word or (not word.startswith("-") and ("/" in word or "." in word)):
        misplaced = next((each for each in arguments if each in COMMANDS), None)
        return f"the command comes first: cpi {misplaced} CONFIG_PATH …" if misplaced else ""
    near = get_close_matches(word.lstrip("-").lower(), [*COMMANDS, "help", "version"], n=1)
    advice = f", did you mean '{near[0]}'?" if near else ": `cpi help` lists the commands"
    return f"unknown command '{word}'{advice}"
