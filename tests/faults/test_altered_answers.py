"""Answers of which one element is altered: all of each call that creates, a drawn part of those that read.

The elements are those of the answer that the simulated AWS gives.
"""

import json
import random
import re
from collections.abc import Iterator

import pytest

from testbed.rules import ANY
from tests.faults.kinds import Case, Expected, Kind
from tests.faults.outcome import Outcome
from tests.faults.pairs import SEED
from tests.faults.scenario import MAKING, Call, Scenario
from tests.faults.scenarios import SCENARIOS
from tests.faults.stage import Stage

ALTERATIONS: dict[str, tuple[str, str]] = {
    "removed": ("", ""),
    "blank": (r"<\1/>", r'"\1":""'),
    "doubled": (r"\g<0>\g<0>", r"\g<0>,\g<0>"),
    "of another form": (r"<\1>other-0123456789abcdef0</\1>", r'"\1":"other-0123456789abcdef0"'),
}
"""What becomes of an element in XML, and in JSON."""
CREATING = {
    action: next(each for each in SCENARIOS if action in each.calls and action not in each.refused)
    for action in sorted(MAKING)
}
REFUSED = {"CreateSubnet": "cidrBlock"}
"""The elements without which a call deletes what it created, and fails: the Director needs the range."""
READING = [each for each in SCENARIOS if any(action.startswith("Describe") for action in each.calls)]
PARTS = 11
"""A prime: the part that `make test` runs has all alterations."""
DRAWN = 60
_ANSWERS: dict[str, dict[str, str]] = {}
"""The answers of a scenario without a fault, by call."""


def answers(stage: Stage, scenario: Scenario) -> dict[str, str]:
    """Return the answers to the calls of a scenario, "RunInstances2"."""
    if scenario.name not in _ANSWERS:
        stage.prepare(scenario)
        stage.fake_aws.rule(action=ANY, shows=True)
        stage.call().ok()
        shown = [each["answer"] for each in stage.fake_aws.calls()]
        _ANSWERS[scenario.name] = {str(call): text for call, text in zip(scenario.each(), shown, strict=True)}
        stage.reset()
    return _ANSWERS[scenario.name]


def alterations(answer: str, refused: str | None = "") -> Iterator[Kind]:
    """List what may become of each element of an answer; without those refused, the request succeeds."""
    is_json = answer.startswith("{")
    found = json.loads(answer) if is_json else re.findall(r"<(\w+)>", answer)
    for element in sorted({*found} - {"item", "requestId"}):
        pattern = rf'"({element})": ?("[^"]*"|\w+)' if is_json else rf"<({element})>.*?</{element}>"
        expected = Expected.TRUE if refused in {"", element} else Expected.SURVIVED
        for how, texts in ALTERATIONS.items():
            rule = {"replace": [[pattern, texts[is_json]]]}
            yield Kind(f"{element} {how}", expected, lambda _, rule=rule: rule)  # type: ignore[misc]


def problems(stage: Stage, scenario: Scenario, call: Call, kinds: list[Kind]) -> Iterator[str]:
    """Try these alterations of the answer to a call; yields what is wrong."""
    for kind in kinds:
        before = stage.prepare(scenario)
        answer = kind.inflict(stage, call)
        stage.fake_aws.clear_rules()
        case = Case(scenario, call, kind)
        found = Outcome(case, answer, before, stage.painter).problems()
        if found or "Traceback" in answer.stderr:
            yield "\n".join([str(case), *found, str(answer)])
        stage.reset()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.faults) for part in range(1, PARTS))]
)
@pytest.mark.parametrize("action", CREATING)
def test_creating(stage: Stage, action: str, part: int) -> None:
    """Whatever an answer lacks, what was created is found, and is the only one."""
    scenario = CREATING[action]
    call = next(each for each in scenario.each() if each.action == action)
    kinds = list(alterations(answers(stage, scenario)[action], REFUSED.get(action)))
    found = list(problems(stage, scenario, call, kinds[part::PARTS]))
    assert not found, "\n".join(found)


@pytest.mark.faults
@pytest.mark.parametrize("number", range(DRAWN))
def test_reading(stage: Stage, number: int) -> None:
    """Whatever an answer lacks, the result is true: a success is one, and an error has a name."""
    lot = random.Random(f"{SEED}-{number}")  # noqa: S311 - must be the same again
    kinds: list[Kind] = []
    while not kinds:  # an answer may have no elements
        scenario = lot.choice(READING)
        call = lot.choice([each for each in scenario.each() if each.action.startswith("Describe")])
        kinds = list(alterations(answers(stage, scenario)[str(call)]))
    found = list(problems(stage, scenario, call, [lot.choice(kinds)]))
    assert not found, "\n".join([*found, f"FAULT_SEED={SEED}"])
