"""Pairs of faults, drawn by a seed: the second at a call that comes after the first."""

import random
from collections.abc import Callable

import pytest

from tests.faults.pair_outcome import PairOutcome
from tests.faults.pairs import HASTY, NUMBER, SEED, TIMED_OUT, Place, Play, draw, places
from tests.faults.stage import Stage
from tests.faults.summary import DRAWN, FOUND, TRIED

DRAWS = 25


@pytest.mark.faults
@pytest.mark.parametrize("place", places(SEED, NUMBER), ids=str)
def test_pair(stage: Stage, place: Place, record_property: Callable[[str, object], None]) -> None:
    """After two faults each resource is known to the caller or listed by sweep, and the answer is true."""
    lot = random.Random(place.name)  # noqa: S311 - must be the same again
    for drawn in range(1, DRAWS + 1):
        record_property(DRAWN, drawn)  # the last one counts
        pair = draw(lot, place)
        stage.prepare(place.scenario, HASTY if TIMED_OUT in (pair.first, pair.second) else None)
        before, there = stage.painter.picture(), stage.painter.holders()
        play = Play(stage)
        case = play.run(pair)
        stage.fake_aws.clear_rules()
        if case is not None:
            break
        stage.reset()
    else:
        raise AssertionError(f"none of {DRAWS} pairs met two calls")
    record_property(TRIED, (place.scenario.method, place.where.value))
    problems = PairOutcome(case, play.answer, before, stage.painter, there, stage.strays).problems()
    record_property(FOUND, sorted({problem.column for problem in problems}))
    assert not problems, (
        f"{case}\nAgain: {place.again}\n"
        + "\n".join(f"{problem.column}: {problem.text}" for problem in problems)
        + f"\n{play.answer}"
    )
