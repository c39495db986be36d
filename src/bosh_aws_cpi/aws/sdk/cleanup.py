"""Removing several things, of which any may fail."""

from collections.abc import Callable

from bosh_aws_cpi.log import logger


def in_turn(*steps: Callable[[], object]) -> None:
    """Take every step, also after one that failed.

    Args:
        steps: What is to be done, in this order.

    Raises:
        Exception: The first error, once all steps were taken; further ones are logged.
    """
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - raised below, or logged
            if first is None:
                first = error
            else:
                logger.error("This failed as well: %s: %s", type(error).__name__, error)
    if first is not None:
        raise first
