"""The task that publishes a final release, with real git and ssh-keygen, and stand-ins for bosh and make."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.release

ROOT = Path(__file__).parents[2]
SECURITY = ROOT / "SECURITY.md"
PUBLISH = ROOT / "ci" / "tasks" / "publish.sh"
GIT = shutil.which("git") or "git"
SSH_KEYGEN = shutil.which("ssh-keygen") or "ssh-keygen"
SIGNER = "bosh-aws-cpi"
TARBALL = "bosh-aws-cpi-1.2.3.tgz"
LIST = "bosh-aws-cpi-1.2.3.cdx.json"
CHANGELOG = "# Changelog\n\n## [1.2.3]\n\n### Added\n\n- All.\n\n## [1.2.2]\n\n- Less.\n"
BOSH = """#!/bin/sh
echo "bosh $*" >>"$CALLS"
case $* in
*upload-blobs) echo "object_id: 1" >>config/blobs.yml ;;
*finalize-release*)
  mkdir -p .final_builds releases/bosh-aws-cpi
  touch .final_builds/index.yml releases/bosh-aws-cpi/bosh-aws-cpi-1.2.3.yml ;;
create-release*) for each; do case $each in --tarball=*) echo release >"${each#--tarball=}" ;; esac; done ;;
esac
"""
MAKE = """#!/bin/sh
echo "make $* $SOURCE_DATE_EPOCH" >>"$CALLS"
for each; do case $each in SBOM_ARGS=*) echo list >"${each##* }" ;; esac; done
"""


@dataclass
class Task:
    """The folder in which the pipeline runs the task."""

    folder: Path

    @property
    def final(self) -> Path:
        """What the task leaves for the pipeline."""
        return self.folder / "final"

    @property
    def calls(self) -> list[str]:
        """What was called, in order."""
        log = self.folder / "calls"
        return log.read_text().splitlines() if log.exists() else []

    def run(self, key: str | None) -> subprocess.CompletedProcess[str]:
        """Run the task with this key."""
        environment = {
            "PRIVATE_YML": "options: none",
            "GIT_USER_NAME": "A",
            "GIT_USER_EMAIL": "a@example.com",
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "CALLS": str(self.folder / "calls"),
            "TMPDIR": str(self.folder / "tmp"),
            **({"SIGNING_KEY": key} if key is not None else {}),
        }
        command = ["/bin/sh", str(PUBLISH)]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def verify(self) -> subprocess.CompletedProcess[str]:
        """Verify the release with the commands that SECURITY.md has for operators."""
        commands = (
            SECURITY.read_text().partition("## Verify a release")[2].split("```")[1].removeprefix("sh\n")
        )
        signers = str(self.folder / "source" / "config" / "release-signers")
        return subprocess.run(
            ["/bin/sh", "-e", "-c", commands.replace("config/release-signers", signers)],
            cwd=self.final,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def new_key(tmp_path: Path) -> Callable[[str], tuple[str, str]]:
    """Return a function that creates a key of this name; it returns the private and the public part."""

    def create(name: str) -> tuple[str, str]:
        file = tmp_path / name
        subprocess.run([SSH_KEYGEN, "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
        private = file.read_text()
        file.unlink()
        return private, file.with_suffix(".pub").read_text()

    return create


@pytest.fixture
def key(new_key: Callable[[str], tuple[str, str]]) -> tuple[str, str]:
    """Return the key of the releases."""
    return new_key("signer")


@pytest.fixture
def task(tmp_path: Path, key: tuple[str, str]) -> Task:
    """Return the task with a small repository whose list of signers has the key."""
    folder = tmp_path / "task"
    source = folder / "source"
    for each in ("bin", "tmp", "final", "candidate", "source/config", "source/scripts"):
        (folder / each).mkdir(parents=True)
    for name, text in {"bosh": BOSH, "make": MAKE}.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    shutil.copy(ROOT / "scripts" / "sign", source / "scripts")
    shutil.copy(ROOT / ".gitignore", source)
    (source / "CHANGELOG.md").write_text(CHANGELOG)
    (source / "config" / "final.yml").write_text("name: bosh-aws-cpi\nblobstore: {}\n")
    (source / "config" / "blobs.yml").write_text("{}\n")
    (source / "config" / "release-signers").write_text(f'{SIGNER} namespaces="{SIGNER}" {key[1]}')
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    for command in (("init", "--quiet"), ("add", "."), (*author, "commit", "--quiet", "--message", "All")):
        subprocess.run([GIT, *command], cwd=source, check=True)
    return Task(folder)


def test_release_is_signed(task: Task, key: tuple[str, str]) -> None:
    """The tarball and the list of components are signed, and operators can verify both."""
    done = task.run(key[0])
    assert done.returncode == 0, done.stderr
    assert {path.name for path in task.final.iterdir()} == {
        *("SHA256SUMS", "SHA256SUMS.sig", "notes.md", "tag"),
        *(TARBALL, LIST),
    }
    assert [line.split()[1] for line in (task.final / "SHA256SUMS").read_text().splitlines()] == [
        TARBALL,
        LIST,
    ]
    verified = task.verify()
    assert verified.returncode == 0, verified.stderr
    assert verified.stdout.startswith(f'Good "{SIGNER}" signature')
    assert verified.stdout.splitlines()[1:] == [f"{TARBALL}: OK", f"{LIST}: OK"]
    assert (task.final / "tag").read_text() == "v1.2.3\n"
    assert "- All." in (task.final / "notes.md").read_text()
    assert "- Less." not in (task.final / "notes.md").read_text()


def test_list_has_the_time_of_the_commit(task: Task, key: tuple[str, str]) -> None:
    """The list is written for the version, with the commit's time, before anything is uploaded."""
    task.run(key[0])
    command = (GIT, "log", "-1", "--format=%ct")
    time = subprocess.check_output(command, cwd=task.folder / "source", text=True).strip()
    (written,) = [call for call in task.calls if call.startswith("make sbom")]
    assert written == f"make sbom SBOM_ARGS=--version 1.2.3 --output {task.final / LIST} {time}"
    assert task.calls.index(written) < task.calls.index("bosh --non-interactive upload-blobs")


