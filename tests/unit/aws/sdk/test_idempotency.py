"""Calls that make something and whose answer is lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.aws.sdk.errors import Call, may_be_done
from bosh_aws_cpi.aws.sdk.idempotency import RECENT, WITHOUT_TOKEN, create_once, is_recent, parsed_time
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.timing_script import Script, fault, knowing, refusal

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, ProgramLog

LOST = ReadTimeoutError(endpoint_url="http://h/")
UNCERTAIN = pytest.mark.parametrize(
    "error",
    [LOST, fault("InternalError"), fault("Unavailable"), ResponseParserError("x"), KeyError("VolumeId")],
    ids=repr,
)


def uncertain_before(error: Exception) -> Exception:
    """Make an error of a call of which an earlier attempt may have done the work."""
    return knowing(error, Call("", (), was_uncertain=True))


def test_certain(clock: Clock) -> None:
    """After an answer, no search is made."""
    find = Script("found")
    assert create_once("it", Script("made"), find) == "made"
    assert (find.calls, clock.pauses) == (0, [])


NEVER_SENT = EndpointConnectionError(endpoint_url="http://h/")


@pytest.mark.parametrize(
    "error",
    [refusal("UnauthorizedOperation"), fault("Throttling"), NEVER_SENT, CloudError("no"), ValueError()],
    ids=repr,
)
def test_certainly_not_made(clock: Clock, error: Exception) -> None:
    """After a refusal, throttling or a failed connection the error is raised at once."""
    make, find = Script(error), Script("found")
    with pytest.raises(type(error)) as caught:
        create_once("it", make, find, WITHOUT_TOKEN)
    assert caught.value is error
    assert (make.calls, find.calls, clock.pauses) == (1, 0, [])


@UNCERTAIN
@pytest.mark.parametrize("unseen", [0, 3])
def test_found(clock: Clock, program_log: ProgramLog, error: Exception, unseen: int) -> None:
    """A resource whose creation was not answered is found as soon as AWS shows it, and not created again."""
    make, find = Script(error), Script(*[None] * unseen, "found")
    assert create_once("it", make, find, WITHOUT_TOKEN) == "found"
    assert (make.calls, find.calls, len(clock.pauses)) == (1, unseen + 1, unseen)
    warnings = [record.text for record in program_log.records if record.level == "WARNING"]
    assert len(warnings) == 1
    assert warnings[0].startswith("It is uncertain whether it was created: ")


@pytest.mark.parametrize("unseen", [0, 3])
@pytest.mark.parametrize("how", ["throttled", "refused", "unconnected"])
def test_found_after_an_uncertain_attempt(clock: Clock, how: str, unseen: int) -> None:
    """A resource of an earlier attempt is found, too, however the last attempt ended."""
    endings = {
        "throttled": refusal("RequestLimitExceeded"),
        "refused": refusal("VolumeLimitExceeded"),
        "unconnected": EndpointConnectionError(endpoint_url="http://h/"),
    }
    make, find = Script(uncertain_before(endings[how])), Script(*[None] * unseen, "found")
    assert create_once("it", make, find) == "found"
    assert (make.calls, find.calls, len(clock.pauses)) == (1, unseen + 1, unseen)


def test_refused_after_an_uncertain_attempt(clock: Clock) -> None:
    """When it is not to be seen the last attempt's error counts, and it is not made again with a token."""
    error = uncertain_before(refusal("VolumeLimitExceeded"))
    with pytest.raises(ClientError, match="VolumeLimitExceeded"):
        create_once("it", Script(error), Script(None))
    assert 60 <= clock.now <= 66


def test_refused_after_throttling(clock: Clock) -> None:
    """A call of which all earlier attempts were throttled is not looked for."""
    error, find = knowing(refusal("VolumeLimitExceeded"), Call("", (), throttled=3)), Script("found")
    with pytest.raises(ClientError, match="VolumeLimitExceeded"):
        create_once("it", Script(error), find)
    assert (find.calls, clock.pauses) == (0, [])


@UNCERTAIN
def test_not_found(clock: Clock, error: Exception) -> None:
    """The SDK has repeated a call with a client token: if the resource is not found, the error is raised."""
    make = Script(error)
    with pytest.raises(type(error)) as caught:
        create_once("it", make, Script(None))
    assert (caught.value, make.calls) == (error, 1)
    assert 60 <= clock.now <= 66


@UNCERTAIN
def test_made_again(clock: Clock, error: Exception) -> None:
    """A resource without a mark is requested again after a minute in which it was not seen."""
    make = Script(error, error, "made")
    assert create_once("it", make, Script(None), WITHOUT_TOKEN) == "made"
    assert make.calls == 3
    assert 120 <= clock.now <= 132


