"""All waiting and retrying of the program."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.timing import NotYet, Policy
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.aws.timing_script import Script, fault, jitter, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Clock, ProgramLog

WHAT = "vol-1 to be available"
POLICY = Policy(WHAT, 60)


WAYS: list[Callable[[Policy, Callable[[], Any]], Any]] = [
    lambda policy, call: timing.until(policy, WHAT, call),
    lambda policy, call: timing.patiently(policy, WHAT, frozenset({"Throttling"}), call),
]
BOTH_WAYS = pytest.mark.parametrize("way", WAYS, ids=["until", "patiently"])


@BOTH_WAYS
def test_at_once(clock: Clock, way: Callable[..., Any]) -> None:
    """If the condition is met at once, there is one question and no pause."""
    script = Script("answer")
    assert way(POLICY, script) == "answer"
    assert (script.calls, clock.pauses) == (1, [])


@BOTH_WAYS
def test_after_a_while(clock: Clock, way: Callable[..., Any]) -> None:
    """It asks again until there is an answer, null too; throttling is no answer."""
    script = Script(refusal("Throttling"), refusal("Throttling"), None)
    assert way(POLICY, script) is None
    assert (script.calls, len(clock.pauses)) == (3, 2)


@BOTH_WAYS
@pytest.mark.parametrize(
    ("policy", "bound"), [(Policy(WHAT, 200), 5.0), (Policy(WHAT, 500, longest_pause=15), 15.0)]
)
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_pauses(
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    way: Callable[..., Any],
    policy: Policy,
    bound: float,
    part: float,
) -> None:
    """Pauses begin at half a second, grow by 1.04 to the bound, and are spread by at most a quarter."""
    jitter(monkeypatch, part)
    with pytest.raises((CloudError, ClientError)):
        way(policy, Script(refusal("Throttling")))
    assert clock.pauses[0] == pytest.approx(0.5 + 0.25 * part)
    for number, pause in enumerate(clock.pauses):
        regular = min(0.5 * 1.04**number, bound)
        assert regular <= pause <= regular + 0.25
    assert clock.pauses[-1] >= bound


@BOTH_WAYS
@pytest.mark.parametrize("seconds", [1, 60, 600])
def test_end(clock: Clock, way: Callable[..., Any], seconds: int) -> None:
    """It gives up when the time is over, and not before: the last question is asked then."""
    script = Script(refusal("Throttling"))
    with pytest.raises((CloudError, ClientError)):
        way(Policy(WHAT, seconds), script)
    assert seconds <= clock.now <= seconds + 5.25
    assert script.calls == len(clock.pauses) + 1


@BOTH_WAYS
def test_one_attempt(clock: Clock, way: Callable[..., Any]) -> None:
    """AT_ONCE asks once."""
    script = Script(refusal("Throttling"))
    with pytest.raises((CloudError, ClientError)):
        way(timing.AT_ONCE, script)
    assert (script.calls, clock.pauses) == (1, [])


@pytest.mark.parametrize(
    ("last", "seen"),
    [
        (NotYet("creating"), "creating"),
        (refusal("RequestLimitExceeded"), "RequestLimitExceeded"),
        (fault("InternalError"), "InternalError"),
        (ReadTimeoutError(endpoint_url="http://h/"), 'Read timeout on endpoint URL: "http://h/"'),
        (ResponseParserError("<html>hunter2"), "its answer can't be read"),
    ],
    ids=["state", "throttled", "fault", "no answer", "a page"],
)
def test_timed_out(clock: Clock, last: Exception, seen: str) -> None:
    """The time-out says what was waited for, how long, and what was seen last, throttling too."""
    with pytest.raises(CloudError) as caught:
        timing.until(POLICY, WHAT, Script(NotYet("pending"), last))
    begin, _, end = caught.value.message.partition("; ")
    assert begin == f"Timed out after 60 seconds waiting for {WHAT}"
    assert end.startswith("last seen: ")
    assert seen in end
    assert "hunter2" not in end
    assert clock.now >= 60


def test_own_time_out(clock: Clock) -> None:
    """The caller may choose the error of a time-out."""
    with pytest.raises(VMCreationFailed, match="last seen: pending") as caught:
        timing.until(
            Policy(WHAT, 10),
            WHAT,
            Script(NotYet("pending")),
            lambda said: VMCreationFailed(said, ok_to_retry=True),
        )
    assert caught.value.ok_to_retry is True
    assert clock.now >= 10


@pytest.mark.parametrize(
    "code", ["RequestLimitExceeded", "Throttling", "ThrottlingException", "RequestThrottled"]
)
def test_throttling(clock: Clock, code: str) -> None:
    """A question that AWS throttles is asked again."""
    assert timing.until(POLICY, WHAT, Script(refusal(code), "answer")) == "answer"
    assert len(clock.pauses) == 1


NO_ANSWER = [
    *(fault("InternalError"), fault("Unavailable"), fault("")),
    *(ReadTimeoutError(endpoint_url="http://h/"), ConnectionClosedError(endpoint_url="http://h/")),
    *(EndpointConnectionError(endpoint_url="http://h/"), ResponseParserError("unreadable")),
]


@pytest.mark.parametrize("error", [*NO_ANSWER, refusal("Throttling")], ids=str)
def test_no_answer(clock: Clock, error: Exception) -> None:
    """A question that is throttled or not answered is asked again; what changes something is not repeated."""
    assert timing.until(POLICY, WHAT, Script(error, "answer")) == "answer"
    assert len(clock.pauses) == 1
    script = Script(error)
    with pytest.raises(type(error)) as caught:
        timing.until(POLICY, WHAT, script, is_repeatable=False)
    assert (caught.value, script.calls) == (error, 1)


def test_not_yet_while_changing(clock: Clock) -> None:
    """A state that is not reached yet is waited for, also by what changes something."""
    assert timing.until(POLICY, WHAT, Script(NotYet("pending"), "made"), is_repeatable=False) == "made"
    assert len(clock.pauses) == 1


UNTRUSTED = SSLError(endpoint_url="https://h/", error=OSError("[SSL: CERTIFICATE_VERIFY_FAILED]"))


@BOTH_WAYS
@pytest.mark.parametrize(
    "error",
    [refusal("UnauthorizedOperation"), CloudError("failed"), ValueError(), UNTRUSTED],
    ids=lambda e: type(e).__name__,
)
def test_other_errors(clock: Clock, way: Callable[..., Any], error: Exception) -> None:
    """Any other error ends it at once, a certificate that is not trusted too."""
    script = Script(error)
    with pytest.raises(type(error)) as caught:
        way(POLICY, script)
    assert caught.value is error
    assert (script.calls, clock.pauses) == (1, [])


def test_patience_that_ends(clock: Clock) -> None:
    """When the time is over the last error goes on; a code that was not named ends it at once."""
    last = refusal("VolumeInUse")
    with pytest.raises(ClientError) as caught:
        timing.patiently(
            Policy(WHAT, 3), WHAT, frozenset({"VolumeInUse"}), Script(refusal("VolumeInUse"), last)
        )
    assert caught.value is last
    assert clock.now >= 3
    script = Script(NotYet("pending"))
    with pytest.raises(NotYet):
        timing.patiently(POLICY, WHAT, frozenset({"VolumeInUse"}), script)
    assert script.calls == 1


@BOTH_WAYS
@pytest.mark.usefixtures("signals")
def test_signal_that_waits(clock: Clock, way: Callable[..., Any]) -> None:
    """A signal that waits is acted upon before a pause, not after it."""

    def step() -> None:
        with interrupts.shielded():
            signal.raise_signal(signal.SIGTERM)
            raise refusal("Throttling")

    with pytest.raises(Interrupted):
        way(POLICY, step)
    assert clock.pauses == []


@BOTH_WAYS
def test_log(clock: Clock, program_log: ProgramLog, way: Callable[..., Any]) -> None:
    """Each pause is logged at debug level, with what is waited for and what AWS said."""
    way(POLICY, Script(refusal("Throttling"), refusal("Throttling"), "answer"))
    assert [(record.level, record.text) for record in program_log.records] == [
        ("DEBUG", f"Waiting for {WHAT}: Throttling")
    ] * len(clock.pauses)
    assert len(clock.pauses) == 2


@BOTH_WAYS
def test_log_of_each_minute(clock: Clock, program_log: ProgramLog, way: Callable[..., Any]) -> None:
    """A wait that takes minutes logs one line a minute at level info, with what is waited for."""
    with pytest.raises((CloudError, ClientError)):
        way(Policy(WHAT, 200, longest_pause=15), Script(refusal("Throttling")))
    assert clock.now >= 200
    assert [record.text for record in program_log.records if record.level == "INFO"] == [
        f"Still waiting after {minutes} min for {WHAT}: Throttling" for minutes in (1, 2, 3)
    ]


def test_log_of_a_state(clock: Clock, program_log: ProgramLog) -> None:
    """A state is logged as it is."""
    timing.until(POLICY, WHAT, Script(NotYet("pending"), 1))
    assert [record.text for record in program_log.records] == [f"Waiting for {WHAT}: pending"]
    assert len(clock.pauses) == 1
