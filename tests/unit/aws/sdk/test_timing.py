"""How long each wait lasts, and what ends it."""

import signal
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws.sdk import errors, timing
from bosh_aws_cpi.aws.sdk.timing import JITTER, LONGEST_PAUSE, LONGEST_SLOWED_PAUSE, NotYet, Policy
from bosh_aws_cpi.errors import CloudError, VMCreationFailed, VMNotFound
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.aws.timing_script import Script, fault, jitter, refusal
from tests.unit.conftest import Clock, ProgramLog

WHAT = "vol-1 to be available"
POLICY = Policy(WHAT, 60)
THROTTLED = refusal("Throttling")


def attempts(policy: Policy, call: Callable[[], Any]) -> Any:
    """Make the attempts of a wait."""
    wait = timing.Wait(policy, WHAT)
    while True:
        try:
            return call()
        except (NotYet, ClientError) as error:
            wait.pause(error)


WAYS: list[Callable[[Policy, Callable[[], Any]], Any]] = [
    lambda policy, call: timing.poll(policy, WHAT, call),
    lambda policy, call: timing.retry_on_codes(policy, WHAT, errors.THROTTLED, call),
    attempts,
]
ALL_WAYS = pytest.mark.parametrize("way", WAYS, ids=["until", "patiently", "attempts"])


@ALL_WAYS
@pytest.mark.parametrize("part", [0.0, 1.0])
def test_pauses(
    clock: Clock,
    program_log: ProgramLog,
    monkeypatch: pytest.MonkeyPatch,
    way: Callable[..., Any],
    part: float,
) -> None:
    """Pauses grow to the bound, with jitter; the last question is asked when the time is over.

    A wait of minutes logs a line a minute at level info.
    """
    jitter(monkeypatch, part)
    script = Script(NotYet("creating") if way is WAYS[0] else THROTTLED)
    with pytest.raises((CloudError, ClientError)):
        way(Policy(WHAT, 500, usually=(0, 9)), script)
    pauses = [pause / (1 + JITTER * part) for pause in clock.pauses]
    assert pauses == sorted(pauses)
    assert [*pauses[:3], pauses[-1]] == pytest.approx([3, 3, 3, LONGEST_PAUSE])
    assert 0 <= clock.now - 500 <= LONGEST_PAUSE * (1 + JITTER)
    assert script.calls == len(pauses) + 1
    infos = [record.text for record in program_log.records if record.level == "INFO"]
    assert ["8 min" in infos[-1], len(infos)] == [True, 8]


