"""Waiting for AWS."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential_jitter

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

LONG = 900.0
"""Seconds; a copy of an AMI takes minutes, all else less."""


class NotYet(Exception):
    """AWS is not yet in the state that is waited for; the message says what it shows."""


def until(probe: Callable[[], Result], seconds: float = LONG) -> Result:
    """Repeat a question until it is answered.

    Args:
        probe: Asks; raises NotYet as long as it has to be asked again.
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