@pytest.mark.parametrize("name", [TARBALL, LIST, "SHA256SUMS"])
def test_changed_file_is_noticed(name: str, task: Task, key: tuple[str, str]) -> None:
    """A file that was changed after it was signed does not verify."""
    task.run(key[0])
    with (task.final / name).open("a") as file:
        file.write("more")
    assert task.verify().returncode != 0


def test_secrets_are_deleted(task: Task, key: tuple[str, str]) -> None:
    """Neither the key nor the blobstore's credentials stay on disk, or reach the output or a commit."""
    done = task.run(key[0])
    secret = key[0].splitlines()[2]
    assert secret not in done.stdout + done.stderr
    files = [path for path in task.folder.rglob("*") if path.is_file()]
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
    assert not (task.folder / "published" / "config" / "private.yml").exists()
    assert list((task.folder / "tmp").iterdir()) == []


REFUSED = {
    "no key": (None, "SIGNING_KEY"),
    "an empty key": ("", "SIGNING_KEY"),
    "no key at all": ("something", "ssh-keygen can't sign with SIGNING_KEY"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_without_key_nothing_is_uploaded(given: str | None, message: str, task: Task) -> None:
    """Without a key that can sign, the task fails before it calls bosh."""
    done = task.run(given)
    assert done.returncode != 0
    assert message in done.stderr
    assert task.calls == []


def test_unlisted_key_is_refused(task: Task, new_key: Callable[[str], tuple[str, str]]) -> None:
    """A key whose signature nobody could verify is refused before the task calls bosh."""
    done = task.run(new_key("other")[0])
    assert done.returncode != 0
    assert "config/release-signers does not list the public key of SIGNING_KEY" in done.stderr
    assert task.calls == []


@pytest.mark.parametrize(("passphrase", "name"), [("secret", "file"), ("", "missing"), ("", "file")])
def test_failed_signature_leaves_nothing(passphrase: str, name: str, tmp_path: Path) -> None:
    """If the key has a passphrase or is not listed, or a file is missing, no hashes are left unsigned."""
    key, folder = tmp_path / "key", tmp_path / "final"
    folder.mkdir()
    (folder / "file").touch()
    subprocess.run([SSH_KEYGEN, "-q", "-t", "ed25519", "-N", passphrase, "-f", key], check=True)
    done = subprocess.run(
        [ROOT / "scripts" / "sign", folder, name],
        env={**os.environ, "SIGNING_KEY": key.read_text()},
        start_new_session=True,  # ssh-keygen can't ask for the passphrase
        check=False,
    )
    assert done.returncode == 1
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_committed_signers_are_readable() -> None:
    """Each line of the list of signers is a comment, or a key for the releases only."""
    lines = (ROOT / "config" / "release-signers").read_text().splitlines()
    keys = [line for line in lines if line and not line.startswith("#")]
    assert [key for key in keys if not key.startswith(f'{SIGNER} namespaces="{SIGNER}" ')] == []
