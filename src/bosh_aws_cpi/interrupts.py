"""Turns SIGTERM, SIGINT and SIGHUP into an exception, which is raised only at safe points.

A signal between the creation of a resource and the arming of its undo step would orphan the resource.
Such steps are shielded: the signal is held back until their end. Only the first signal counts, so that
the undo that it starts is not itself interrupted.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(BaseException):
    """A signal ended the call. Not an `Exception`, so that no error handler swallows it."""

    def __init__(self, signal_name: str) -> None:
        super().__init__(f"interrupted by {signal_name}")
        self.signal_name = signal_name


class _Signals:
    """The signal that has arrived, if any, and whether it may end the call now."""

    def __init__(self) -> None:
        self.received: str | None = None
        self.closed = True  # before the call, after a first signal, past the point of no return
        self.shields = 0

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.received is None:
            self.received = signal.Signals(number).name
            self.raise_if_due()

    def raise_if_due(self) -> None:
        if self.received is not None and not self.closed and self.shields == 0:
            self.closed = True
            raise Interrupted(self.received)


_signals = _Signals()


def install() -> None:
    """Catch SIGTERM, SIGINT and SIGHUP from now on; they are held back until `start`.

    SIGHUP stays ignored if the parent process ignores it, as nohup does.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _signals.on_signal)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _signals.on_signal)


def start() -> None:
    """From now on, raise `Interrupted` in the main thread for the first signal.

    Raises:
        Interrupted: A signal has already arrived.
    """
    _signals.closed = False
    _signals.raise_if_due()


def check() -> None:
    """Raise `Interrupted` for a signal that arrived during a shielded step which then failed.

    Raises:
        Interrupted: Once, if a signal is pending.
    """
    _signals.raise_if_due()


def pending() -> str | None:
    """The name of a signal that is held back by a shielded step; None when there is none."""
    return None if _signals.closed else _signals.received


def close() -> None:
    """Ignore signals from now on: the call's outcome stands."""
    _signals.closed = True


@contextmanager
def shielded() -> Iterator[None]:
    """Hold a signal back until the step ends.

    When the step itself fails, its error takes precedence, and the signal is held back until `check`. A
    context manager may raise `Interrupted` before its step begins or after it has ended, so the caller must
    be able to undo the step: see `cpi.undo.undoing`.

    Raises:
        Interrupted: At the end of a step that succeeded, if a signal arrived in the meantime.
    """
    _signals.shields += 1
    try:
        yield
    except BaseException:
        _signals.shields -= 1
        raise
    _signals.shields -= 1
    _signals.raise_if_due()
