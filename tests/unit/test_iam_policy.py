"""The policies for the CPI's user, and the script that makes them of the calls that tests see."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import create_loader
from botocore.session import Session

from bosh_aws_cpi.aws.sdk.data_cut import COMMAND_SERVICES, SERVICES
from bosh_aws_cpi.aws.sdk.permissions import FEATURES, NEEDS_NO_PERMISSION
from testbed.cloud import ROOT

SCRIPT = ROOT / "scripts/iam_policy"
CALLED = sorted({action for feature in FEATURES.values() for action in feature.called})
NAMES = ("iam-policy.json", "iam-policy-restricted.json")
STATEMENTS, RESTRICTED = (json.loads((ROOT / "docs" / name).read_text())["Statement"] for name in NAMES)
SIZE_LIMIT = 6144
"""Characters of a managed policy, beside white space."""


def run(*arguments: object, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    """Run the script as a person does."""
    command = [sys.executable, str(script), *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def record(folder: Path, name: str, actions: Iterable[str], denial: str = "") -> None:
    """Write a file of recorded calls."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps([[*action.split(":"), denial] for action in actions]))


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """Record all that is called, by two stand-ins of which each saw a part."""
    folder = tmp_path / "calls"
    record(folder, "first.json", CALLED[:30])
    record(folder, "second.json", [*CALLED[20:], *NEEDS_NO_PERMISSION])
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The script in a folder of its own, where it may write."""
    (tmp_path / "docs").mkdir()
    return Path(shutil.copytree(SCRIPT.parent, tmp_path / "scripts")) / SCRIPT.name


def test_committed_policy(calls: Path) -> None:
    """The committed policy is what the script makes of all that has a feature, or of the table alone."""
    for arguments in ([calls], []):
        result = run("--check", *arguments)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_written(copy: Path, calls: Path, tmp_path: Path) -> None:
    """Both policies are written, and each is out of date once it is another one."""
    assert run("--check", calls, script=copy).returncode == 1
    assert run(calls, script=copy).returncode == 0
    for name in NAMES:
        written = tmp_path / "docs" / name
        text = written.read_bytes()
        assert text == (ROOT / "docs" / name).read_bytes()
        written.write_text("{}")
        stale = run("--check", calls, script=copy)
        message = f"docs/{name} is stale: run `make docs`\n"
        assert (stale.returncode, stale.stderr, written.read_text()) == (1, message, "{}")
        written.write_bytes(text)


def test_actions_that_do_not_match(copy: Path, tmp_path: Path) -> None:
    """An action without a feature, and one that no test has seen, are named; nothing is written."""
    folder = tmp_path / "calls"
    record(folder, "a.json", [*CALLED[1:], "ec2:RunNothing"])
    result = run(folder, script=copy)
    assert (result.returncode, result.stderr.splitlines()) == (
        2,
        [
            "iam_policy: ec2:RunNothing is called, but is in no feature",
            f"{CALLED[0]} is in a feature, but was not called",
        ],
    )
    assert list((tmp_path / "docs").iterdir()) == []


def test_denied(calls: Path) -> None:
    """A call that the restricted policy denies, although all resources are the Director's, is reported."""
    record(calls, "third.json", CALLED[:1], "no tag")
    result = run("--check", calls)
    message = f"iam_policy: {CALLED[0]} is denied by iam-policy-restricted.json: no tag\n"
    assert (result.returncode, result.stderr) == (2, message)


@pytest.mark.parametrize("text", [None, '[["ec2"]]'])
def test_no_records(tmp_path: Path, text: str | None) -> None:
    """A folder without records, and a file in its place, are named."""
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
    """Actions that every deployment needs are in one statement only."""
    (baseline, *others) = (set(each["Action"]) for each in STATEMENTS)
    assert baseline.isdisjoint(set().union(*others))


def test_actions_exist(actions: dict[str, set[str]]) -> None:
    """Each called action exists in the SDK, of whose services all are called."""
    assert {action.partition(":")[0] for action in CALLED} == set(actions)
    for action in CALLED:
        service, _, name = action.partition(":")
        assert name in actions[service], action


@pytest.fixture
def actions() -> dict[str, set[str]]:
    """List the actions of each service by the name that it signs with."""
    known: dict[str, set[str]] = {}
    for service in (*SERVICES, *COMMAND_SERVICES):
        model: Any = Session().get_service_model(service)
        known.setdefault(model.signing_name, set()).update(model.operation_names)
    return known


NAMED = {
    "ACCOUNT_ID": "123456789012",
    "CPI_ROLE": "a-role-of-24-characters-",
    "DIRECTOR_UUID": "01234567-89ab-cdef-0123-456789abcdef",
    "KEY_ID": "01234567-89ab-cdef-0123-456789abcdef",
    "REGION": "ap-southeast-2",
    "VM_ROLE": "a-role-of-24-characters-",
}
"""Long values for the placeholders."""


@pytest.mark.parametrize("name", NAMES)
def test_size(name: str) -> None:
    """Each policy fits into a managed one; otherwise the failure names the statements by their sizes."""
    text = (ROOT / "docs" / name).read_text()
    for placeholder, value in NAMED.items():
        text = text.replace(placeholder, value)
    size = len("".join(text.split()))
    sizes = {each["Sid"]: len(json.dumps(each)) for each in json.loads(text)["Statement"]}
    largest = sorted(sizes, key=lambda each: -sizes[each])[:3]
    assert size <= SIZE_LIMIT, (
        f"docs/{name} has {size} characters, {size - SIZE_LIMIT} too many: in scripts/iam_policy, shorten or "
        f"merge statements; the largest are {', '.join(largest)}"
    )


def test_partitions() -> None:
    """A role can be passed to EC2 in each partition that botocore knows, whatever EC2's name is there."""
    partitions = create_loader().load_data("partitions")["partitions"]
    names = {f"ec2.{each['outputs']['dnsSuffix']}" for each in partitions}
    for statements in (STATEMENTS, RESTRICTED):
        (passing,) = (each for each in statements if each["Action"] == ["iam:PassRole"])
        assert names <= set(passing["Condition"]["StringEquals"]["iam:PassedToService"])


def test_licences() -> None:
    """A launch may use what its launch template names, such as a licence."""
    licence = "arn:aws:license-manager:us-east-1:123456789012:license-configuration:lic-1"
    launches = [each for each in RESTRICTED if "ec2:RunInstances" in each["Action"]]
    assert any(
        any(fnmatchcase(licence, each) for each in row.get("Resource") or row["NotResource"])
        is ("Resource" in row)
        for row in launches
    )


def test_the_same_actions() -> None:
    """The restricted policy allows the actions of the other one."""
    first, second = (
        {action for each in rows for action in each["Action"]} for rows in (STATEMENTS, RESTRICTED)
    )
    assert first == second


def test_each_is_restricted() -> None:
    """Each statement names the region, a role or a key, except the one for iam:ListInstanceProfiles."""
    free = [
        each["Action"]
        for each in RESTRICTED
        if "aws:RequestedRegion" not in each.get("Condition", {}).get("StringEquals", {})
        and "ACCOUNT_ID" not in each["Resource"]
    ]
    assert free == [["iam:ListInstanceProfiles"]]
