"""The matrix: every fault, at every AWS call, of every method."""

from collections.abc import Iterable
from itertools import groupby

import pytest

from tests.faults.kinds import Case, cases
from tests.faults.outcome import Outcome
from tests.faults.scenario import Scenario
from tests.faults.scenarios import SCENARIOS, WITHOUT_AWS, file_of
from tests.faults.stage import Stage
from tests.listing import check_methods_listed
from tests.stories.test_calls import MOST_ON_STDERR

MATRIX = list(cases(SCENARIOS))
EVERY = 11
"""A prime, so that the sample that `make test` runs has most kinds of faults, at most scenarios."""
SAMPLED = [
    pytest.param(case, marks=[pytest.mark.faults] if place % EVERY else [])
    for place, case in enumerate(MATRIX)
]


def test_each_method_has_a_scenario() -> None:
    """The faults of each method that calls AWS are tried."""
    listed = {each.method for each in SCENARIOS} | WITHOUT_AWS
    check_methods_listed(listed, "add a scenario to tests/faults/scenarios_*.py")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "_"))
def test_nothing_wrong(stage: Stage, scenario: Scenario) -> None:
    """Without a fault a scenario succeeds, with the calls that the matrix counts on, and logs little."""
    before = stage.prepare(scenario)
    answer = stage.call()
    hint = f"if these calls are right, they belong into {scenario.name!r} of {file_of(scenario)}"
    assert _in_order(stage.fake_aws.actions()) == _in_order(scenario.calls), hint
    count = len(scenario.calls)
    assert f" seconds, {count} AWS call{'s' * (count != 1)}, " in answer.stderr
    assert len(answer.stderr) <= MOST_ON_STDERR
    shown = scenario.shown(answer.ok())
    if scenario.makes:
        stage.painter.name(shown, "made")
    assert stage.painter.picture() == scenario.success.of(before)


def _in_order(actions: Iterable[str]) -> list[list[str]]:
    """Sort the reads that follow one another: their order means nothing."""
    runs = groupby(actions, lambda action: action.startswith("Describe"))
    return [sorted(run) if is_read else list(run) for is_read, run in runs]


@pytest.mark.parametrize("case", SAMPLED, ids=str)
def test_fault(stage: Stage, case: Case) -> None:
    """A request survives what passes, is refused well, leaves nothing, and can be made again."""
    before = stage.prepare(case.scenario)
    answer = case.kind.inflict(stage, case.call)
    assert stage.fake_aws.actions().count(case.call.action) >= case.call.nth, "the fault met no call"
    stage.fake_aws.clear_rules()
    problems = Outcome(case, answer, before, stage.painter).problems()
    assert not problems, "\n".join([*problems, str(answer)])
