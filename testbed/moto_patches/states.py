"""States: what AWS does by and by, moto at once; a test may say how it goes.

A rule's `states` are those that something goes through: each call that asks for it, by its
id or a filter, sees the next one, and all from then on see the last. Calls that list
everything see the present one. A state may have its reason, after a colon: `failed: no
such key`. For DeregisterImage they are what it returns of its snapshots, one after the
other: all but `success` stay.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from testbed.moto_patches.patching import parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_asked_for: list[str] = []
"""For the resource that the current call creates; moto answers one call at a time."""


class Course:
    """The states of one thing, in turn."""

    def __init__(self, states: list[str], enter: Callable[[str, str], None]) -> None:
        """Enter the first state.

        Args:
            states: At least one.
            enter: Gives the thing a state, and its reason.
        """
        self._to_come = list(states)
        self._enter = enter
        self._is_seen = False
        self._next()

    def look(self) -> None:
        """Let the thing be seen: the first look sees the first state."""
        if self._is_seen and self._to_come:
            self._next()
        self._is_seen = True

    def _next(self) -> None:
        state, _, reason = self._to_come.pop(0).partition(":")
        self._enter(state, reason.strip())


@contextmanager
def in_states(states: list[str]) -> Iterator[None]:
    """Have resources that are created meanwhile go through these states, if there are any."""
    _asked_for[:] = states
    try:
        yield
    finally:
        _asked_for.clear()


def outcome(default: str) -> str:
    """Say what becomes of the next of several things that the present call is about."""
    return _asked_for.pop(0) if _asked_for else default


def begin(thing: Any, default: str, enter: Callable[[str, str], None]) -> None:
    """Let a resource that is created, modified or completed go through its states.

    Args:
        thing: One of moto's objects.
        default: Its only state when no test says otherwise.
        enter: Gives it a state, and its reason.
    """
    thing.testbed_course = Course(_asked_for or [default], enter)


def look(response: Any, identifiers: str, things: Iterable[Any]) -> None:
    """Let a call that asks for certain things see how far they are."""
    if parameter(response, identifiers, []) or parameter(response, "Filters", []):
        for thing in things:
            course = getattr(thing, "testbed_course", None)
            if course is not None:
                course.look()
