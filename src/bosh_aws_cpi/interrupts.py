"""Converts SIGTERM, SIGINT, SIGHUP and the loss of the caller to an exception, raised only at safe points.

An interruption between the creation of a resource and the registration of its undo step would orphan the
resource. Such steps are shielded: an interruption is held back until the step ends. Only the first
interruption counts, so that nothing interrupts the undo.

The caller is gone when the other end of the response's pipe is closed, for example because the Director's
task was killed. This interrupts only calls that create resources (`end_without_caller`), which nobody else
would know. All other calls complete their work.
"""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

CALLER_GONE: Final = "the loss of its caller"
_MILLISECONDS: Final = 1000


class Interrupted(BaseException):
    """A signal, or the loss of the caller, ended the call. Not an `Exception`: no handler swallows it.

    Args:
        cause: "SIGTERM", or `CALLER_GONE`.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(f"interrupted by {cause}")
        self.cause = cause


class _Signals:
    """The pending interruption, if any, and whether it may end the call now."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
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

    def wait_for_loss(self, seconds: float = 0) -> None:
        """Wait until the caller is gone, at most for some seconds, and record the loss like a signal."""
        if self.caller is not None and _is_other_end_closed(self.caller, seconds) and self.received is None:
            self.received = CALLER_GONE

    @property
    def watches_caller(self) -> bool:
        """Whether the loss of the caller would interrupt the call."""
        is_open = self.received is None and not self.closed
        return is_open and self.needs_caller and self.caller is not None


_signals = _Signals()


def install() -> None:
    """Catch SIGTERM, SIGINT and SIGHUP from now on, for a new call; hold them back until `start`.

    Signals that `__main__` has blocked arrive now. SIGHUP stays ignored if the parent process ignores it,
    as nohup does.
    """
    _signals.reset()
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
    """Set the file descriptor of the response, by which the loss of the caller is noticed.

    Args:
        descriptor: The file descriptor; only a pipe or a socket shows the loss of the caller.
    """
    _signals.caller = descriptor


def end_without_caller() -> None:
    """Let the loss of the caller interrupt the call from now on, because the call will create a resource."""
    _signals.needs_caller = True


def check() -> None:
    """Raise `Interrupted` if the caller is gone, or if a failed step has held a signal back.

    Raises:
        Interrupted: Once, if an interruption is pending.
    """
    if _signals.watches_caller:
        _signals.wait_for_loss()
    _signals.raise_if_due()


def pause(seconds: float) -> None:
    """Sleep; a call that needs its caller wakes up as soon as the caller is gone.

    Raises:
        Interrupted: Before, during or after the pause, unless a shielded step holds it back.
    """
    _signals.raise_if_due()
    if not _signals.watches_caller:
        time.sleep(seconds)
        return
    end = time.monotonic() + seconds
    _signals.wait_for_loss(seconds)
    _signals.raise_if_due()
    if _signals.received is None:  # the poll may end early although the caller is not gone
        time.sleep(max(0, end - time.monotonic()))


def pending() -> str | None:
    """The interruption that a shielded step holds back; None when there is none."""
    if _signals.watches_caller:
        _signals.wait_for_loss()
    return None if _signals.closed else _signals.received


def close() -> None:
    """Ignore signals and the loss of the caller from now on, because the outcome of the call is final."""
    _signals.closed = True


@contextmanager
def shielded() -> Iterator[None]:
    """Hold a signal back until the step ends.

    When the step itself fails, its error takes precedence, and the signal is held back until `check`. The
    context manager may raise `Interrupted` before the step begins or after it has ended, so the caller must
    be able to undo the step: see `cpi.undo.run_with_undo`.

    Raises:
        Interrupted: At the end of a step that succeeded, if a signal arrived in the meantime.
    """
    _signals.shields += 1
    try:
        yield
    finally:
        _signals.shields -= 1
    _signals.raise_if_due()


def _is_other_end_closed(descriptor: int, seconds: float) -> bool:
    """Whether the other end of a pipe is closed, or is closed within some seconds.

    Linux always reports a closed end; macOS does so only if the poller registers an event (NixOS/nix,
    issue 1871 and pull request 1872, which name Apple's radar 37537852).
    """
    poller = select.poll()
    poller.register(descriptor, select.POLLHUP)
    ready = poller.poll(seconds * _MILLISECONDS)
    return any(events & (select.POLLHUP | select.POLLERR) for _, events in ready)
