"""Idempotent creation: a lost answer must neither leak the resource nor create a second resource.

Most creating calls take a client token, with which the SDK retries them. For a call without client token,
`attempts` prevents retries when the outcome is uncertain. If the outcome is uncertain after the last attempt,
this module searches for the resource, and retries the call only if the search finds none.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from bosh_aws_cpi.aws.sdk import clock, timing
from bosh_aws_cpi.aws.sdk.errors import FAILURES, call_of, describe_error, is_transient, may_have_taken_effect
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.log import logger

Created = TypeVar("Created")

RECENT = timedelta(minutes=30)
"""The maximum age, when the call began, of a resource that an earlier, killed attempt may have created.

An older resource belongs to another request, which may have the same request id.
"""
WITHOUT_TOKEN = 3
"""The number of attempts at a call that takes no client token."""
_LEFT_BEHIND: Final = "Perhaps left behind, because an attempt was not answered: %s"


def is_recent(created: datetime | None) -> bool:
    """Whether this request may have created a resource with this creation time; True if it is unknown."""
    return created is None or clock.first_time() - created < RECENT


def parse_time(text: str) -> datetime | None:
    """Parse a time, in UTC unless the text has a zone; None when the text is not a time."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def format_time(time: datetime) -> str:
    """Format a time for tags and reports: in UTC, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def tags_of(entry: Any, name: str = "Tags") -> dict[str, str]:  # noqa: ANN401 - any resource of the SDK
    """The tags of a resource in a Describe call's response; an interface's tags have the key TagSet."""
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
        create: Creates the resource, with a unique mark.
        find: Looks for the resource by the mark; returns None while AWS does not show it.
        attempts: The number of attempts; `WITHOUT_TOKEN` for a call that the SDK does not retry.

    Returns:
        The resource, whichever attempt created it.

    Raises:
        Exception: The last attempt's error, if the search finds no resource. If an earlier attempt's outcome
            is uncertain, a refusal is raised only after another search, because the resource itself may have
            caused the refusal (its range or name is in use); then `may_have_taken_effect` is true.
    """
    was_uncertain = False
    while True:
        attempts -= 1
        try:
            return create()
        except Exception as error:
            # Any other error occurs while the answer is read: the resource may exist.
            is_refused = isinstance(error, (*FAILURES, BoshError)) and not may_have_taken_effect(error)
            if is_refused and not was_uncertain:
                raise
            was_uncertain = True
            logger.warning("It is uncertain whether %s was created: %s", what, describe_error(error))
            earlier, has_answer = _search(what, find)
            if earlier is not None:
                return earlier
            if is_refused or not has_answer:  # only an answer of AWS proves that there is no resource
                logger.error(_LEFT_BEHIND, what)
                if call := call_of(error):
                    call.was_uncertain = True
                raise
            if attempts <= 0 or not is_transient(error):
                raise
            logger.info("AWS does not show %s: it was not created", what)


def _search(what: str, find: Callable[[], Created | None]) -> tuple[Created | None, bool]:
    """Look for a resource; return it, if it is found, and whether AWS has answered at all."""
    has_answer = False

    def find_earlier() -> Created:
        nonlocal has_answer
        earlier = find()
        has_answer = True
        if earlier is None:
            raise timing.NotYet("not visible yet")
        return earlier

    try:
        return timing.poll(timing.LOST_SEEN, f"{what} to become visible", find_earlier, _NotFound), True
    except _NotFound:
        return None, has_answer
    except Exception:
        logger.error(_LEFT_BEHIND, what)
        raise


class _NotFound(CloudError):
    """AWS does not show the resource."""
