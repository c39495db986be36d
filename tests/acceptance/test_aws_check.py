"""The check of the assumptions about AWS in an account."""

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from acceptance import assumptions
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


def test_simulated(environment: dict[str, str]) -> None:
    """With --simulated the program starts the simulated AWS and needs no account."""
    command = [sys.executable, "-m", "acceptance.aws_check", "--simulated", "--only", "unknown-ids"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "unknown-ids: agrees\n  assumed  " in done.stdout
    assert done.stdout.endswith(
        "1 assumptions: 1 agree, 0 differ, 0 could not be tried\nLeft behind: nothing\n"
    )


def test_assumption_that_differs(
    run: Callable[..., Run], fake_aws: FakeAws, nothing_left: Callable[[], None]
) -> None:
    """If AWS behaves differently, the report says how, and the status is 1."""
    other = {"code": "SomethingElse", "message": "no", "status": 400}
    fake_aws.rule(action="DetachVolume", nth=1, error=other)
    result = run("aws_check", "--only", "volume-not-attached", "image-name")
    assert result.status == 1
    assert "volume-not-attached: differs" in result.report
    assert "seen     SomethingElse: no" in result.report
    assert "2 assumptions: 1 agree, 1 differ, 0 could not be tried" in result.report
    nothing_left()


def test_assumption_that_cannot_be_tried(
    run: Callable[..., Run], fake_aws: FakeAws, nothing_left: Callable[[], None]
) -> None:
    """A call without permission gives no verdict on its assumption; the others are still tried."""
    fake_aws.rule(action="AllocateAddress", error=DENIED)
    result = run("aws_check", "--only", "elastic-ip-moves", "malformed-ids")
    assert result.status == 1
    assert "elastic-ip-moves: could not be tried" in result.report
    assert "AllocateAddress operation" in result.report
    assert "2 assumptions: 1 agree, 0 differ, 1 could not be tried" in result.report
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


def test_network_that_is_refused(
    run: Callable[..., Run], fake_aws: FakeAws, nothing_left: Callable[[], None]
) -> None:
    """If the network can't be created, its existing parts are deleted."""
    fake_aws.rule(action="CreateSubnet", error=DENIED)
    result = run("aws_check")
    assert result.status == 2
    assert "The run stopped: An error occurred (UnauthorizedOperation) when calling the CreateSubnet" in (
        result.report
    )
    assert result.document["left"] == {}
    nothing_left()


def test_removal_that_is_refused(
    run: Callable[..., Run], fake_aws: FakeAws, nothing_left: Callable[[], None]
) -> None:
    """The report names resources that can't be deleted, and why; `--remove` deletes them and nothing else."""
    fake_aws.rule(action="CreateSubnet", error=DENIED)
    fake_aws.rule(action="DeleteVpc", error=DENIED)
    result = run("aws_check")
    assert result.status == 2
    ((what, why),) = result.document["left"].items()
    assert what.startswith("VPC vpc-")
    assert "You are not authorized." in why
    assert f"Delete it by hand, or with --remove {result.run_id}" in result.report

    fake_aws.clear_rules()
    again = run("lifecycle", "--remove", result.run_id)
    assert (again.status, again.document["left"]) == (0, {})
    nothing_left()


@pytest.mark.parametrize("given", ["*", "", "acceptance-?", "01234567-89ab-4cde-8f01-23456789abcd"])
def test_removal_of_what_is_no_run(run: Callable[..., Run], fake_aws: FakeAws, given: str) -> None:
    """`--remove` accepts only the id of a run: neither a pattern nor a director's id."""
    before = fake_aws.actions()
    result = run("aws_check", f"--remove={given}")
    assert result.status == 2
    assert f"'{given}' is no run's id, which begins with acceptance-" in result.report
    assert fake_aws.actions() == before


def test_look_that_is_refused(run: Callable[..., Run], fake_aws: FakeAws) -> None:
    """The report names resources that may be left because they can't be listed."""
    fake_aws.rule(action="DescribeSnapshots", error=DENIED)
    result = run("aws_check", "--only", "unknown-ids")
    assert result.status == 1
    assert list(result.document["left"]) == ["perhaps snapshots"]


@pytest.mark.parametrize(("program", "number"), [("aws_check", signal.SIGTERM), ("lifecycle", signal.SIGINT)])
def test_interrupted(
    start: Callable[..., subprocess.Popen[str]],
    fake_aws: FakeAws,
    program: str,
    number: signal.Signals,
    nothing_left: Callable[[], None],
) -> None:
    """On a signal the program deletes what it has created, and ends."""
    fake_aws.rule(action="RunInstances", nth=1, hold=True)
    with start(program) as process:
        assert fake_aws.wait_until_held() == ["RunInstances"]
        process.send_signal(number)
        fake_aws.release()
        _, stderr = process.communicate()
    assert process.returncode == 128 + number
    assert "Left behind: nothing" in stderr
    nothing_left()


@pytest.mark.parametrize("missing", ["AWS_ACCESS_KEY_ID", "AWS_REGION"])
def test_nothing_to_work_with(
    environment: dict[str, str], missing: str, command: Callable[..., list[str]]
) -> None:
    """Without keys or a region the program says what is missing, and makes no calls."""
    del environment[missing]
    if missing == "AWS_ACCESS_KEY_ID":
        del environment["AWS_SECRET_ACCESS_KEY"]
    done = subprocess.run(
        command("aws_check"), env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Nothing was created. No ")
    assert missing in done.stderr
