"""What a scenario of the fault matrix comes to without a fault, wherever the executable runs."""

from tests.faults.scenario import Scenario
from tests.faults.stage import Stage

WARNINGS = {
    "create_vm on spot at too low a price": 1,
    "create_vm in another zone": 1,
    "create_vm outside of a full placement group": 2,
    "create_vm from a launch template": 1,
    "create_stemcell that is copied": 1,
}
"""How often a scenario warns."""


def play(stage: Stage, scenario: Scenario) -> None:
    """Make a scenario's request, which must take the same calls and change the same as elsewhere."""
    stage.prepare(scenario)
    before = stage.painter.picture()
    stage.fake_aws.forget_calls()
    answer = stage.call()
    shown = scenario.shown(answer.ok())
    warned = [line for line in answer.stderr.splitlines() if " WARNING: " in line]
    assert len(warned) == WARNINGS.get(scenario.name, 0), warned
    assert stage.fake_aws.actions() == list(scenario.calls)
    if scenario.makes:
        stage.painter.name(shown, "made")
    assert stage.painter.picture() == scenario.success.of(before)
