"""SIGTERM, SIGINT and the loss of the caller as an exception that comes only where it can do no harm."""

import os
import select
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.conftest import Clock

pytestmark = pytest.mark.usefixtures("signals")


def arrive(number: signal.Signals = signal.SIGTERM) -> None:
    """Let a signal arrive."""
    signal.raise_signal(number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal(number: signal.Signals) -> None:
    """A signal ends what runs, by its name; no handler of errors swallows that, and no second one follows."""
    with pytest.raises(Interrupted) as caught:
        arrive(number)
    assert caught.value.cause == number.name
    assert not isinstance(caught.value, Exception)
    arrive()
    arrive(signal.SIGINT)
    interrupts.check()


def test_shielded() -> None:
    """The first signal within a step comes at the end of the outermost one."""
    done = []

    def step() -> None:
        with interrupts.shielded():
            with interrupts.shielded():
                arrive(signal.SIGINT)
                interrupts.check()
            arrive(signal.SIGTERM)
            done.append("step")

    with pytest.raises(Interrupted) as caught:
        step()
    assert (done, caught.value.cause) == (["step"], "SIGINT")
    interrupts.check()


def failing_step() -> None:
    """Take a step during which a signal arrives, and which fails."""
    with interrupts.shielded():
        arrive()
        raise LookupError


@pytest.mark.parametrize("ends", ["check", "step", "close"])
def test_step_that_fails(ends: str) -> None:
    """The error of a step goes first; the signal waits for a check or the end of a step, and comes once."""
    with pytest.raises(LookupError):
        failing_step()
    if ends == "check":
        with pytest.raises(Interrupted):
            interrupts.check()
    elif ends == "step":
        with pytest.raises(Interrupted), interrupts.shielded():
            pass
    else:
        interrupts.close()
    interrupts.check()


def test_step_without_a_signal() -> None:
    """No shield is left after a step, whether it fails or not."""
    with interrupts.shielded():
        pass
    with pytest.raises(LookupError), interrupts.shielded():
        raise LookupError
    with pytest.raises(Interrupted):
        arrive()


def test_signal_before_the_start() -> None:
    """A signal that comes before there is somebody to tell waits for the start."""
    interrupts.install()
    arrive(signal.SIGINT)
    interrupts.check()
    with pytest.raises(Interrupted) as caught:
        interrupts.start()
    assert caught.value.cause == "SIGINT"
    interrupts.check()


def test_close() -> None:
    """After the point of no return no signal ends the call."""
    interrupts.close()
    with interrupts.shielded():
        arrive(signal.SIGINT)
    interrupts.check()
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_DFL


@pytest.fixture
def caller() -> Iterator[Callable[[], None]]:
    """Return what closes the end of a pipe at which the caller reads."""
    reader, writer = os.pipe()
    interrupts.set_caller(writer)
    with os.fdopen(reader, "rb") as end:
        yield end.close
    os.close(writer)


def test_lost_caller(caller: Callable[[], None]) -> None:
    """The loss of the caller ends a call that creates something, once, at the next check; no other call."""
    caller()
    interrupts.check()
    assert interrupts.pending() is None
    interrupts.end_without_caller()
    with pytest.raises(Interrupted) as caught:
        interrupts.check()
    assert caught.value.cause == interrupts.CALLER_GONE
    interrupts.check()


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


@pytest.mark.parametrize("is_shielded", [False, True])
def test_pause_without_a_caller(caller: Callable[[], None], clock: Clock, *, is_shielded: bool) -> None:
    """A pause ends at once when the caller is gone; within a step, its other pauses take their time."""
    interrupts.end_without_caller()
    caller()

    def step() -> None:
        with interrupts.shielded():
            interrupts.pause(3600)
            assert interrupts.pending() == interrupts.CALLER_GONE
            interrupts.pause(7)

    with pytest.raises(Interrupted):
        step() if is_shielded else interrupts.pause(3600)
    assert clock.pauses == ([7] if is_shielded else [])


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
