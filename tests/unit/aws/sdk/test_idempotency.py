"""What follows when the answer of a creating call is lost, and ages by AWS's clock, as tables."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from bosh_aws_cpi.aws.sdk import clock as aws_clock
from bosh_aws_cpi.aws.sdk.errors import Call, may_have_taken_effect
from bosh_aws_cpi.aws.sdk.idempotency import RECENT, WITHOUT_TOKEN, create_once, is_recent, parse_time
from bosh_aws_cpi.aws.sdk.timing import LOST_SEEN
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.timing_script import Script, fault, knowing, refusal
from tests.unit.conftest import Clock, ProgramLog

LOST = ReadTimeoutError(endpoint_url="http://h/")
NEVER_SENT = EndpointConnectionError(endpoint_url="http://h/")


def after(error: Exception, **call: Any) -> Exception:
    """Make the error of a call's last attempt; `call` says what the earlier ones were."""
    return knowing(error, Call("", (), **call))


CERTAIN = [
    *(fault("Throttling"), NEVER_SENT, CloudError("no")),
    after(refusal("VolumeLimitExceeded"), throttled=3),
]
UNCERTAIN = [LOST, ValueError("no address"), after(refusal("VolumeLimitExceeded"), was_uncertain=True)]
FAULT, UNKNOWN, BUSY, DENIED, TAKEN = (
    fault(),
    fault("501", 501),
    refusal("RequestLimitExceeded"),
    refusal("UnauthorizedOperation"),
    after(refusal("InvalidSubnet.Conflict")),
)


@pytest.mark.parametrize(
    ("attempts", "searches", "end", "made"),
    [
        (["made"], ["found"], "made", 1),
        *(([error], ["found"], error, 1) for error in CERTAIN),
        *(([error], [None, None, "found"], "found", 1) for error in UNCERTAIN),
        ([LOST, FAULT, "made"], [None], "made", 3),
        ([FAULT, FAULT, LOST, "made"], [None], LOST, WITHOUT_TOKEN),
        ([LOST, TAKEN], [None], TAKEN, 2),
        ([LOST], [BUSY, LOST, "found"], "found", 1),
        ([LOST], [DENIED], DENIED, 1),
        ([LOST], [BUSY], LOST, 1),
        ([UNKNOWN], [None], UNKNOWN, 1),
    ],
)
@pytest.mark.usefixtures("clock")
def test_create_once(
    program_log: ProgramLog, attempts: list[Any], searches: list[Any], end: Any, made: int
) -> None:
    """What was perhaps created is looked for, and created again only if AWS says that it is not there.

    The log names it if that is not certain.
    """
    make, find = Script(*attempts), Script(*searches)
    try:
        found = create_once("it", make, find, WITHOUT_TOKEN)
    except Exception as error:  # noqa: BLE001 - an error may be the end
        found = error
    assert (found, make.calls) == (end, made)
    assert (find.calls == 0) is ((end == "made" and made == 1) or end in CERTAIN)
    left = [each.text for each in program_log.records if each.text.startswith("Perhaps left behind")]
    assert bool(left) is (end in (TAKEN, DENIED) or searches == [BUSY])
    assert may_have_taken_effect(TAKEN) or end is not TAKEN


def test_not_found(clock: Clock) -> None:
    """What is not seen for a minute was not created: that is an error if the SDK has repeated the call."""
    make = Script(LOST)
    with pytest.raises(ReadTimeoutError):
        create_once("it", make, Script(None))
    assert make.calls == 1
    assert 0 <= clock.now - LOST_SEEN.seconds <= 6


MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("age", "recent"),
    [(RECENT - MINUTE, True), (RECENT + MINUTE, False), (-MINUTE, True)],
    ids=str,
)
def test_recent(age: timedelta, *, recent: bool) -> None:
    """A resource older than half an hour when the call began, by AWS's clock, belongs to another call."""
    began = datetime.now(UTC) - timedelta(hours=2)
    for later in (timedelta(0), timedelta(hours=1)):
        aws_clock.note_server_time({"date": format_datetime(began + later)})
    assert is_recent((began - age).astimezone(timezone(timedelta(hours=5.5)))) is recent
    assert is_recent(None) is True


THEN = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "date", [None, "yesterday", "Mon, 99 Nov 2026 00:00:00 GMT", f"Mon, 4 May 2026 12:00:00 +{'9' * 14}"]
)
def test_garbled_time(date: str | None) -> None:
    """A time that a proxy has removed or garbled is left out; the machine's counts before any other."""
    headers = {} if date is None else {"date": date}
    aws_clock.note_server_time(headers)
    assert abs(aws_clock.now() - datetime.now(UTC)) < MINUTE
    aws_clock.note_server_time({"date": "Mon, 04 May 2026 12:00:00 -0000"})
    aws_clock.note_server_time(headers)
    assert aws_clock.now() == aws_clock.first_time() == THEN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"2026-05-04T{time}", THEN) for time in ("12:00:00.000Z", "12:00:00", "14:00:00+02:00")),
        ("soon", None),
    ],
)
def test_times(text: str, expected: datetime | None) -> None:
    """A time without a zone is UTC; an invalid time is None."""
    assert parse_time(text) == expected
