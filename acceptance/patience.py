"""Waiting for AWS."""

from collections.abc import Callable
from typing import TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential_jitter

Result = TypeVar("Result")

LONG = 900.0
"""Seconds; the copy of an AMI takes minutes, everything else less."""


class NotYet(Exception):
    """The awaited state is not reached yet; the message is the current state."""


def until(probe: Callable[[], Result], seconds: float = LONG) -> Result:
    """Poll until the probe returns.

    Args:
        probe: Returns the result, or raises NotYet to be called again.
        seconds: How long.

    Raises:
        NotYet: The time is over.
    """
    repeated = Retrying(
        retry=retry_if_exception_type(NotYet),
        wait=wait_exponential_jitter(multiplier=0.5, max=5, jitter=0.5),
        stop=stop_after_delay(seconds),
        reraise=True,
    )
    return repeated(probe)
