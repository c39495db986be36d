"""The judgement on two faults, and the draw: what sweep does not list is seen, and whose error it is."""

import random

import pytest

from testbed.executable import DIRECTOR_UUID, Answer
from tests.faults.kinds import KILLED, LOST, REFUSED, TERMINATED, Case, Kind
from tests.faults.outcome import UNDO_FAILED
from tests.faults.pair_outcome import PairOutcome
from tests.faults.pairs import SECOND, draw, places
from tests.faults.scenario import Call
from tests.faults.scenarios_disk import DISKS
from tests.faults.stage import Stage
from tests.faults.test_outcome import ENDED, check_beginnings, failed

CREATE_DISK = next(each for each in DISKS if each.name == "create_disk")
CREATE, LOOK = (Call(action, 1, is_settled=False) for action in ("CreateVolume", "DescribeVolumes"))
DELETE = Call("DeleteVolume", 1, is_settled=True)
DENIED, UNDO_DENIED = (f"{each.action} failed with UnauthorizedOperation: No." for each in (LOOK, DELETE))
TAGS = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_call": "1"}


@pytest.mark.parametrize(
    ("first", "second", "met", "message", "problems"),
    [
        (REFUSED, REFUSED, DELETE, DENIED, []),
        (REFUSED, REFUSED, DELETE, UNDO_DENIED, ["it failed"]),
        (TERMINATED, REFUSED, DELETE, UNDO_DENIED, ["it failed"]),
        (LOST, REFUSED, DELETE, UNDO_DENIED, []),
        (KILLED, TERMINATED, CREATE, ENDED, []),
        (LOST, LOST, CREATE, DENIED, ["it failed"]),
    ],
)
def test_whose_error(
    stage: Stage, first: Kind, second: Kind, met: Call, message: str, problems: list[str]
) -> None:
    """The caller gets the error of the fault that ended the request, not that of what followed."""
    check_beginnings(judged(stage, first, (second, met), message), problems)


@pytest.mark.parametrize(
    ("first", "log", "tags", "problems"),
    [
        (REFUSED, UNDO_FAILED, TAGS, []),
        (REFUSED, UNDO_FAILED, {}, ["the world is another"]),
        (REFUSED, "", TAGS, ["the world is another"]),
        (KILLED, "", TAGS, []),
    ],
)
def test_what_is_left(stage: Stage, first: Kind, log: str, tags: dict[str, str], problems: list[str]) -> None:
    """A disk that stays is in the log or of a killed process, and `cpi sweep` lists it by its tags."""
    message = DENIED if first is REFUSED else UNDO_DENIED
    check_beginnings(judged(stage, first, (REFUSED, DELETE), message, log, tags), problems)


def judged(
    stage: Stage,
    first: Kind,
    then: tuple[Kind, Call],
    message: str,
    log: str = "",
    left: dict[str, str] | None = None,
) -> list[str]:
    """Judge an error of create_disk, whose process is not started, and a disk that it leaves."""
    before, there = stage.prepare(CREATE_DISK), stage.painter.holders()
    if left is not None:
        volume_id = stage.disk()
        stage.painter.names.pop(volume_id)
        tags = [{"Key": key, "Value": value} for key, value in left.items()]
        stage.ec2.create_tags(Resources=[volume_id], Tags=[*tags, {"Key": "n", "Value": "1"}])
    answer = Answer(failed(message).encode(), log, 0, 0.0)
    case = Case(CREATE_DISK, LOOK, first, then)
    return PairOutcome(case, answer, before, stage.painter, there, stage.strays).problems()


def test_seed() -> None:
    """A seed draws the same pairs each time, another one others."""
    listed = places("1", 400)
    assert listed == places("1", 400)
    assert [str(each) for each in listed] != [str(each) for each in places("2", 400)]
    drawn = [draw(random.Random(each.name), each) for each in listed]  # noqa: S311 - as the test does
    assert drawn == [draw(random.Random(each.name), each) for each in listed]  # noqa: S311 - the same
    assert {each.second.name for each in drawn} == {kind.name for kind in SECOND}
    assert listed[7].again == """FAULT_SEED=1 make faults PYTEST_ARGS="-k 'test_pair[1-007'\""""
