"""What a scenario is: one request, the calls that it takes, and what comes of it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.faults.stage import Stage

MAKING = frozenset(
    {
        "CopyImage",
        "CopyVolumes",
        "CreateNetworkInterface",
        "CreatePlacementGroup",
        "CreateSnapshot",
        "CreateSubnet",
        "CreateVolume",
        "RegisterImage",
        "RunInstances",
        "StartSnapshot",
    }
)
"""Calls that make what AWS may not know everywhere a moment later."""


class Call(NamedTuple):
    """One of the calls of a request.

    Attributes:
        action: As `RunInstances`.
        nth: Which of the calls of that action it is; 1 is the first.
        is_settled: Whether all that the request changes is changed once this call is made.
        is_first: Whether it is the request's first call.
        is_gathering: Whether the request has changed nothing when it is made, nor changes anything by it.
    """

    action: str
    nth: int
    is_settled: bool
    is_first: bool = False
    is_gathering: bool = False

    def __str__(self) -> str:
        return f"{self.action}{self.nth}" if self.nth > 1 else self.action


@dataclass(frozen=True)
class Change:
    """What becomes of a picture: lines that go, and lines that come.

    Attributes:
        loses: One entry for each time that the line goes.
        gains: One entry for each time that it comes.
    """

    loses: Sequence[str] = ()
    gains: Sequence[str] = ()

    def of(self, before: Sequence[str]) -> list[str]:
        """Apply it to a picture; a line that is to go must be there."""
        left = Counter(before)
        left.subtract(self.loses)
        absent = [line for line, times in left.items() if times < 0]
        if absent:
            raise AssertionError(f"not in the picture: {absent}\n{before}")
        return sorted([*left.elements(), *self.gains])


@dataclass(frozen=True)
class Scenario:
    """One request.

    Attributes:
        name: The method, and what is special about it.
        calls: The actions of all AWS calls that it takes when nothing is wrong, in their order.
        lay: Lays what it needs, and returns its arguments.
        result: What it answers, as JSON with names for ids.
        success: What it changes.
        is_in_place: Whether it changes what is there: a call that fails may have done it all the same.
        refused: The calls that AWS refuses though nothing is wrong, as `RunInstances`: they make nothing.
        states: What the thing that an action makes or modifies goes through, by action.
        version: The contract's; with 1 there is a registry.
        aws: Configuration.
    """

    name: str
    calls: Sequence[str]
    lay: Callable[[Stage], list[Any]]
    result: str = "null"
    success: Change = field(default_factory=Change)
    is_in_place: bool = False
    refused: frozenset[str] = frozenset()
    states: Mapping[str, Sequence[str]] = field(default_factory=dict)
    version: int = 2
    aws: Mapping[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The method that is called."""
        return self.name.split()[0]

    def each(self) -> Iterator[Call]:
        """List its calls."""
        changes = [n for n, action in enumerate(self.calls) if not action.startswith("Describe")]
        first, last = changes[0] if changes else len(self.calls), changes[-1] if changes else 0
        for place, action in enumerate(self.calls):
            nth = self.calls[: place + 1].count(action)
            yield Call(action, nth, place >= last, is_first=place == 0, is_gathering=place < first)

    @property
    def makes(self) -> bool:
        """Whether it answers the id of something new."""
        return self.result == '"made"'

    def shown(self, result: Any) -> Any:
        """Return what counts of a result: of create_vm's and create_network's, which say more, the id."""
        return result[0] if self.method in {"create_vm", "create_network"} else result
