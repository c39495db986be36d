"""The judgement on a case: what is wrong is seen."""

import json

import pytest

from testbed.executable import MBUS_PASSWORD, Answer
from tests.faults.kinds import AWS_ENDS, KILLED, LAUNCHES, LOST, REFUSED, TERMINATED, Case, Kind
from tests.faults.outcome import Outcome
from tests.faults.scenarios_disk import DISKS
from tests.faults.stage import Stage

SNAPSHOT_DISK, DELETE_DISK = (
    next(each for each in DISKS if each.name == name) for name in ("snapshot_disk", "delete_disk")
)
NOT_FOUND = "Bosh::Clouds::DiskNotFound"


def failed(message: str = "", kind: str = "Bosh::Clouds::CloudError", *, ok_to_retry: bool = False) -> str:
    """Write the answer of a request that failed."""
    error = {"type": kind, "message": message, "ok_to_retry": ok_to_retry}
    return json.dumps({"result": None, "error": error, "log": ""})


DENIED = "CreateSnapshot failed with UnauthorizedOperation: No."
ENDED = "The call was interrupted by SIGTERM before it was complete"
SUCCEEDED = '{"result": "snap-0123456789abcdef0", "error": null, "log": ""}'


@pytest.mark.parametrize(
    ("kind", "stdout", "problems"),
    [
        (REFUSED, failed(DENIED), []),
        (REFUSED, failed(DENIED, ok_to_retry=True), ["it failed"]),
        (REFUSED, failed("CreateSnapshot failed"), ["it failed"]),
        (REFUSED, failed(DENIED, "Unknown"), ["type Unknown"]),
        (REFUSED, failed(DENIED + MBUS_PASSWORD), [f"it shows {MBUS_PASSWORD}"]),
        (REFUSED, SUCCEEDED, ["it succeeded", "the world is another"]),
        (LAUNCHES[1], failed(AWS_ENDS), ["it failed"]),
        (LOST, failed(DENIED), ["it failed"]),
        (TERMINATED, failed(ENDED), []),
        (TERMINATED, failed("something else"), ["it failed"]),
        (LOST, "", ["stdout is not one JSON object"]),
        (LOST, failed().replace("false", '"no"'), ["exit status 0"]),
    ],
)
def test_answers(stage: Stage, kind: Kind, stdout: str, problems: list[str]) -> None:
    """An answer that its fault does not ask for is seen, and a success of which the world knows nothing."""
    check_beginnings(judged(stage, kind, stdout), problems)


def test_what_is_left(stage: Stage) -> None:
    """A snapshot too many is left behind, whatever the answer says."""
    check_beginnings(judged(stage, REFUSED, failed(DENIED), is_left=True), ["the world is another"])


def judged(stage: Stage, kind: Kind, stdout: str, *, is_left: bool = False) -> list[str]:
    """Judge an answer to snapshot_disk, of which the process itself is not started."""
    before = stage.prepare(SNAPSHOT_DISK)
    if is_left:
        stage.snapshot()
    call = next(each for each in SNAPSHOT_DISK.each() if each.action == "CreateSnapshot")
    answer = Answer(stdout.encode(), "", 0, 0.0)
    return Outcome(Case(SNAPSHOT_DISK, call, kind), answer, before, stage.painter).problems()


def check_beginnings(found: list[str], beginnings: list[str]) -> None:
    """Expect problems that begin so."""
    assert [text[: len(wanted)] for text, wanted in zip(found, beginnings, strict=True)] == beginnings


@pytest.mark.parametrize(("is_gone", "problems"), [(True, []), (False, ["the world is another"])])
def test_done_before(stage: Stage, problems: list[str], *, is_gone: bool) -> None:
    """A disk that is not found any more was deleted by the process that was killed, if it is gone."""
    before = stage.prepare(DELETE_DISK)
    if is_gone:
        (volume,) = stage.ec2.describe_volumes()["Volumes"]
        stage.ec2.delete_volume(VolumeId=volume["VolumeId"])
    case = Case(DELETE_DISK, next(DELETE_DISK.each()), KILLED)
    answer = Answer(failed("", NOT_FOUND).encode(), "", 0, 0.0)
    check_beginnings(Outcome(case, answer, before, stage.painter).problems(), problems)
