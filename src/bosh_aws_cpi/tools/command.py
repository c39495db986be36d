"""Runs an operator's command, and turns its errors into messages and an exit status."""

import argparse
import sys
from collections.abc import Callable
from typing import Final

from bosh_aws_cpi import interrupts, log
from bosh_aws_cpi.aws.sdk.translation import translate
from bosh_aws_cpi.errors import BoshError

FAILED: Final = 2
"""The exit status of a command that failed; argparse uses it too, for bad arguments."""


def parser(name: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """Return the parser of a command, whose first argument is the configuration file, ``config``.

    Args:
        name: The command: "preflight".
        description: What it does, divided into lines.
        epilog: What its exit status says, divided into lines.
    """
    created = argparse.ArgumentParser(
        f"cpi {name}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    created.add_argument("config", metavar="CONFIG_PATH", help="the CPI's configuration file, cpi.json")
    return created


def carried_out(body: Callable[[], int]) -> int:
    """Run a command's body; an error of the configuration or of AWS becomes one line on stderr.

    As in a call, a signal ends it only at a safe point, and only the first signal counts.

    Args:
        body: Returns the exit status.

    Returns:
        The body's exit status, or `FAILED`.
    """
    log.start()
    interrupts.install()
    try:
        interrupts.start()
        status = body()
        interrupts.close()
    except interrupts.Interrupted as interruption:
        return _failed(str(interruption))
    except Exception as error:  # noqa: BLE001 - every error is reported, with its secrets masked
        typed = error if isinstance(error, BoshError) else translate(error, "")
        if typed is None:
            log.logger.exception(
                "Unexpected error: a bug in the CPI, please report it"
            )  # a bare traceback shows secrets
            return _failed(f"{type(error).__name__}: {error}")
        return _failed(typed.message)
    return status


def _failed(message: str) -> int:
    sys.stderr.write(f"cpi: {log.redact(message)}\n")
    return FAILED
