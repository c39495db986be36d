"""AWS's time, from the Date headers of AWS's answers.

The program compares times that AWS reports only with AWS's time: the machine's clock may be wrong, or may be
set during a call. AWS refuses a request whose date differs from AWS's time by more than 15 minutes (EC2 API
reference, "Common errors", RequestExpired), and the SDK does not correct the date.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class ServerTime:
    """AWS's time in the first and in the latest answer."""

    first: datetime | None = None
    last: datetime | None = None


server_time = ServerTime()
"""AWS's time as this process knows it."""


def note_server_time(headers: Mapping[str, str]) -> None:
    """Note the time in an answer of AWS, unless a proxy has removed or garbled the header."""
    if (date := parse_date(headers)) is not None:
        server_time.first = server_time.first or date
        server_time.last = date


def parse_date(headers: Mapping[str, str]) -> datetime | None:
    """Return the time when AWS answered; None if a proxy has removed or garbled the header."""
    try:
        date = parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def first_time() -> datetime:
    """AWS's time in its first answer to this process; the machine's time before the first answer."""
    return server_time.first or datetime.now(UTC)


def now() -> datetime:
    """AWS's time in its latest answer; the machine's time before the first answer."""
    return server_time.last or datetime.now(UTC)
