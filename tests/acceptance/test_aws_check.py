"""The check of the assumptions about AWS in an account."""

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from acceptance import assumptions, aws_check, program
from testbed.cloud import ROOT, FakeAws
from tests.acceptance.conftest import Run

DENIED = {"code": "UnauthorizedOperation", "message": "You are not authorized.", "status": 403}


def test_all_assumptions(run: Callable[..., Run], nothing_left: Callable[[], None]) -> None:
    """The check tries every assumption that it can, the test bed agrees with all, and nothing is left."""
    result = run("aws_check")
    found = {each["assumption"]: (each["verdict"], each["seen"]) for each in result.document["assumptions"]}
    assert {name: seen for name, (verdict, seen) in found.items() if verdict != "agrees"} == {}
    assert found.keys() == {name for name, assumption in assumptions.read().items() if assumption.is_tried}
    assert (result.status, result.document["left"], result.document["is_good"]) == (0, {}, True)
    nothing_left()


def test_simulated(
    fake_aws: FakeAws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --simulated the program starts the simulated AWS and needs no account."""
    monkeypatch.setattr(program, "FakeAws", lambda: nullcontext(fake_aws))
    monkeypatch.setattr(sys, "argv", ["aws_check", "--simulated", "--only", "unknown-ids"])
    assert aws_check.main() == 0
    report = capsys.readouterr().out
    assert "unknown-ids: agrees\n  assumed  " in report
    assert report.endswith("1 assumptions: 1 agree, 0 differ, 0 could not be tried\nLeft behind: nothing\n")


def test_verdicts(run: Callable[..., Run], fake_aws: FakeAws, nothing_left: Callable[[], None]) -> None:
    """The report says what differs, what could not be tried and what can't be looked for; the status is 1."""
    fake_aws.refuse("DetachVolume", "SomethingElse", "no", nth=1)
    for action in ("AllocateAddress", "DescribeSnapshots"):
        fake_aws.rule(action=action, error=DENIED)
    result = run("aws_check", "--only", "volume-not-attached", "elastic-ip-moves", "malformed-ids")
    assert result.status == 1
    for part in (
        "volume-not-attached: differs",
        "seen     SomethingElse: no",
        "elastic-ip-moves: could not be tried",
        "AllocateAddress operation",
        "3 assumptions: 1 agree, 1 differ, 1 could not be tried",
    ):
        assert part in result.report
    assert list(result.document["left"]) == ["perhaps snapshots"]
    fake_aws.clear_rules()
    nothing_left()


def test_endpoint_that_refuses_everything(
    run: Callable[..., Run], fake_aws: FakeAws, nothing_left: Callable[[], None]
) -> None:
    """If AWS refuses everything, the report says so, and that nothing was created."""
    fake_aws.rule(action="*", error=DENIED)
    result = run("aws_check")
    fake_aws.clear_rules()
    assert (result.status, result.document) == (2, {})
    assert result.report.startswith(
        "Nothing was created. The AWS keys can't be checked (sts:GetCallerIdentity): "
    )
    assert "You are not authorized." in result.report
    nothing_left()


def test_removal_that_is_refused(
    run: Callable[..., Run], fake_aws: FakeAws, nothing_left: Callable[[], None]
) -> None:
    """The report names resources that can't be deleted, and why; `--remove` deletes them and nothing else."""
    fake_aws.rule(action="CreateSubnet", error=DENIED)
    fake_aws.rule(action="DeleteVpc", error=DENIED)
    result = run("aws_check")
    assert result.status == 2
    assert "The run stopped: An error occurred (UnauthorizedOperation) when calling the CreateSubnet" in (
        result.report
    )
    ((what, why),) = result.document["left"].items()
    assert what.startswith("VPC vpc-")
    assert "You are not authorized." in why
    assert f"Delete it by hand, or with --remove {result.run_id}" in result.report

    fake_aws.clear_rules()
    again = run("lifecycle", "--remove", result.run_id)
    assert (again.status, again.document["left"]) == (0, {})
    nothing_left()


@pytest.mark.parametrize("given", ["*", "", "acceptance-?", "01234567-89ab-4cde-8f01-23456789abcd"])
def test_removal_of_what_is_no_run(capsys: pytest.CaptureFixture[str], given: str) -> None:
    """`--remove` accepts only the id of a run: neither a pattern nor a director's id."""
    with pytest.raises(SystemExit):
        program.parser("aws_check", "").parse_args([f"--remove={given}"])
    assert f"'{given}' is no run's id, which begins with acceptance-" in capsys.readouterr().err


def test_interrupted(
    start: Callable[..., subprocess.Popen[str]], fake_aws: FakeAws, nothing_left: Callable[[], None]
) -> None:
    """On a signal the program deletes what it has created, and ends."""
    fake_aws.rule(action="CreateVolume", nth=1, hold=True)
    with start("aws_check", "--only", "volume-not-attached") as process:
        assert fake_aws.wait_until_held() == ["CreateVolume"]
        process.send_signal(signal.SIGTERM)
        fake_aws.release()
        _, stderr = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert "Left behind: nothing" in stderr
    nothing_left()


def test_nothing_to_work_with(environment: dict[str, str], command: Callable[..., list[str]]) -> None:
    """Without keys the program says what is missing, and makes no calls."""
    del environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"]
    done = subprocess.run(
        command("aws_check"), env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Nothing was created. No ")
    assert "AWS_ACCESS_KEY_ID" in done.stderr
