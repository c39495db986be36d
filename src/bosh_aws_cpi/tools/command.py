"""How a command ends."""

import sys
from collections.abc import Callable
from typing import Final

from bosh_aws_cpi import log
from bosh_aws_cpi.aws.translation import translate
from bosh_aws_cpi.errors import BoshError

FAILED: Final = 2
"""The exit status of a command that could not be carried out; argparse's too, for bad arguments."""


def carried_out(body: Callable[[], int]) -> int:
    """Run a command's body; an error of the configuration or of AWS becomes one line on stderr.

    Args:
        body: Returns the exit status.

    Returns:
        That, or `FAILED`.
    """
    log.start()
    try:
        return body()
    except KeyboardInterrupt:
        return _failed("interrupted")
    except Exception as error:
        typed = error if isinstance(error, BoshError) else translate(error, "")
        if typed is None:
            raise
        return _failed(typed.message)


def _failed(message: str) -> int:
    sys.stderr.write(f"cpi: {log.redact(message)}\n")
    return FAILED
