"""Calls that create something and whose answer is lost, and how old a resource is by AWS's clock."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from bosh_aws_cpi.aws.sdk import clock as aws_clock
from bosh_aws_cpi.aws.sdk.errors import Call, may_be_done
from bosh_aws_cpi.aws.sdk.idempotency import RECENT, WITHOUT_TOKEN, create_once, is_recent, parsed_time
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


@pytest.mark.parametrize("error", CERTAIN, ids=repr)
def test_certain(clock: Clock, error: Exception) -> None:
    """After an answer no search is made; after a refusal, throttling or a failed connection neither."""
    find = Script("found")
    assert create_once("it", Script("made"), find) == "made"
    make = Script(error)
    with pytest.raises(type(error)) as caught:
        create_once("it", make, find, WITHOUT_TOKEN)
    assert caught.value is error
    assert (make.calls, find.calls, clock.pauses) == (1, 0, [])


@pytest.mark.parametrize("error", UNCERTAIN, ids=repr)
def test_found(clock: Clock, program_log: ProgramLog, error: Exception) -> None:
    """A resource whose creation was not answered is found as soon as AWS shows it, and not created again."""
    make, find = Script(error), Script(None, None, "found")
    assert create_once("it", make, find, WITHOUT_TOKEN) == "found"
    assert (make.calls, find.calls, len(clock.pauses)) == (1, 3, 2)
    assert [record.level for record in program_log.records].count("WARNING") == 1


@pytest.mark.parametrize("error", UNCERTAIN, ids=repr)
def test_not_found(clock: Clock, error: Exception) -> None:
    """What is not seen for a minute was not created: that is an error if the SDK has repeated the call."""
    make = Script(error)
    with pytest.raises(type(error)) as caught:
        create_once("it", make, Script(None))
    assert (caught.value, make.calls) == (error, 1)
    assert 0 <= clock.now - LOST_SEEN.seconds <= 6


def test_created_again(clock: Clock) -> None:
    """What has no client token is then created again, up to a limit; the last one is looked for, too."""
    make = Script(LOST, fault(), "made")
    assert create_once("it", make, Script(None), WITHOUT_TOKEN) == "made"
    assert (make.calls, clock.now >= 2 * LOST_SEEN.seconds) == (3, True)
    make = Script(fault(), fault(), LOST)
    with pytest.raises(ReadTimeoutError):
        create_once("it", make, Script(None), WITHOUT_TOKEN)
    assert (make.calls, clock.now >= 5 * LOST_SEEN.seconds) == (WITHOUT_TOKEN, True)


def test_refused_after_all(clock: Clock, program_log: ProgramLog) -> None:
    """A refusal of another attempt ends the call after a search; the log says what may be left behind."""
    error = knowing(refusal("InvalidSubnet.Conflict"), Call("", ()))
    make = Script(LOST, error)
    with pytest.raises(ClientError, match="Conflict"):
        create_once("it", make, Script(None), WITHOUT_TOKEN)
    assert (make.calls, clock.now >= 2 * LOST_SEEN.seconds) == (2, True)
    (said,) = [record.text for record in program_log.records if record.level == "ERROR"]
    assert said.startswith("Perhaps left behind")
    assert may_be_done(error)


def test_refused_because_of_the_lost_one(clock: Clock) -> None:
    """A refusal may come from the very resource that AWS did not show before: it is found, and returned."""
    make = Script(LOST, refusal("InvalidSubnet.Conflict"))

    def find() -> str | None:
        return "found" if clock.now > LOST_SEEN.seconds + 10 else None

    assert (create_once("it", make, find, WITHOUT_TOKEN), make.calls) == ("found", 2)


def test_search_without_an_answer(clock: Clock) -> None:
    """A search that is not answered is made again, and proves nothing; one that is refused ends it."""
    find = Script(refusal("RequestLimitExceeded"), LOST, "found")
    assert create_once("it", Script(LOST), find) == "found"
    assert len(clock.pauses) == 2
    make = Script(LOST)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        create_once("it", make, Script(refusal("UnauthorizedOperation")), WITHOUT_TOKEN)
    with pytest.raises(ReadTimeoutError):
        create_once("it", make, Script(refusal("RequestLimitExceeded")), WITHOUT_TOKEN)
    assert make.calls == 2


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
        aws_clock.hear({"date": format_datetime(began + later)})
    assert is_recent((began - age).astimezone(timezone(timedelta(hours=5.5)))) is recent
    assert is_recent(None) is True


THEN = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "date", [None, "yesterday", "Mon, 99 Nov 2026 00:00:00 GMT", f"Mon, 4 May 2026 12:00:00 +{'9' * 14}"]
)
def test_garbled_time(date: str | None) -> None:
    """A time that a proxy has removed or garbled is left out; the machine's counts before any other."""
    headers = {} if date is None else {"date": date}
    aws_clock.hear(headers)
    assert abs(aws_clock.now() - datetime.now(UTC)) < MINUTE
    aws_clock.hear({"date": "Mon, 04 May 2026 12:00:00 -0000"})
    aws_clock.hear(headers)
    assert aws_clock.now() == aws_clock.began() == THEN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"2026-05-04T{time}", THEN) for time in ("12:00:00.000Z", "12:00:00", "14:00:00+02:00")),
        ("soon", None),
    ],
)
def test_times(text: str, expected: datetime | None) -> None:
    """A time without a zone is UTC; an invalid time is None."""
    assert parsed_time(text) == expected
