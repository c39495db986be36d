"""The tasks of BOSH's acceptance tests: a Director is created, tested and, whatever they find, deleted."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEYS = {"AWS_ACCESS_KEY_ID": "key-id-7f31", "AWS_SECRET_ACCESS_KEY": "secret-key-e0a8"}
NETWORK = {"external_ip": "192.0.2.1", "az": "us-east-1a"}
BOSH = """#!/bin/sh
echo "$*" >>log
case $* in
*external_ip) echo 192.0.2.1 ;;
*admin_password) echo password-19c4 ;;
*/name) echo my-stemcell ;;
create-env*) echo '{}' >director/state.json ;;
esac
case $* in ${FAILING:-nothing}*) exit 3 ;; esac
"""
BUNDLE = """#!/bin/sh
echo "$* $BAT_INFRASTRUCTURE $BOSH_ENVIRONMENT $BOSH_CLIENT_SECRET" >>../log
"""


class Job:
    """The tasks in one folder, with stand-ins for `bosh` and `bundle`."""

    def __init__(self, folder: Path) -> None:
        """Lay the tasks' inputs."""
        self._folder = folder
        (folder / "source").symlink_to(ROOT)
        for name in ("bats", "candidate", "director", "stemcell", "bin"):
            (folder / name).mkdir()
        (folder / "candidate" / "bosh-aws-cpi.tgz").touch()
        (folder / "stemcell.MF").touch()
        with tarfile.open(folder / "stemcell" / "stemcell.tgz", "w:gz") as archive:
            archive.add(folder / "stemcell.MF", "stemcell.MF")
        for name, script in {"bosh": BOSH, "bundle": BUNDLE}.items():
            (folder / "bin" / name).write_text(script)
            (folder / "bin" / name).chmod(0o755)

    def run(self, task: str, **variables: str) -> tuple[int, list[str]]:
        """Run a task; returns its exit status and its commands, without `bosh interpolate`."""
        log = self._folder / "log"
        log.write_text("")
        done = subprocess.run(
            ["/bin/sh", str(ROOT / "ci" / "tasks" / f"{task}.sh")],
            env={**variables, "TMPDIR": str(self._folder), "PATH": f"{self._folder}/bin:/usr/bin:/bin"},
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr + log.read_text()
        assert [key for key in KEYS.values() if key in said] == []
        commands = log.read_text().splitlines()
        return done.returncode, [each for each in commands if not each.startswith("interpolate")]


ENVIRONMENT = "--state=director/state.json --vars-store=director/creds.yml --vars-env=CPI"
DELETE = [
    "--deployment=bat delete-deployment --force",
    "clean-up --all",
    f"delete-env director/director.yml {ENVIRONMENT}",
]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return the job before its first task."""
    return Job(tmp_path)


def test_director_is_created_tested_and_deleted(job: Job) -> None:
    """The keys are in no argument and no output; the specs get the Director and its password."""
    created = job.run("bats-director", **KEYS, NETWORK=json.dumps(NETWORK))
    assert created == (0, [f"create-env director/director.yml {ENVIRONMENT}"])
    specs = "exec rspec spec/system --tag ~root_partition aws 192.0.2.1 password-19c4"
    tested = job.run("bats", RSPEC_FLAGS="--tag ~root_partition")
    assert tested == (0, ["install aws 192.0.2.1 password-19c4", specs])
    assert job.run("bats-teardown", **KEYS) == (0, DELETE)


@pytest.mark.parametrize(
    ("failing", "commands"),
    [("--deployment", [DELETE[0], DELETE[2]]), ("clean-up", DELETE), ("delete-env", DELETE)],
)
def test_director_is_deleted_after_a_failure(job: Job, failing: str, commands: list[str]) -> None:
    """What can't be deleted fails the task, and does not keep the Director."""
    job.run("bats-director", **KEYS, NETWORK=json.dumps(NETWORK))
    assert job.run("bats-teardown", **KEYS, FAILING=failing) == (3, commands)


def test_no_director(job: Job) -> None:
    """Without a Director there is nothing to delete."""
    assert job.run("bats-teardown", **KEYS) == (0, [])