def test_found_after_the_last_attempt(clock: Clock) -> None:
    """Also after the last attempt it is looked for; the last error counts when there is nothing."""
    make = Script(fault(), fault(), LOST)
    with pytest.raises(ReadTimeoutError):
        create_once("it", make, Script(None), WITHOUT_TOKEN)
    assert make.calls == WITHOUT_TOKEN
    assert 180 <= clock.now <= 198
    find = Script(None, "found")
    assert create_once("it", Script(LOST), find) == "found"
    assert find.calls == 2


def test_refused_after_all(clock: Clock, program_log: ProgramLog) -> None:
    """An attempt that is refused ends it after another search, and the log says what may be left behind."""
    error = knowing(refusal("InvalidSubnet.Conflict"), Call("", ()))
    make = Script(LOST, error)
    with pytest.raises(ClientError, match=r"InvalidSubnet\.Conflict"):
        create_once("it", make, Script(None), WITHOUT_TOKEN)
    assert (make.calls, 120 <= clock.now <= 132) == (2, True)
    errors = [record.text for record in program_log.records if record.level == "ERROR"]
    assert errors == ["Perhaps left behind, because an attempt was not answered: it"]
    assert may_be_done(error)


def test_refused_because_of_the_lost_one(clock: Clock) -> None:
    """A refusal may come from the very resource that AWS did not show before: it is found, and returned."""
    make = Script(LOST, refusal("InvalidSubnet.Conflict"))
    unseen: list[str | None] = [None] * 60
    found = create_once("it", make, lambda: unseen.pop() if clock.now < 70 else "found", WITHOUT_TOKEN)
    assert (found, make.calls) == ("found", 2)


def test_search_that_is_throttled(clock: Clock) -> None:
    """A look that is not answered says nothing: it is taken again; one that is refused ends it."""
    find = Script(refusal("RequestLimitExceeded"), LOST, "found")
    assert create_once("it", Script(LOST), find) == "found"
    assert len(clock.pauses) == 2
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        create_once("it", Script(LOST), Script(refusal("UnauthorizedOperation")))


def test_search_that_is_never_answered(clock: Clock) -> None:
    """A resource is not requested again if the search for it was never answered."""
    make = Script(LOST)
    with pytest.raises(ReadTimeoutError):
        create_once("it", make, Script(refusal("RequestLimitExceeded")), WITHOUT_TOKEN)
    assert make.calls == 1
    assert clock.now >= 10


MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("age", "recent"),
    [
        (timedelta(0), True),
        (RECENT - MINUTE, True),
        (RECENT + MINUTE, False),
        (timedelta(days=365), False),
        (-MINUTE, True),
    ],
    ids=str,
)
@pytest.mark.parametrize("hours", [0, -8, 5.5])
def test_recent(age: timedelta, hours: float, *, recent: bool) -> None:
    """A resource older than half an hour, by AWS's clock, belongs to another call."""
    began = datetime.now(UTC) - timedelta(hours=2)
    for later in (timedelta(0), timedelta(hours=1)):
        clock.hear({"date": format_datetime(began + later)})
    made = (began - age).astimezone(timezone(timedelta(hours=hours)))
    assert is_recent(made) is recent
    assert is_recent(made.astimezone(UTC)) is recent


def test_recent_without_a_time() -> None:
    """A resource without a time can be this call's."""
    assert is_recent(None) is True


@pytest.mark.parametrize(
    "date", ["", "yesterday", "Mon, 99 Nov 2026 00:00:00 GMT", "Mon, 4 May 2026 12:00:00 +99999999999999"]
)
def test_time_that_is_garbled(date: str) -> None:
    """A time that a proxy has removed or garbled is left out; the machine's counts before any other."""
    clock.hear({"date": date} if date else {})
    assert abs(clock.now() - datetime.now(UTC)) < MINUTE
    told = "Mon, 04 May 2026 12:00:00 -0000"
    clock.hear({"date": told})
    clock.hear({"date": date} if date else {})
    assert clock.now() == clock.began() == THEN


THEN = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-04T12:00:00Z", THEN),
        ("2026-05-04T12:00:00.000Z", THEN),
        ("2026-05-04T12:00:00", THEN),
        ("2026-05-04T14:00:00+02:00", THEN),
        ("", None),
        ("soon", None),
    ],
)
def test_times(text: str, expected: datetime | None) -> None:
    """A time without a zone is UTC; an invalid time is None."""
    assert parsed_time(text) == expected
