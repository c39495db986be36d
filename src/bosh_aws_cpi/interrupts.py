"""Turns SIGTERM, SIGINT, SIGHUP and the loss of the caller into an exception, raised only at safe points.

An interruption between the creation of a resource and the arming of its undo step would orphan the resource.
Such steps are shielded: the interruption is held back until their end. Only the first one counts, so that
the undo that it starts is not itself interrupted.

The caller is gone when the other end of the response's pipe is closed, for example because the Director's
task was killed. That ends only calls that create something (`end_without_caller`): nobody else knows the
resources. All other calls complete their work.
"""

from __future__ import annotations

import select
import signal
import time
from types import FrameType, TracebackType
from typing import Final

CALLER_GONE: Final = "the loss of its caller"
_MILLISECONDS: Final = 1000


class Interrupted(BaseException):
    """A signal, or the loss of the caller, ended the call. Not an `Exception`: no error handler swallows it.

    Args:
        cause: "SIGTERM", or `CALLER_GONE`.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(f"interrupted by {cause}")
        self.cause = cause


class _Signals:
    """The interruption that has arrived, if any, and whether it may end the call now."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.received: str | None = None
        self.closed = True  # before the call, after a first signal, past the point of no return
        self.shields = 0
        self.caller: int | None = None
        self.needs_caller = False

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.received is None:
            self.received = signal.Signals(number).name
            self.raise_if_due()

    def raise_if_due(self) -> None:
        if self.received is not None and not self.closed and self.shields == 0:
            self.closed = True
            raise Interrupted(self.received)

    def look_for_caller(self, seconds: float = 0) -> None:
        """Wait for so many seconds at most until the caller is gone, and record its loss like a signal."""
        if self.caller is not None and _is_unread(self.caller, seconds) and self.received is None:
            self.received = CALLER_GONE

    @property
    def watches(self) -> bool:
        """Whether the loss of the caller would interrupt the call."""
        is_open = self.received is None and not self.closed
        return is_open and self.needs_caller and self.caller is not None


_signals = _Signals()


def install() -> None:
    """Catch SIGTERM, SIGINT and SIGHUP from now on, for a new call; they are held back until `start`.

    Those that `__main__` held back arrive now. SIGHUP stays ignored if the parent process ignores it, as
    nohup does.
    """
    _signals.forget()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _signals.on_signal)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _signals.on_signal)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGHUP, signal.SIGINT, signal.SIGTERM))


def start() -> None:
    """From now on, raise `Interrupted` in the main thread for the first signal.

    Raises:
        Interrupted: A signal has already arrived.
    """
    _signals.closed = False
    _signals.raise_if_due()


def set_caller(descriptor: int) -> None:
    """Remember where the caller reads the response.

    Args:
        descriptor: The response's file descriptor. The loss of the caller shows if it is a pipe or a socket.
    """
    _signals.caller = descriptor


def end_without_caller() -> None:
    """From now on, the loss of the caller interrupts the call: the call is about to create something."""
    _signals.needs_caller = True


def check() -> None:
    """Raise `Interrupted` if the caller is gone, or for a signal that a failed step has held back.

    Raises:
        Interrupted: Once, if an interruption is pending.
    """
    if _signals.watches:
        _signals.look_for_caller()
    _signals.raise_if_due()


def pause(seconds: float) -> None:
    """Sleep; a call that needs its caller wakes up as soon as the caller is gone.

    Raises:
        Interrupted: Before, during or after the pause; a shielded step holds it back.
    """
    _signals.raise_if_due()
    if not _signals.watches:
        time.sleep(seconds)
        return
    end = time.monotonic() + seconds
    _signals.look_for_caller(seconds)
    _signals.raise_if_due()
    if _signals.received is None:  # the poll may end early although the caller is there
        time.sleep(max(0, end - time.monotonic()))


def pending() -> str | None:
    """The interruption that is held back by a shielded step; None when there is none."""
    if _signals.watches:
        _signals.look_for_caller()
    return None if _signals.closed else _signals.received


def close() -> None:
    """Ignore signals and the loss of the caller from now on: the call's outcome stands."""
    _signals.closed = True


class _Shield:
    def __enter__(self) -> None:
        _signals.shields += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _signals.shields -= 1
        if kind is None:
            _signals.raise_if_due()


def shielded() -> _Shield:
    """Hold a signal back until the step ends.

    When the step itself fails, its error takes precedence, and the signal is held back until `check`. A
    context manager may raise `Interrupted` before its step begins or after it has ended, so the caller must
    be able to undo the step: see `cpi.undo.undoing`.

    Raises:
        Interrupted: At the end of a step that succeeded, if a signal arrived in the meantime.
    """
    return _Shield()


def _is_unread(descriptor: int, seconds: float) -> bool:
    """Whether the other end of a pipe is closed, or gets closed within so many seconds.

    Linux always reports a closed end; macOS does so only if the poller registers an event (NixOS/nix,
    issue 1871 and pull request 1872, which name Apple's radar 37537852).
    """
    poller = select.poll()
    poller.register(descriptor, select.POLLHUP)
    ready = poller.poll(seconds * _MILLISECONDS)
    return any(events & (select.POLLHUP | select.POLLERR) for _, events in ready)