def test_throttled_looks(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each throttled look doubles the pauses, up to half a minute; answers let them shrink again.

    A look may succeed after throttled attempts; a change that is tried at once is no look.
    """
    jitter(monkeypatch, 0)
    throttled = iter([True, True, True, True, False, False, False, False, False])

    def look() -> None:
        if next(throttled):
            timing.note_throttling()
        raise NotYet("pending")

    with pytest.raises(StopIteration):
        timing.poll(Policy(WHAT, 500, usually=(4, 13)), WHAT, look)
    waited = [4, 6, 12, 24, LONGEST_SLOWED_PAUSE, 24 * timing.GROWTH**2]
    assert clock.pauses[:6] == pytest.approx(waited)
    assert clock.pauses[-1] < 3 * timing.GROWTH**6


USUAL = [
    (timing.INSTANCE_RUNNING, 5, 17, 5),
    (timing.INSTANCE_TERMINATED, 49, 60, 6),
    (timing.VOLUME_AVAILABLE, 1.5, 4, 3),
    (timing.VOLUME_ATTACHED, 1.5, 4, 3),
    (timing.VOLUME_DETACHED, 1.5, 4, 3),
    (timing.VOLUME_DELETED, 1.5, 4, 3),
]


def look_times(policy: Policy, until: float) -> list[float]:
    """When a wait looks, with average jitter, if the change is over at a time: the last look sees it."""
    times = [0.0]
    for pause in timing.pauses(policy):
        if times[-1] >= until:
            break
        times.append(times[-1] + pause * (1 + JITTER / 2))
    return times[1:]


@pytest.mark.parametrize(("policy", "first", "last", "most"), USUAL)
def test_looks(policy: Policy, first: float, last: float, most: int) -> None:
    """EC2 accepts ten times as many reads as launches: half of them are five looks at each new instance.

    The looks are about when changes usually are over; a slow change is seen a few seconds late.
    """
    assert len(look_times(policy, last)) <= most
    assert len(look_times(policy, last / 2)) <= (most + 1) / 2
    over = [first + (last - first) * number / 100 for number in range(101)]
    late = [look_times(policy, each)[-1] - each for each in over]
    assert sum(late) / len(late) <= 2
    assert look_times(policy, first)[-1] - first <= 1.5
    slow = [time for time in look_times(policy, last * 4) if time >= last]
    assert max(after - before for before, after in pairwise(slow)) <= 12
    assert len(slow) <= 30


NO_ANSWER = [refusal("RequestLimitExceeded"), fault(""), ResponseParserError("<html>hunter2")]


@pytest.mark.parametrize("last", [NotYet("creating"), *NO_ANSWER], ids=str)
def test_timed_out(clock: Clock, last: Exception) -> None:
    """What is not answered is asked again; a time-out says what was awaited and seen last, but no page."""
    with pytest.raises(VMCreationFailed) as caught:
        timing.poll(
            POLICY,
            WHAT,
            Script(NotYet("pending"), last),
            lambda said: VMCreationFailed(said, ok_to_retry=True),
        )
    begin, _, seen = caught.value.message.partition("; last seen: ")
    assert [WHAT in begin, bool(seen), "pending" in seen, "hunter2" in seen] == [True, True, False, False]
    assert clock.now >= POLICY.seconds


@pytest.mark.parametrize("error", [*NO_ANSWER, ValueError()], ids=str)
def test_not_repeatable(clock: Clock, error: Exception) -> None:
    """What changes something is not repeated without an answer, but while a state is not reached yet."""
    script = Script(NotYet("pending"), error)
    with pytest.raises(type(error)) as caught:
        timing.poll(POLICY, WHAT, script, is_repeatable=False)
    assert (caught.value, script.calls, len(clock.pauses)) == (error, 2, 1)


@ALL_WAYS
@pytest.mark.usefixtures("signals")
def test_signal_that_waits(clock: Clock, way: Callable[..., Any]) -> None:
    """A signal that waits is acted upon before a pause, not after it."""

    def step() -> None:
        with interrupts.shielded():
            signal.raise_signal(signal.SIGTERM)
            raise THROTTLED

    with pytest.raises(Interrupted):
        way(POLICY, step)
    assert clock.pauses == []


UNKNOWN = "InvalidVolume.NotFound"


def discard(*ends: Any, **policy: Any) -> int:
    """Remove something; returns the number of calls."""
    script = Script(*ends)
    timing.discard("volume 'vol-1'", errors.VOLUME_MISSING, script, **policy)
    return script.calls


@pytest.mark.parametrize("policy", [{}, {"policy": timing.AT_ONCE}], ids=["new", "seen"])
def test_discard_unknown(clock: Clock, program_log: ProgramLog, policy: dict[str, Any]) -> None:
    """What stays unknown is gone, at once if AWS has shown it before; throttling is waited out longer."""
    discard(refusal(UNKNOWN), **policy)
    assert (clock.now >= timing.VISIBLE.seconds) is not bool(policy)
    assert "There is no volume 'vol-1'" in program_log.records[-1].text
    assert discard(*[THROTTLED] * 15, None, **policy) == 16
    with pytest.raises(ClientError, match="Throttling"):
        discard(THROTTLED, **policy)
    assert clock.now >= timing.UNTHROTTLED.seconds
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        discard(refusal("UnauthorizedOperation"), **policy)


def test_gone_meanwhile(clock: Clock) -> None:
    """What AWS has shown, and does not show when it has not found it again, is gone: there is no wait."""
    call, look = Script(VMNotFound("i-1")), Script(None, VMNotFound("i-1"))
    with pytest.raises(VMNotFound):
        timing.repeat_while_shown("instance 'i-1'", VMNotFound, look, call)
    assert (call.calls, look.calls, clock.pauses) == (2, 2, [])


RUBY: dict[str, int] = {
    **dict.fromkeys(("VOLUME_AVAILABLE", "VOLUME_DELETED", "VOLUME_ATTACHED", "VOLUME_DETACHED"), 1598),
    **dict.fromkeys(("VOLUME_MODIFIED", "IMAGE_AVAILABLE", "IMAGE_GONE", "SNAPSHOT_COMPLETED"), 1598),
    "INSTANCE_SEEN": 200,
    "INSTANCE_RUNNING": 200 + 600,
    "INSTANCE_TERMINATED": 600,
    "NIC_AVAILABLE": 200,
    "NIC_RELEASED": 490,
    "ADDRESS_RELEASED": 570,
    "VOLUME_RELEASED": 572,
    "INSTANCE_READY_TO_ATTACH": 29,
    "TAGGABLE": 265,
    "ADDRESS_ASSOCIATED": 9,
    "DEVICE_SEEN": 60,
}
"""Seconds that the Ruby release 107.3.2 waits, pauses alone.

From its resource_wait.rb, volume_manager.rb, network_interface.rb, network_interface_manager.rb,
network_configurator.rb, tag_manager.rb, block_device_manager.rb, and the SDK's waiters in instance.rb.
"""


def test_no_shorter_than_the_ruby_release() -> None:
    """No wait is shorter than the Ruby release's."""
    shorter = {name: seconds for name, seconds in RUBY.items() if getattr(timing, name).seconds < seconds}
    assert shorter == {}
    assert timing.INSTANCE_TERMINATED.seconds > 20 * 60  # bare metal has shut down for over 19 minutes


def test_visibility(clock: Clock) -> None:
    """A new resource may stay unseen for a while; one that was seen and is not shown is lost at once."""
    clock.now = 1000
    sights = [timing.VisibilityWindow(), timing.VisibilityWindow(timing.NIC_SEEN)]
    for sight, policy in zip(sights, (timing.NEW_SEEN, timing.NIC_SEEN), strict=True):
        for seconds, is_overdue in ((policy.seconds, False), (policy.seconds + 0.5, True)):
            clock.now = 1000 + seconds
            assert (sight.is_overdue, sight.is_lost) == (is_overdue, is_overdue)
        sight.was_seen = True
        assert (sight.is_overdue, sight.is_lost) == (False, True)
