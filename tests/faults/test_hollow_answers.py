"""Answers that parse but lack what they must have, at every AWS call, without a retry of the SDK."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from testbed.matrix import sampled
from tests.faults.allowed import is_done_before, outlived
from tests.faults.kinds import CUT, HOLLOW, Case, Expected, Kind
from tests.faults.outcome import Outcome
from tests.faults.scenarios import SCENARIOS

if TYPE_CHECKING:
    from tests.faults.scenario import Call, Change, Scenario
    from tests.faults.stage import Stage

BODIES = [*((r"\A.*\Z", body) for body in HOLLOW), CUT]
CALLS: dict[str, tuple[Scenario, Call]] = {
    call.action: (replace(scenario, aws={**scenario.aws, "max_retries": 0}), call)
    for scenario in reversed(SCENARIOS)
    for call in reversed(list(scenario.each()))
    if str(call) not in scenario.refused
}
"""Each AWS call of a method, where it is made first."""
TABLE = [(action, shape) for shape in range(len(BODIES)) for action in sorted(CALLS)]
EVERY = 7
"""The number of shapes has no factor in common with it, so that the sample has each of them."""


class Survived(Outcome):
    """What a request with such an answer came to."""

    @property
    def outlived(self) -> Change | None:
        """How a success may differ, where the failure of a call is none of the request."""
        return None if self.answer.error else outlived(self.case.scenario.name, str(self.case.call))

    def _wanted(self) -> list[list[str]]:
        """List the pictures that are well: a call may be done although its answer is hollow."""
        done = [] if self.answer.error else [self.case.scenario.success.of(self.before)]
        return [*super()._wanted(), *map(sorted, done)]


def expected(scenario: Scenario, error: dict[str, Any] | None) -> Expected:
    """Say what a request may come to that ends so."""
    if error is None:
        return Expected.SURVIVED
    return Expected.REPEATED if is_done_before(scenario.name, error["type"]) else Expected.BUSY


def outcome(stage: Stage, action: str, pattern: str, body: str) -> tuple[Any, list[Any]]:
    """Make the request whose first call of an action gets such an answer; returns error and problems."""
    scenario, call = CALLS[action]
    stage.prepare(scenario)
    before = stage.painter.picture()
    stage.fake_aws.forget_calls()
    stage.fake_aws.rule(action=action, nth=call.nth, times=1, replace=[[pattern, body]])
    answer = stage.call()
    stage.fake_aws.clear_rules()
    kind = Kind("hollow", expected(scenario, answer.error), words=lambda name: (f":{name}",))
    return answer.error, Survived(Case(scenario, call, kind), answer, before, stage.painter).problems()


@pytest.mark.parametrize(("action", "shape"), sampled(TABLE, EVERY))
def test_hollow(stage: Stage, action: str, shape: int) -> None:
    """A request survives such an answer, or its error is retriable and names the call; nothing is left."""
    error, problems = outcome(stage, action, *BODIES[shape])
    assert problems == [], error
