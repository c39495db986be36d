"""What a scenario of the fault matrix comes to without a fault, wherever the executable runs."""

from tests.faults.scenario import Scenario
from tests.faults.scenarios import SCENARIOS
from tests.faults.stage import Stage

ONE_OF_EACH_METHOD = tuple({each.method: each for each in reversed(SCENARIOS)}.values())


def play(stage: Stage, scenario: Scenario) -> None:
    """Make a scenario's request, which must take the same calls and change the same as elsewhere."""
    stage.prepare(scenario)
    before = stage.painter.picture()
    stage.fake_aws.forget_calls()
    answer = stage.call()
    shown = scenario.shown(answer.ok())
    warned = [line for line in answer.stderr.splitlines() if " WARNING: " in line]
    assert warned == []
    assert stage.fake_aws.actions() == list(scenario.calls)
    if scenario.makes:
        stage.painter.name(shown, "made")
    assert stage.painter.picture() == scenario.success.of(before)
