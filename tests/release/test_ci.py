"""The pipeline, its tasks and the operators' guide name what is there, and hold no secret."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.cloud import ROOT

CI = ROOT / "ci"
GUIDE = ROOT / "docs" / "operators.md"
SCRIPTS = sorted(CI.glob("tasks/*.sh"))
TASKS = sorted(CI.glob("tasks/*.yml"))
YAML = sorted(CI.rglob("*.yml"))
SECRET = re.compile(r"secret|password|private|token|access_key", re.IGNORECASE)
MARKS = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}|-----BEGIN|\bgh[pousr]_\w{20,}|://[^/\s:@]+:[^/\s@]+@")
"""What keys, certificates, tokens and passwords in URLs look like."""


def load(path: Path) -> Any:
    """Read a YAML file."""
    return yaml.safe_load(path.read_text())


def steps(node: object) -> Iterator[dict[str, Any]]:
    """Walk all mappings of a document: the pipeline's steps are among them."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from steps(each)


PIPELINE = load(CI / "pipeline.yml")


def test_pipeline_tasks_exist() -> None:
    """The pipeline names exactly the existing task files."""
    tasks = [step for step in steps(PIPELINE["jobs"]) if "task" in step and "config" not in step]
    named = {step["file"].removeprefix("source/") for step in tasks}
    assert named == {str(path.relative_to(ROOT)) for path in TASKS}


@pytest.mark.parametrize("task", TASKS, ids=lambda path: path.name)
def test_task_script_exists(task: Path) -> None:
    """A task runs the script of its own name, out of an input that it declares."""
    config = load(task)
    assert config["run"]["path"] == f"source/ci/tasks/{task.stem}.sh"
    assert task.with_suffix(".sh") in SCRIPTS
    assert "source" in {entry["name"] for entry in config["inputs"]}


def test_task_inputs_are_in_the_plan() -> None:
    """A task's inputs come from its job or an earlier task; the job gives only parameters that it has."""
    for job in PIPELINE["jobs"]:
        got = {step["get"] for step in steps(job) if "get" in step}
        for step in steps(job):
            if "file" in step and "task" in step:
                config = load(ROOT / step["file"].removeprefix("source/"))
                assert {entry["name"] for entry in config["inputs"]} <= got
                got |= {entry["name"] for entry in config.get("outputs", ())}
                assert set(step.get("params", ())) <= set(config.get("params", ()))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_is_a_shell_script(script: Path) -> None:
    """A script is executable and ends at the first error; what it requires is a parameter of its task."""
    text = script.read_text()
    assert script.stat().st_mode & 0o111 == 0o111
    assert text.startswith("#!/bin/sh\n")
    assert re.search(r"^set -eu$", text, re.MULTILINE)
    checked = subprocess.run(["/bin/sh", "-n", str(script)], capture_output=True, text=True, check=False)
    assert checked.stderr == ""
    required = set(re.findall(r"\$\{([A-Z_]+):\?\}", text))
    assert required <= set(load(script.with_suffix(".yml")).get("params", ()))


def test_make_targets_exist() -> None:
    """Each target of make that a script calls is in the Makefile, and the tests and checks are called."""
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {
        target
        for script in SCRIPTS
        for target in re.findall(r"^\s*make ([a-z0-9-]+)", script.read_text(), re.MULTILINE)
    }
    own = (ROOT / ".ci/run").read_text()
    called |= set(
        re.findall(r"^\s*(?:PATH=\S+ |if .*; then )?(?:suite|recorded) ([a-z0-9-]+)", own, re.MULTILINE)
    )
    assert re.search(r"^ *make bench BENCH_ARGS=\"--check ", own, re.MULTILINE)
    assert called <= targets
    assert called >= {"lint", "test", "quick", "test-release", "vendor", "e2e", "faults"}


def test_no_secrets() -> None:
    """Every secret is a variable or a parameter of the task; nothing looks like a key or a password."""
    for path in YAML:
        named = [
            (key, value) for step in steps(load(path)) for key, value in step.items() if SECRET.search(key)
        ]
        assert [key for key, value in named if value and not re.fullmatch(r"\(\(.+\)\)", str(value))] == []
    for path in [GUIDE, *(each for each in CI.rglob("*") if each.is_file())]:
        assert not MARKS.search(path.read_text()), path


