"""Runs the executable's commands and help, and refuses unknown commands."""

import io
import os
import re
import sys
from importlib import import_module
from typing import Final

from bosh_aws_cpi import VERSION, log

FAILED: Final = 2
"""The exit status of a command that failed; argparse uses it too, for bad arguments."""
COMMANDS: Final = ("check", "diagnose", "preflight", "sweep")
"""The commands: each is a module of this package."""
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


def run_command(arguments: list[str]) -> int | None:
    """Run a command, or refuse an unknown one.

    Args:
        arguments: Those of the executable, but for the path of a configuration alone.

    Returns:
        The exit status; None for wrong arguments that a caller of methods may have passed, and which are
        answered by a response.
    """
    word, *others = arguments or [""]
    if word in {"-h", "--help", "help"}:
        # The job adds the path of cpi.json.
        topics = [each for each in others if each != "help" and not re.search(r"^-|[/.]", each)]
        if not topics:
            return write_stdout(_USAGE)
        word, others = topics[0], ["--help"]
    if word in COMMANDS:
        return int(import_module(f"bosh_aws_cpi.tools.{word}").main(others))
    if word in {"--version", "version"}:
        text = f'{{"version": "{VERSION}"}}' if "--json" in others else f"bosh-aws-cpi {VERSION}"
        return write_stdout(f"{text}\n")
    if not arguments and os.isatty(_STDIN):
        sys.stderr.write(_USAGE)
        return FAILED
    is_path = not word or "/" in word or "." in word or (not others and os.access(word, os.F_OK))
    if word.startswith("-") or not is_path or not set(COMMANDS).isdisjoint(others):
        near = log.nearest(word, (*COMMANDS, "help", "version"))
        hint = f". Did you mean {near}?" if near else ""
        return fail(f"'{word}' is not a command: the command comes first, and `cpi help` lists all{hint}")
    return None


def fail(message: str) -> int:
    """Say why a command failed, and return its exit status."""
    log.start()
    log.logger.say(f"cpi: {message}")
    return FAILED


def write_stdout(text: str) -> int:
    """Write to stdout at once, and return the exit status.

    A reader that is gone, as with `| head`, is no error.
    """
    if sys.stdout is None:
        return fail("can't write to stdout: it is closed")
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack characters
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        return fail(f"can't write to stdout: {error.strerror}")
    return 0
