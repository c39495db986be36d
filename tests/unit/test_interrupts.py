"""SIGTERM, SIGINT and the loss of the caller as an exception that comes only where it can do no harm."""

from __future__ import annotations

import os
import select
import signal
import socket
from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.interrupts import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.unit.conftest import Clock

pytestmark = pytest.mark.usefixtures("signals")

BOTH = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


def arrive(number: signal.Signals = signal.SIGTERM) -> None:
    """Let a signal arrive."""
    signal.raise_signal(number)


def failing_step() -> None:
    """Take a step during which a signal arrives, and which fails."""
    with interrupts.shielded():
        arrive()
        raise LookupError


@BOTH
def test_signal(number: signal.Signals) -> None:
    """A signal ends what runs, by its name; no handler of errors swallows that."""
    with pytest.raises(Interrupted) as caught:
        arrive(number)
    assert caught.value.cause == number.name
    assert str(caught.value) == f"interrupted by {number.name}"
    assert not isinstance(caught.value, Exception)


def test_only_the_first_counts() -> None:
    """A second signal doesn't interrupt what the first one started."""
    with pytest.raises(Interrupted):
        arrive()
    arrive()
    arrive(signal.SIGINT)
    interrupts.check()
    with interrupts.shielded():
        arrive()


def test_shielded() -> None:
    """A step is not interrupted; the signal comes at its end, and the first one at that."""
    done = []

    def step() -> None:
        with interrupts.shielded():
            arrive(signal.SIGINT)
            interrupts.check()
            arrive(signal.SIGTERM)
            done.append("step")

    with pytest.raises(Interrupted) as caught:
        step()
    assert done == ["step"]
    assert caught.value.cause == "SIGINT"
    interrupts.check()


def test_shields_within_shields() -> None:
    """The signal waits for the end of the outermost step."""
    done = []

    def step() -> None:
        with interrupts.shielded():
            with interrupts.shielded():
                arrive()
            done.append("after the inner one")

    with pytest.raises(Interrupted):
        step()
    assert done == ["after the inner one"]


def test_step_that_fails() -> None:
    """The error of a step goes first; the signal waits for the next check, and comes once."""
    with pytest.raises(LookupError):
        failing_step()
    with pytest.raises(Interrupted):
        interrupts.check()
    interrupts.check()


def test_step_without_a_signal() -> None:
    """Without a signal a step just runs, and nothing waits afterwards."""
    with interrupts.shielded():
        pass
    with pytest.raises(LookupError), interrupts.shielded():
        raise LookupError
    interrupts.check()
    with pytest.raises(Interrupted):  # no shield was left up
        arrive()


def test_signal_after_a_failed_step() -> None:
    """A signal that waits for a check is not forgotten when a later step succeeds."""
    with pytest.raises(LookupError):
        failing_step()
    with pytest.raises(Interrupted), interrupts.shielded():
        pass


@BOTH
def test_signal_before_the_start(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    """A signal that comes before there is somebody to tell waits for the start."""
    fresh = type(vars(interrupts)["_signals"])()
    monkeypatch.setattr("bosh_aws_cpi.interrupts._signals", fresh)
    interrupts.install()
    arrive(number)
    interrupts.check()
    with pytest.raises(Interrupted) as caught:
        interrupts.start()
    assert caught.value.cause == number.name
    interrupts.check()


@BOTH
def test_close(number: signal.Signals) -> None:
    """After the point of no return no signal ends the call."""
    interrupts.close()
    arrive(number)
    interrupts.check()
    with interrupts.shielded():
        arrive(number)
    assert signal.getsignal(number) is not signal.SIG_DFL


def test_close_with_a_signal_waiting() -> None:
    """A signal that still waits is dropped by the point of no return."""
    with pytest.raises(LookupError):
        failing_step()
    interrupts.close()
    interrupts.check()
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL


@pytest.fixture
def caller() -> Iterator[Callable[[], None]]:
    """Return what closes the end of a pipe at which the caller reads."""
    reader, writer = os.pipe()
    interrupts.set_caller(writer)
    with os.fdopen(reader, "rb") as end:
        yield end.close
    os.close(writer)


def test_lost_caller(caller: Callable[[], None]) -> None:
    """The loss of the caller ends a call that creates something, once, at the next check."""
    interrupts.end_without_caller()
    interrupts.check()
    assert interrupts.pending() is None
    caller()
    with pytest.raises(Interrupted) as caught:
        interrupts.check()
    assert caught.value.cause == interrupts.CALLER_GONE
    interrupts.check()


def test_lost_caller_of_another_call(caller: Callable[[], None]) -> None:
    """The loss of the caller does not end a call that creates nothing."""
    caller()
    interrupts.check()
    assert interrupts.pending() is None


class Poll:
    """Stands in for `select.poll`; waits by the replaced clock."""

    def __init__(self, clock: Clock, waits: float, events: int) -> None:
        """Wait at most so many seconds, and then report these events."""
        self._clock, self._waits, self._events = clock, waits, events

    def register(self, descriptor: int, events: int) -> None:
        """Be asked for events; macOS reports no closed end unless one is asked for."""
        assert descriptor > 0
        assert events & select.POLLHUP

    def poll(self, milliseconds: float) -> list[tuple[int, int]]:
        """Wait."""
        self._clock.now += min(milliseconds / 1000, self._waits)
        return [(1, self._events)] if self._events else []


@pytest.mark.usefixtures("caller")
@pytest.mark.parametrize(
    ("waits", "events"), [(3600, 0), (2, 0), (0, select.POLLNVAL)], ids=["whole", "early", "no pipe"]
)
def test_pause_with_a_caller(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, waits: float, events: int
) -> None:
    """While the caller is there, a pause takes its whole time, even if the system's wait ends early."""
    interrupts.end_without_caller()
    monkeypatch.setattr(select, "poll", lambda: Poll(clock, waits, events))
    interrupts.pause(7)
    assert clock.now == 7
    assert interrupts.pending() is None


def test_pause_without_a_caller(caller: Callable[[], None]) -> None:
    """A pause ends at once when the caller is gone."""
    interrupts.end_without_caller()
    caller()
    with pytest.raises(Interrupted):
        interrupts.pause(3600)


def test_pause_in_a_shielded_step(caller: Callable[[], None], clock: Clock) -> None:
    """The loss of the caller is held back like a signal; the step's other pauses take their time."""
    interrupts.end_without_caller()
    caller()

    def step() -> None:
        with interrupts.shielded():
            interrupts.pause(3600)
            assert interrupts.pending() == interrupts.CALLER_GONE
            interrupts.pause(7)

    with pytest.raises(Interrupted):
        step()
    assert clock.pauses == [7]


def test_lost_caller_after_the_end(caller: Callable[[], None], clock: Clock) -> None:
    """Once the call's outcome stands, the loss of the caller changes nothing."""
    interrupts.end_without_caller()
    interrupts.close()
    caller()
    interrupts.pause(7)
    interrupts.check()
    assert interrupts.pending() is None
    assert clock.pauses == [7]


def test_other_streams(tmp_path: Path) -> None:
    """A file has no reader who could be lost; a socket has."""
    interrupts.end_without_caller()
    with (tmp_path / "answer").open("wb") as file:
        interrupts.set_caller(file.fileno())
        interrupts.check()
    near, far = socket.socketpair()
    with near:
        interrupts.set_caller(near.fileno())
        interrupts.check()
        far.close()
        with pytest.raises(Interrupted):
            interrupts.check()
