"""The tasks of BOSH's acceptance tests: a Director is created, tested and, whatever they find, deleted."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from testbed.cloud import ROOT

KEYS = {"AWS_ACCESS_KEY_ID": "key-id-7f31", "AWS_SECRET_ACCESS_KEY": "secret-key-e0a8"}
NETWORK = {"external_ip": "192.0.2.1", "internal_ip": "10.0.1.6", "az": "us-east-1a"}
BOSH = """#!/bin/sh
echo "$*" >>log
case $* in
*external_ip) echo 192.0.2.1 ;;
*internal_ip) echo 10.0.1.6 ;;
*admin_password) echo password-19c4 ;;
*/name) echo my-stemcell ;;
create-env*) echo '{}' >director/state.json ;;
esac
case $* in ${FAILING:-nothing}*) exit 3 ;; esac
"""
BUNDLE = """#!/bin/sh
echo "$* $BAT_INFRASTRUCTURE $BOSH_ENVIRONMENT $BOSH_CLIENT_SECRET ${BOSH_ALL_PROXY%%[?]*}" >>../log
"""
TIMEOUT = """#!/bin/sh
echo "within $1:" >>log
shift
exec "$@"
"""


class Job:
    """The tasks in one folder, with stand-ins for `bosh`, `bundle` and `timeout`.

    Attributes:
        interpolated: The `bosh interpolate` of the last task that ran.
    """

    def __init__(self, folder: Path) -> None:
        """Lay the tasks' inputs."""
        self.interpolated: list[str] = []
        self._folder = folder
        (folder / "source").symlink_to(ROOT)
        for name in ("bats", "candidate", "director", "stemcell", "bin"):
            (folder / name).mkdir()
        (folder / "candidate" / "bosh-aws-cpi.tgz").touch()
        (folder / "stemcell.MF").touch()
        with tarfile.open(folder / "stemcell" / "stemcell.tgz", "w:gz") as archive:
            archive.add(folder / "stemcell.MF", "stemcell.MF")
        for name, script in {"bosh": BOSH, "bundle": BUNDLE, "timeout": TIMEOUT}.items():
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
        self.interpolated = [each for each in commands if each.startswith("interpolate")]
        return done.returncode, [each for each in commands if each not in self.interpolated]


ENVIRONMENT = "--state=director/state.json --vars-store=director/creds.yml --vars-env=CPI"
DELETE = [
    "within 30m:",
    "--deployment=bat delete-deployment --force",
    "within 30m:",
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
    director = "aws 10.0.1.6 password-19c4 ssh+socks5://jumpbox@192.0.2.1:22"
    specs = f"exec rspec spec/system --tag ~root_partition {director}"
    tested = job.run("bats", RSPEC_FLAGS="--tag ~root_partition")
    assert tested == (0, [f"install {director}", specs])
    assert job.run("bats-teardown", **KEYS) == (0, DELETE)


def test_configuration_has_no_key_of_the_director(job: Job, tmp_path: Path) -> None:
    """BATS prints its configuration: its key is a new one, and the Director's credentials are not read."""
    (tmp_path / "director" / "network.yml").touch()
    job.run("bats", RSPEC_FLAGS="--tag ~root_partition")
    (configuration,) = (each for each in job.interpolated if "bat.yml" in each)
    assert "ssh_private_key=" in configuration
    assert "creds.yml" not in configuration
    (key,) = tmp_path.glob("tmp.*/key")
    assert key.read_text().startswith("-----BEGIN RSA PRIVATE KEY-----")


@pytest.mark.parametrize("failing", ["--deployment", "clean-up", "delete-env"])
def test_director_is_deleted_after_a_failure(job: Job, failing: str) -> None:
    """A deletion that fails or takes too long fails the task, and leaves neither the Director nor disks."""
    job.run("bats-director", **KEYS, NETWORK=json.dumps(NETWORK))
    assert job.run("bats-teardown", **KEYS, FAILING=failing) == (3, DELETE)
