"""Calls that make something: a lost answer must neither lose what was made nor make a second one.

Most take a client token, and the SDK repeats them with it. For those that take none `clients`
switches that off where the answer is uncertain. Either way, when the answer is still uncertain
in the end, what was made is looked for here, and only then the call is repeated.
"""

from collections.abc import Callable
from typing import TypeVar

from bosh_aws_cpi.aws import timing
from bosh_aws_cpi.aws.errors import is_uncertain
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger

Made = TypeVar("Made")

_ATTEMPTS = 3


def make_once(what: str, make: Callable[[], Made], find: Callable[[], Made | None]) -> Made:
    """Make something of which there must be one.

    Args:
        what: What is made, for the log.
        make: Makes it, and carries a mark of its own by which it is found.
        find: Looks for it by that mark; None while AWS does not show it.

    Returns:
        What was made, by whichever attempt. When no attempt succeeds, the last one's error is raised.
    """

    def seen() -> Made:
        if (found := find()) is None:
            raise timing.NotYet("not to be seen")
        return found

    for _ in range(_ATTEMPTS - 1):
        try:
            return make()
        except Exception as error:
            if not is_uncertain(error):
                raise
            logger.warning("Whether %s was made is not certain: %s", what, error)
        try:
            return timing.until(timing.LOST_SEEN, f"{what} to be seen", seen, _Unseen)
        except _Unseen:
            logger.info("It was not: making %s again", what)
    return make()


class _Unseen(CloudError):
    """It was not made."""
