"""The time by AWS's clock, from the Date headers of its answers.

The times that AWS reports are compared with this alone: the machine's clock may be wrong, or be set during
a call. AWS refuses a request that is dated more than 15 minutes before or after its own time (EC2 API
reference, "Common errors", RequestExpired), and the SDK does not correct its dates.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class Heard:
    """AWS's time in the first and in the latest answer."""

    first: datetime | None = None
    last: datetime | None = None


heard = Heard()
"""This process's."""


def hear(headers: Mapping[str, str]) -> None:
    """Note the time of an answer of AWS, unless a proxy has removed or garbled it."""
    if (date := date_of(headers)) is not None:
        heard.first = heard.first or date
        heard.last = date


def date_of(headers: Mapping[str, str]) -> datetime | None:
    """The time when AWS answered; None if a proxy has removed or garbled it."""
    try:
        date = parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def began() -> datetime:
    """The time of AWS's first answer in this process; the machine's as long as there is none."""
    return heard.first or datetime.now(UTC)


def now() -> datetime:
    """The time of AWS's latest answer; the machine's as long as there is none."""
    return heard.last or datetime.now(UTC)
