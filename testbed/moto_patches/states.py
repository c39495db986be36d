"""States: AWS needs time for many changes, and moto none; a test may choose the states in between.

A rule's `states` are the states of a resource, in order. Each call that asks for the resource by
its id or by a filter sees the next state; the last one stays. Calls that list everything see the
present state and do not advance it. A state may have a reason after a colon: `failed: no such
key`. For DeregisterImage the `states` are the return codes of the image's snapshots: a snapshot
with another code than `success` stays.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from testbed.moto_patches.patching import parameter

_asked_for: list[str] = []
"""The states of the resource that the current call creates; moto answers one call at a time."""


class Course:
    """The states of one resource, in order."""

    def __init__(self, states: list[str], enter: Callable[[str, str], None]) -> None:
        self.to_come = list(states)
        self._enter = enter
        self._is_seen = False
        self._next()

    def look(self) -> None:
        """Advance to the next state, except at the first look, which sees the first state."""
        if self._is_seen and self.to_come:
            self._next()
        self._is_seen = True

    def _next(self) -> None:
        state, _, reason = self.to_come.pop(0).partition(":")
        self._enter(state, reason.strip())


@contextmanager
def in_states(states: list[str]) -> Iterator[None]:
    """Let resources that are created in this block go through these states, if any are given."""
    _asked_for[:] = states
    try:
        yield
    finally:
        _asked_for.clear()


def outcome(default: str) -> str:
    """Return the result for the next one of several resources of the present call."""
    return _asked_for.pop(0) if _asked_for else default


def begin(thing: Any, default: str, enter: Callable[[str, str], None], *, before: Sequence[str] = ()) -> None:
    """Let a resource that is created, modified or completed go through its states.

    Args:
        thing: One of moto's objects.
        default: Its only state unless a test says otherwise.
        enter: Gives it a state, and its reason.
        before: States before the default one.
    """
    course = Course(_asked_for or [*before, default], enter)
    thing.testbed_course = course if course.to_come else None  # a course can't be kept: it has a function


def look(response: Any, identifiers: str, things: Iterable[Any]) -> None:
    """Advance the states of the resources that a call asks for by id or by filter."""
    if (identifiers and parameter(response, identifiers, [])) or parameter(response, "Filters", []):
        for thing in things:
            course = getattr(thing, "testbed_course", None)
            if course is not None:
                course.look()
