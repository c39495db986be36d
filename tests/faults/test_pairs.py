"""Pairs of faults, drawn by a seed: the second at a call that comes after the first."""

import random

import pytest

from tests.faults.pair_outcome import PairOutcome
from tests.faults.pairs import HASTY, NUMBER, SEED, TIMED_OUT, Place, Play, draw, places
from tests.faults.stage import Stage

DRAWS = 25


@pytest.mark.faults
@pytest.mark.parametrize("place", places(SEED, NUMBER), ids=str)
def test_pair(stage: Stage, place: Place) -> None:
    """After two faults each resource is known to the caller or listed by sweep, and the answer is true."""
    lot = random.Random(place.name)  # noqa: S311 - must be the same again
    for _ in range(DRAWS):
        pair = draw(lot, place)
        before = stage.prepare(place.scenario, HASTY if TIMED_OUT in (pair.first, pair.second) else None)
        there = stage.painter.holders()
        play = Play(stage)
        case = play.run(pair)
        stage.fake_aws.clear_rules()
        if case is not None:
            break
        stage.reset()
    else:
        raise AssertionError(f"none of {DRAWS} pairs met two calls")
    problems = PairOutcome(case, play.answer, before, stage.painter, there, stage.strays).problems()
    assert not problems, "\n".join([str(case), f"Again: {place.again}", *problems, str(play.answer)])
