"""SIGTERM, SIGINT and SIGHUP as an exception that comes only where it can do no harm.

A signal between "EC2 has made it" and "its removal is armed" would orphan what was
made. Such steps are shielded: the signal waits for their end. Only the first signal
counts, so that the undo it starts is not itself interrupted.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(BaseException):
    """The call was ended by a signal. No `Exception`, so that no handler of errors swallows it."""

    def __init__(self, signal_name: str) -> None:
        super().__init__(f"interrupted by {signal_name}")
        self.signal_name = signal_name


class _Signals:
    """What has arrived so far, and whether it may be acted upon."""

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
    """Catch SIGTERM, SIGINT and SIGHUP from now on; they wait until there is somebody to tell.

    SIGHUP stays ignored where the parent ignores it, as nohup does.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _signals.on_signal)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _signals.on_signal)


def start() -> None:
    """Turn the first signal into `Interrupted` from now on, raised in the main thread.

    Raises:
        Interrupted: A signal came already.
    """
    _signals.closed = False
    _signals.raise_if_due()


def check() -> None:
    """Raise `Interrupted` for a signal that came while a shielded step failed.

    Raises:
        Interrupted: Once, if a signal is waiting.
    """
    _signals.raise_if_due()


def pending() -> str | None:
    """The name of a signal that waits for the end of a shielded step; None when there is none."""
    return None if _signals.closed else _signals.received


def close() -> None:
    """Take no signal as a reason to end the call any more: its outcome stands."""
    _signals.closed = True


@contextmanager
def shielded() -> Iterator[None]:
    """Hold a signal back until the step is over.

    When the step itself fails, its error goes first, and the signal waits for `check`.
    As a context manager it may raise before its step begins or after it ended, so what the
    step made must be undone by somebody outside: `cpi.undo.undoing`.

    Raises:
        Interrupted: At the end of a step that succeeded, if a signal came meanwhile.
    """
    _signals.shields += 1
    try:
        yield
    except BaseException:
        _signals.shields -= 1
        raise
    _signals.shields -= 1
    _signals.raise_if_due()
