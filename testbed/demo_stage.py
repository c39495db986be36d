"""The stage of the demo and the console: a prepared AWS and a registry, which always end with it."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from testbed.cloud import FakeAws
from testbed.registry import Registry
from testbed.world import World

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Stage:
    """The stand-ins, running."""

    fake_aws: FakeAws
    world: World
    registry: Registry


class Interrupted(BaseException):
    """Ctrl-C, or another of the signals.

    Unlike at a KeyboardInterrupt, subprocess waits for its process at this one.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextmanager
def staged() -> Iterator[Stage]:
    """Start everything, for one `with` block."""
    with ExitStack() as stack:
        # Ctrl-C reaches every process of the terminal. The server must outlive it, so that a call
        # that is interrupted can clean up: it inherits that the signals are blocked here.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            fake_aws = stack.enter_context(FakeAws())
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        yield Stage(fake_aws, fake_aws.lay(), stack.enter_context(Registry()))


def main_status(main: Callable[[], int]) -> int:
    """Run a program, and return its exit status; Ctrl-C and a closed pipe cause no traceback."""
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    try:
        status = main()
        sys.stdout.flush()
    except Interrupted as interrupted:
        with suppress(OSError):  # the terminal may be gone
            print("\nInterrupted. All that was started has ended.", file=sys.stderr)
        return interrupted.status
    except BrokenPipeError:
        # The reader is gone, as with `| head`. The interpreter flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _interrupt(number: int, frame: object) -> None:
    del frame
    for each in SIGNALS:  # the cleanup is not interrupted again
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)
