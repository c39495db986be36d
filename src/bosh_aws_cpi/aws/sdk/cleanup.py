"""Runs several steps of a cleanup, any of which may fail."""

from collections.abc import Callable

from bosh_aws_cpi.log import logger


def in_turn(*steps: Callable[[], object]) -> None:
    """Run every step, even after one has failed.

    Raises:
        Exception: The first error, after all steps have run; further errors are logged.
    """
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - raised below, or logged
            if first is None:
                first = error
            else:
                logger.error("Another cleanup step failed: %s: %s", type(error).__name__, error)
    if first is not None:
        raise first
