"""The policy for the CPI's user, and the script that makes it of the calls that tests see."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws.sdk.data_cut import COMMAND_SERVICES, SERVICES
from bosh_aws_cpi.aws.sdk.permissions import FEATURES, NEEDS_NO_PERMISSION

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts/iam_policy"
CALLED = sorted({action for feature in FEATURES.values() for action in feature.called.split()})
STATEMENTS = json.loads((ROOT / "docs/iam-policy.json").read_text())["Statement"]
SIZE_LIMIT = 6144
"""Characters of a managed policy, beside white space."""


def run(*arguments: object, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    """Run the script as a person does."""
    command = [sys.executable, "-I", str(script), *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def record(folder: Path, name: str, actions: Iterable[str]) -> None:
    """Write a file of recorded calls."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps([action.split(":") for action in actions]))


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """Record all that is called, by two stand-ins of which each saw a part."""
    folder = tmp_path / "calls"
    record(folder, "first.json", CALLED[:30])
    record(folder, "second.json", CALLED[20:])
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The script in a folder of its own, where it may write."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "docs").mkdir()
    return Path(shutil.copy(SCRIPT, tmp_path / "scripts"))


def test_committed_policy(calls: Path) -> None:
    """The committed policy is what the script makes of all that has a feature."""
    result = run("--check", calls)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_without_records() -> None:
    """Without recorded calls the committed policy is compared with the table alone."""
    result = run("--check")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_written(copy: Path, calls: Path, tmp_path: Path) -> None:
    """The policy is written, and is out of date once it is another one."""
    written = tmp_path / "docs/iam-policy.json"
    assert run("--check", calls, script=copy).returncode == 1
    assert run(calls, script=copy).returncode == 0
    assert written.read_bytes() == (ROOT / "docs/iam-policy.json").read_bytes()
    assert run("--check", calls, script=copy).returncode == 0
    written.write_text("{}")
    stale = run("--check", calls, script=copy)
    message = "docs/iam-policy.json is stale: run `make docs`\n"
    assert (stale.returncode, stale.stderr, written.read_text()) == (1, message, "{}")


@pytest.mark.parametrize("check", [[], ["--check"]], ids=["write", "check"])
def test_actions_that_do_not_match(copy: Path, tmp_path: Path, check: list[str]) -> None:
    """An action without a feature, and one that no test has seen, are named; nothing is written."""
    folder = tmp_path / "calls"
    record(folder, "a.json", [*CALLED[1:], "ec2:RunNothing"])
    result = run(*check, folder, script=copy)
    assert (result.returncode, result.stderr.splitlines()) == (
        2,
        [
            "iam_policy: ec2:RunNothing is called, but is in no feature",
            f"{CALLED[0]} is in a feature, but was not called",
        ],
    )
    assert list((tmp_path / "docs").iterdir()) == []


def test_actions_that_need_no_permission(calls: Path) -> None:
    """What everybody may call has no feature, and needs none."""
    record(calls, "third.json", NEEDS_NO_PERMISSION)
    result = run("--check", calls)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("text", [None, "", "3", '["ec2:RunInstances"]', '[["ec2"]]'])
def test_no_records(tmp_path: Path, text: str | None) -> None:
    """A folder without records, and a file that is none, are named."""
    if text is not None:
        (tmp_path / "x.json").write_text(text)
    result = run(tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert str(tmp_path) in result.stderr


def test_statements() -> None:
    """Each statement allows something, by a name and with actions of its own."""
    assert all(set(each) - {"Condition"} == {"Sid", "Effect", "Action", "Resource"} for each in STATEMENTS)
    assert {(each["Effect"], each["Resource"]) for each in STATEMENTS} == {("Allow", "*")}
    sids = [each["Sid"] for each in STATEMENTS]
    assert len(set(sids)) == len(sids)
    assert all(sid.isalnum() and sid.isascii() for sid in sids)
    for each in STATEMENTS:
        assert each["Action"] == sorted(set(each["Action"])) != []


def test_nothing_beyond_the_baseline_is_in_it_twice() -> None:
    """What every deployment needs is in one statement only."""
    (baseline, *others) = (set(each["Action"]) for each in STATEMENTS)
    assert baseline.isdisjoint(set().union(*others))


def test_actions_exist(actions: dict[str, set[str]]) -> None:
    """What is said to be called is an action of the SDK's; of others' services nothing is."""
    assert {action.partition(":")[0] for action in CALLED} == set(actions)
    for action in CALLED:
        service, _, name = action.partition(":")
        assert name in actions[service], action


@pytest.fixture
def actions() -> dict[str, set[str]]:
    """List the actions of each service by the name that it signs with."""
    from botocore.session import Session  # noqa: PLC0415 - slow, and for one test

    known: dict[str, set[str]] = {}
    for service in (*SERVICES, *COMMAND_SERVICES):
        model: Any = Session().get_service_model(service)
        known.setdefault(model.signing_name, set()).update(model.operation_names)
    return known


def test_size() -> None:
    """The policy fits into a managed one."""
    text = (ROOT / "docs/iam-policy.json").read_text()
    assert len("".join(text.split())) <= SIZE_LIMIT
