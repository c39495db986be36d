"""What a scenario of the fault matrix comes to without a fault, wherever the executable runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.faults.scenario import Scenario
    from tests.faults.stage import Stage

WARNINGS = {"create_vm in a fallback subnet": 1}
"""How often a scenario warns."""


def play(stage: Stage, scenario: Scenario) -> None:
    """Make a scenario's request, which must take the same calls and change the same as elsewhere."""
    stage.prepare(scenario)
    before = stage.painter.picture()
    stage.fake_aws.forget_calls()
    answer = stage.call()
    shown = scenario.shown(answer.ok())
    assert answer.stderr.count(" WARNING: ") == WARNINGS.get(scenario.name, 0)
    assert stage.fake_aws.actions() == list(scenario.calls)
    if scenario.makes:
        stage.painter.name(shown, "made")
    assert stage.painter.picture() == scenario.success.of(before)