def test_operations_file_replaces_the_release_alone() -> None:
    """The operations file touches the entry of the release, whose name stays, and the guide leads to it."""
    (operation,) = load(CI / "ops" / "use-release.yml")
    assert operation["path"] == "/releases/name=bosh-aws-cpi"
    assert operation["value"]["name"] == load(ROOT / "config" / "final.yml")["name"] == "bosh-aws-cpi"
    assert "](../ci/ops/use-release.yml)" in GUIDE.read_text()
    assert "-o THIS-REPOSITORY/ci/ops/use-release.yml" in GUIDE.read_text()


GIT = shutil.which("git") or "git"
CHECKED = {
    "is_good": False,
    "summary": "1 assumptions: 0 agree, 1 differ",
    "left": {"volume vol-1": "AccessDenied: arn:aws:iam::123456789012:user/x\n| <b>"},
    "assumptions": [{"name": "tokens", "verdict": "differs", "seen": "an error"}],
}
LIVED = {"is_good": True, "summary": "1 calls", "left": {}, "calls": [{"method": "info", "seconds": 0.3}]}


@pytest.mark.parametrize(("check", "lifecycle"), [(1, 0), (0, 2)])
def test_lifecycle_runs_both_programs(tmp_path: Path, check: int, lifecycle: int) -> None:
    """Both programs run; the last failure is the task's. A commit says what both saw."""
    author = {"GIT_USER_NAME": "ci", "GIT_USER_EMAIL": "ci@example.com"}
    source = tmp_path / "source"
    shutil.copytree(ROOT / "acceptance", source / "acceptance")
    shutil.copytree(ROOT / "docs" / "certification", source / "docs" / "certification")
    committing = ["-c", "user.name=a", "-c", "user.email=a", "commit", "--quiet", "--message=x"]
    for command in (["init", "--quiet"], ["add", "."], committing):
        subprocess.run([GIT, "-C", source, *command], check=True)
    make = tmp_path / "make"
    make.write_text(
        f"""#!/bin/sh
echo "$*" >&2
case $1 in
venv) echo installing ;;
aws-check) printf '%s\\n' '{json.dumps(CHECKED)}'; exit {check} ;;
lifecycle) [ {lifecycle} = 2 ] || printf '%s\\n' '{json.dumps(LIVED)}'; exit {lifecycle} ;;
esac
"""
    )
    make.chmod(0o755)
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "REGION": "eu-west-1", **author}
    done = subprocess.run(
        ["/bin/sh", CI / "tasks" / "lifecycle.sh"],
        env={
            **keys,
            "PATH": f"{tmp_path}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(tmp_path),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines() == [
        "venv",
        "installing",
        "aws-check AWS_CHECK_ARGS=--region eu-west-1 --json",
        "lifecycle LIFECYCLE_ARGS=--region eu-west-1 --json",
    ]
    assert done.returncode == (lifecycle or check)
    shown = subprocess.run(
        [GIT, "-C", tmp_path / "certified", "show", "--format=%an", "--name-only"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert shown[0] == "ci"
    assert re.fullmatch(r"docs/certification/[\d-]{15}-eu-west-1\.md", shown[1])
    title, _, *lines = (tmp_path / "certified" / shown[1]).read_text().splitlines()
    assert re.fullmatch(r"# \d{4}-\d\d-\d\d, eu-west-1, commit [0-9a-f]{40}", title)
    passed = "failed**: It ended without a result" if lifecycle == 2 else "passed**: 1 calls"
    assert lines[:3] == [
        "- `make aws-check` **failed**: 1 assumptions: 0 agree, 1 differ",
        r"  - left behind: volume vol-1: AccessDenied: arn:aws:iam::ACCOUNT:user/x \| \<b\>",
        f"- `make lifecycle` **{passed}",
    ]
    assert "| `tokens` | differs | an error |" in lines
    assert ("| `info` | 0.3 |" in lines) == (lifecycle == 0)
