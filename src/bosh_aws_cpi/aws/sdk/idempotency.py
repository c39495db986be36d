"""Idempotency: a lost answer of a creating call must neither leak the resource nor create a second one.

Most of these calls take a client token, with which the SDK retries them. For those that take none,
`attempts` prevents retries when the outcome is uncertain. If the outcome is uncertain after the last attempt,
this module searches for the resource, and retries the call only if it finds none.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from bosh_aws_cpi.aws.sdk import clock, timing
from bosh_aws_cpi.aws.sdk.errors import FAILURES, call_of, describe_error, may_be_done
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.log import logger

Created = TypeVar("Created")

RECENT = timedelta(minutes=30)
"""A resource older than this when the call began was not created by an earlier, killed attempt at it.

This matters because another request may have the same id.
"""
WITHOUT_TOKEN = 3
"""Attempts at a call that takes no client token."""


def is_recent(created: datetime | None) -> bool:
    """Whether this request may have created a resource with this creation time; True if it is unknown."""
    return created is None or clock.first_time() - created < RECENT


def parsed_time(text: str) -> datetime | None:
    """Parse a time, in UTC unless it has another zone; None when the text is not a time."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def written_time(time: datetime) -> str:
    """A time for tags and reports: in UTC, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def tags_of(entry: Any, name: str = "Tags") -> dict[str, str]:  # noqa: ANN401 - any resource of the SDK
    """The tags of a resource in the answer of a Describe call; EC2 lists those of interfaces as TagSet."""
    return {tag["Key"]: tag["Value"] for tag in entry.get(name, [])}


def has_tags(entry: Any, tags: Mapping[str, str]) -> bool:  # noqa: ANN401 - the same
    """Whether a resource has all of these tags."""
    return tags.items() <= tags_of(entry).items()


def create_once(
    what: str, create: Callable[[], Created], find: Callable[[], Created | None], attempts: int = 1
) -> Created:
    """Create exactly one resource.

    Args:
        what: The resource, for the log.
        create: Creates it, with a unique mark by which it can be found.
        find: Looks for it by that mark; None while AWS does not show it.
        attempts: The number of attempts; `WITHOUT_TOKEN` for a call that the SDK does not retry.

    Returns:
        The resource, whichever attempt created it.

    Raises:
        Exception: The last attempt's error, if the search finds no resource. If an earlier attempt's outcome
            is uncertain, a refusal is raised only after another search, because the resource itself may have
            caused it: for example, its range or its name is now in use. `may_be_done` is then true for it.
    """
    has_looked = was_uncertain = False

    def seen() -> Created:
        nonlocal has_looked
        earlier = find()
        has_looked = True
        if earlier is None:
            raise timing.NotYet("not visible yet")
        return earlier

    while True:
        attempts -= 1
        has_looked = False
        try:
            return create()
        except Exception as error:
            # Any other error comes from reading the answer: the resource may exist.
            is_refused = isinstance(error, (*FAILURES, BoshError)) and not may_be_done(error)
            if is_refused and not was_uncertain:
                raise
            was_uncertain = True
            logger.warning("It is uncertain whether %s was created: %s", what, describe_error(error))
            with suppress(_Unseen):
                return timing.poll(timing.LOST_SEEN, f"{what} to become visible", seen, _Unseen)
            if is_refused:
                logger.error("Perhaps left behind, because an attempt was not answered: %s", what)
                if call := call_of(error):
                    call.was_uncertain = True
                raise
            if attempts <= 0 or not has_looked:  # only an answer of AWS proves that there is none
                raise
            logger.info("AWS does not show %s: it was not created", what)


class _Unseen(CloudError):
    """AWS does not show the resource."""
