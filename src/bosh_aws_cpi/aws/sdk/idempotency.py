"""Calls that make something: a lost answer must neither lose what was made nor make a second one.

Most take a client token, and the SDK repeats them with it. For those that take none `clients`
switches that off where the answer is uncertain. Either way, when the answer is still uncertain
in the end, what was made is looked for here, and only then the call is repeated.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import described, may_be_done
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import FilterTypeDef

Made = TypeVar("Made")

RECENT = timedelta(minutes=30)
"""How old a thing may be to count as made by this call, or by the same one before it was killed.

Another request may have the same id; clocks that differ by more than some minutes AWS refuses.
"""
WITHOUT_TOKEN = 3
"""Attempts at a call that takes no client token."""


def is_recent(made: datetime | None) -> bool:
    """Whether a thing of this time, as AWS tells it, can be this call's; without one it can."""
    return made is None or datetime.now(UTC) - made < RECENT


def parsed_time(text: str) -> datetime | None:
    """The time that a text says, in UTC unless it says otherwise; None when it says none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def by_tags(tags: Mapping[str, str]) -> "list[FilterTypeDef]":
    """The filters of a Describe call that find what carries all of these tags."""
    return [{"Name": f"tag:{key}", "Values": [tags[key]]} for key in sorted(tags)]


def make_once(
    what: str, make: Callable[[], Made], find: Callable[[], Made | None], attempts: int = 1
) -> Made:
    """Make something of which there must be one.

    Args:
        what: What is made, for the log.
        make: Makes it, and carries a mark of its own by which it is found.
        find: Looks for it by that mark; None while AWS does not show it.
        attempts: How often it is tried; `WITHOUT_TOKEN` for a call that the SDK does not repeat.

    Returns:
        What was made, by whichever attempt. When there is none, the last error is raised.
    """
    has_looked = False

    def seen() -> Made:
        nonlocal has_looked
        found = find()
        has_looked = True
        if found is None:
            raise timing.NotYet("not to be seen")
        return found

    while True:
        attempts -= 1
        has_looked = False
        try:
            return make()
        except Exception as error:
            if not may_be_done(error):
                raise
            logger.warning("Whether %s was made is not certain: %s", what, described(error))
            with suppress(_Unseen):
                return timing.until(timing.LOST_SEEN, f"{what} to be seen", seen, _Unseen)
            if attempts <= 0 or not has_looked:  # AWS that does not answer has not said that there is none
                raise
            logger.info("No trace of %s: it was not made", what)


class _Unseen(CloudError):
    """It was not made."""
