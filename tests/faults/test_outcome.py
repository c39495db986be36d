"""The judgement on a case, and the table: what may be wrong is seen, and counts where it belongs."""

import json
from typing import Any

import pytest

from testbed.executable import MBUS_PASSWORD, Answer
from tests.faults import summary
from tests.faults.allowed import AGAIN, OUTLIVED, RETRIED, STEPS, UNLISTED
from tests.faults.kinds import ACCOUNT_ENDS, AWS_ENDS, KINDS, Case
from tests.faults.outcome import LEFT, MALFORMED, OTHER, UNKNOWN, Outcome
from tests.faults.pairs import RESET
from tests.faults.scenarios import SCENARIOS
from tests.faults.scenarios_disk import DISKS
from tests.faults.stage import Stage
from tests.faults.summary import FOUND, TRIED, WELL

KIND = {kind.name: kind for kind in KINDS}
SNAPSHOT_DISK, DELETE_DISK = (
    next(each for each in DISKS if each.name == name) for name in ("snapshot_disk", "delete_disk")
)
NOT_FOUND = "Bosh::Clouds::DiskNotFound"


def failed(message: str = "", kind: str = "Bosh::Clouds::CloudError", *, ok_to_retry: bool = False) -> str:
    """Write the answer of a request that failed."""
    error = {"type": kind, "message": message, "ok_to_retry": ok_to_retry}
    return json.dumps({"result": None, "error": error, "log": ""})


REFUSED = "CreateSnapshot failed with UnauthorizedOperation: No."
ENDED = "The call was interrupted by SIGTERM before it was complete"
SUCCEEDED = '{"result": "snap-0123456789abcdef0", "error": null, "log": ""}'


@pytest.mark.parametrize(
    ("kind", "stdout", "columns"),
    [
        ("permanent error", failed(REFUSED), []),
        ("permanent error", failed(REFUSED, ok_to_retry=True), [OTHER]),
        ("permanent error", failed("CreateSnapshot failed"), [OTHER]),
        ("permanent error", failed(REFUSED, "Unknown"), [UNKNOWN]),
        ("permanent error", failed(REFUSED + MBUS_PASSWORD), [MALFORMED]),
        ("permanent error", SUCCEEDED, [OTHER, LEFT]),
        ("launches ended", failed(AWS_ENDS, ok_to_retry=True), []),
        ("launches ended", failed(AWS_ENDS), [OTHER]),
        ("launch ended, our fault", failed(f"{ACCOUNT_ENDS}: quota", ok_to_retry=True), [OTHER]),
        ("throttled once", failed(REFUSED), [OTHER]),
        ("throttled once", SUCCEEDED, [LEFT]),
        ("SIGTERM after", failed(ENDED), []),
        ("SIGTERM after", failed("something else"), [OTHER]),
        ("SIGKILL after", failed("", NOT_FOUND), [OTHER]),
        ("answer lost", "", [MALFORMED]),
        ("answer lost", "{}", [MALFORMED]),
        ("answer lost", failed().replace("false", '"no"'), [MALFORMED]),
        ("answer lost", f"warning\n{SUCCEEDED}", [MALFORMED]),
    ],
)
def test_answers(stage: Stage, kind: str, stdout: str, columns: list[str]) -> None:
    """An answer that its fault does not ask for is seen, and a success of which the world knows nothing."""
    assert judged(stage, kind, stdout) == columns


@pytest.mark.parametrize(
    ("kind", "stdout"),
    [("permanent error", failed(REFUSED)), ("SIGTERM after", failed(ENDED)), ("answer lost", "")],
)
def test_what_is_left(stage: Stage, kind: str, stdout: str) -> None:
    """A snapshot too many is left behind, whatever the answer says."""
    columns = judged(stage, kind, stdout, leaves=True)
    assert columns[-1] == LEFT


def judged(stage: Stage, kind: str, stdout: str, *, leaves: bool = False) -> list[str]:
    """Judge an answer to snapshot_disk, of which the process itself is not started."""
    stage.prepare(SNAPSHOT_DISK)
    before = stage.painter.picture()
    if leaves:
        stage.snapshot()
    call = next(each for each in SNAPSHOT_DISK.each() if each.action == "CreateSnapshot")
    answer = Answer(stdout.encode(), "", 0, 0.0)
    outcome = Outcome(Case(SNAPSHOT_DISK, call, KIND[kind]), answer, before, stage.painter)
    return [problem.column for problem in outcome.problems()]


@pytest.mark.parametrize(("is_gone", "columns"), [(True, []), (False, [LEFT])])
def test_done_before(stage: Stage, columns: list[str], *, is_gone: bool) -> None:
    """A disk that is not found any more was deleted by the process that was killed, if it is gone."""
    stage.prepare(DELETE_DISK)
    before = stage.painter.picture()
    if is_gone:
        (volume,) = stage.ec2.describe_volumes()["Volumes"]
        stage.ec2.delete_volume(VolumeId=volume["VolumeId"])
    case = Case(DELETE_DISK, next(DELETE_DISK.each()), KIND["SIGKILL after"])
    answer = Answer(failed("", NOT_FOUND).encode(), "", 0, 0.0)
    problems = Outcome(case, answer, before, stage.painter).problems()
    assert [problem.column for problem in problems] == columns


def test_allowances_are_of_use() -> None:
    """Each allowance has a reason, and names an existing scenario and call."""
    known = {scenario.name: {str(call) for call in scenario.each()} for scenario in SCENARIOS}
    entries: list[Any] = [*AGAIN.values(), *UNLISTED.values()]
    entries += [each for table in (OUTLIVED, STEPS, RETRIED) for listed in table.values() for each in listed]
    assert all(each.why for each in entries)
    assert {*OUTLIVED, *STEPS, *AGAIN, *RETRIED, *UNLISTED} <= known.keys()
    for name, listed in RETRIED.items():
        assert {each.call for each in listed} <= known[name]
        assert {kind for each in listed for kind in each.kinds} <= {*KIND, RESET.name}
    assert [
        (name, call)
        for table in (OUTLIVED, STEPS)
        for name, listed in table.items()
        for each in listed
        for call in each.calls
        if call not in known[name]
    ] == []


def test_table() -> None:
    """A case counts in every column that it belongs to, and in no good one when it broke off."""
    notes: list[dict[str, Any]] = [
        {TRIED: ("create_vm", "answer lost"), FOUND: []},
        {TRIED: ("create_vm", "answer lost"), FOUND: [LEFT, UNKNOWN]},
        {TRIED: ("has_vm", "permanent error")},
    ]
    tables = summary.rows(notes)
    assert tables["method"] == {
        "create_vm": {"tried": 2, WELL: 1, LEFT: 1, UNKNOWN: 1},
        "has_vm": {"tried": 1, OTHER: 1},
        "all": {"tried": 3, WELL: 1, LEFT: 1, UNKNOWN: 1, OTHER: 1},
    }
    _, *lines = summary.written(tables["kind"], "kind")
    assert [line.split() for line in lines] == [
        ["permanent", "error", "1", "0", "0", "0", "0", "1"],
        ["answer", "lost", "2", "1", "1", "1", "0", "0"],
        ["all", "3", "1", "1", "1", "0", "1"],
    ]
