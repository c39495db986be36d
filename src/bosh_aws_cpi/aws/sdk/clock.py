"""The time by AWS's clock, from the Date headers of its answers.

The times that AWS reports are compared with this alone: the machine's clock may be wrong, or be set during
a call. AWS refuses a request that is dated more than 15 minutes before or after its own time (EC2 API
reference, "Common errors", RequestExpired), and the SDK does not correct its dates.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class ServerTime:
    """AWS's time in the first and in the latest answer."""

    first: datetime | None = None
    last: datetime | None = None


server_time = ServerTime()
"""This process's."""


def note_server_time(headers: Mapping[str, str]) -> None:
    """Note the time of an answer of AWS, unless a proxy has removed or garbled it."""
    if (date := parse_date(headers)) is not None:
        server_time.first = server_time.first or date
        server_time.last = date


def parse_date(headers: Mapping[str, str]) -> datetime | None:
    """The time when AWS answered; None if a proxy has removed or garbled it."""
    try:
        date = parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def first_time() -> datetime:
    """The time of AWS's first answer in this process; the machine's as long as there is none."""
    return server_time.first or datetime.now(UTC)


def now() -> datetime:
    """The time of AWS's latest answer; the machine's as long as there is none."""
    return server_time.last or datetime.now(UTC)
