"""Kills, interrupts or abandons the executable at a given call to AWS, without randomness."""

import os
import signal
from collections.abc import Callable
from typing import Any, Literal

from testbed.cloud import FakeAws
from testbed.executable import PATIENCE, Answer, Process, finish
from testbed.rules import ANY

When = Literal["before", "after"]
"""Before the call reaches AWS, or after its effect and before its answer."""
STEP = 0.2
"""Seconds between two checks whether a call of the executable has ended."""


def kill_at(
    fake_aws: FakeAws,
    start: Callable[[], Process],
    nth: int = 1,
    *,
    when: When = "before",
    action: str = ANY,
) -> str:
    """Kill the executable, by SIGKILL, at a call to AWS; returns its action.

    Other rules stay as they are; this one is used up.

    Args:
        fake_aws: The stand-in for AWS that the executable calls.
        start: Starts the executable, as `lambda: cpi.start("create_vm", …)`.
        nth: The number of the call, of all or of one action; 1 is the first from now on.
        when: Before the call reaches AWS, or after its effect.
        action: The action; by default any.
    """

    def kill(process: Process) -> None:
        process.send_signal(signal.SIGKILL)
        # The connection closes only when the executable has ended.
        process.wait(timeout=PATIENCE)

    held, answer = _harmed(fake_aws, start, kill, nth, when, action)
    if answer.returncode != -signal.SIGKILL:
        raise AssertionError(f"it was not killed: {answer}")
    return held


def interrupt_at(
    fake_aws: FakeAws,
    start: Callable[[], Process],
    nth: int = 1,
    *,
    number: signal.Signals = signal.SIGTERM,
    **at: Any,
) -> Answer:
    """Send the executable a signal that it can handle, at a call as `kill_at` has it, and let it continue."""
    return _harmed(fake_aws, start, lambda process: process.send_signal(number), nth, **at)[1]


def abandon_at(fake_aws: FakeAws, start: Callable[[], Process], nth: int = 1, **at: Any) -> Answer:
    """Close the other end of the executable's stdout, at a call as `kill_at` has it, and let it continue."""
    return _harmed(fake_aws, start, leave, nth, **at)[1]


def act_at(
    fake_aws: FakeAws, start: Callable[[], Process], act: Callable[[], object], nth: int = 1, **at: Any
) -> Answer:
    """Do something else at a call as `kill_at` has it, and let the executable continue."""
    return _harmed(fake_aws, start, lambda _: act(), nth, **at)[1]


def leave(process: Process) -> None:
    """Close the other end of a process's stdout; later reads return nothing."""
    if process.stdout is None or process.stdout.closed:
        raise AssertionError("the process's stdout is not a pipe, or is closed")
    process.stdout.close()
    process.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "rb")


def _harmed(
    fake_aws: FakeAws,
    start: Callable[[], Process],
    harm: Callable[[Process], object],
    nth: int,
    when: When = "before",
    action: str = ANY,
) -> tuple[str, Answer]:
    fake_aws.rule(action=action, nth=nth, **{"hold_before" if when == "before" else "hold": True})
    process = start()
    try:
        held = hold_next(fake_aws, process)
        harm(process)
    except BaseException:
        process.kill()
        finish(process)
        raise
    finally:
        fake_aws.release()
    return held, finish(process)


def hold_next(fake_aws: FakeAws, process: Process) -> str:
    """Wait until a call is held, which must be before the executable ends; returns its action."""
    held = wait_until_held(fake_aws, process)
    if not held:
        raise AssertionError("the call ended before it made so many calls to AWS")
    return held


def wait_until_held(fake_aws: FakeAws, process: Process) -> str:
    """Wait until a call is held; returns its action, nothing if the executable ends before one is."""
    while process.poll() is None:
        held = fake_aws.held_within(STEP)
        if held:
            return held[0]
    return ""
