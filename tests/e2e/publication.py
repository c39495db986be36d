"""The pipeline's last jobs, as the pipeline runs them: the candidate is built, and then published.

Everything is real but the remote and the blobstore, which are folders, and the key, which is a new one.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import yaml

from testbed.bosh_cli import TOOLS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    *(
        ".gitattributes",
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "NOTICE",
        "SECURITY.md",
        "hatch_build.py",
        "pyproject.toml",
    ),
    *("ci", "config", "jobs", "packages", "requirements", "scripts", "src"),
)
"""What the tasks need of the working copy; not its earlier final releases, whose blobstore is elsewhere."""
NAME = "bosh-aws-cpi"
GIT = shutil.which("git") or "git"
SSH_KEYGEN = shutil.which("ssh-keygen") or "ssh-keygen"
OFFLINE = ("unshare", "--user", "--map-root-user", "--net")
"""Starts a program without network."""
SECRET = "the-password-of-the-blobstore"
PREPARED = """#!/bin/sh
set -eu
[ -d blobs ] || cp -al {root}/blobs . 2>/dev/null || cp -a {root}/blobs .
[ -d .venv ] || {python} -I -m venv --without-pip .venv
printf '%s\\n' "$PWD/src" {packages} >.venv/{purelib}/here.pth
for each in dev project; do sed "s|^{root}$|$(pwd -P)|" {root}/.venv/$each.done >.venv/$each.done; done
"""
"""A hook of git, by which each clone has this working copy's blobs and Python packages without a download."""


class Pipeline:
    """The folder of a build of the pipeline."""

    def __init__(self, folder: Path, *, uses_lfs: bool = False) -> None:
        """Create a repository of the working copy's files, and a remote, a blobstore and a key for it.

        Args:
            folder: A new folder.
            uses_lfs: Whether the blobstore is the repository itself.
        """
        self.folder = folder
        self.remote = folder / "remote.git"
        self.blobstore = folder / "blobstore"
        self.final = folder / "final"
        self.signing_key, public_key = create_key(folder / "key")
        self.recorded = folder / "published"
        """The clone with the commits that record the release."""
        for each in ("home", "tmp", "candidate", "final"):
            (folder / each).mkdir()
        self._write_hook(folder / "hooks" / "post-checkout")
        source = folder / "first"
        copy_sources(SOURCES, source)
        self._unpublish(source, public_key, "final_blobs" if uses_lfs else str(self.blobstore))
        self.git(source, "init", "--quiet", "--initial-branch=main")
        self.commit(source, "All")
        self.git(folder, "clone", "--quiet", "--bare", source, self.remote)
        self.clone("source")

    @property
    def version(self) -> str:
        """The version that was published."""
        return (self.final / "tag").read_text().strip().removeprefix("v")

    @property
    def tarball(self) -> Path:
        """The final release."""
        return self.final / f"{NAME}-{self.version}.tgz"

    def clone(self, name: str | Path, *options: str) -> Path:
        """Clone the remote into a folder below the pipeline's; returns it."""
        self.git(self.folder, "clone", "--quiet", *options, self.remote, name)
        return self.folder / name

    def commit(self, folder: Path, message: str) -> None:
        """Commit all changes of a clone."""
        self.git(folder, "add", ".")
        self.git(folder, "commit", "--quiet", "--message", message)

    def git(self, folder: Path, *arguments: str | Path) -> str:
        """Run git, which must succeed; returns its output."""
        return checked(self.run(folder, GIT, *arguments)).stdout

    def run(
        self, folder: Path, *command: str | Path, **environment: str | None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as the pipeline would, with changed variables; None removes one."""
        settings = {
            "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PIP_NO_INDEX": "1",
            **environment,
        }
        known = {name: value for name, value in settings.items() if value is not None}
        return subprocess.run(
            command,
            cwd=folder,
            env=known,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def build_candidate(self, folder: Path | None = None) -> None:
        """Run the task `release`, in the folder of another build if it is given."""
        checked(self.run(folder or self.folder, "sh", "source/ci/tasks/release.sh"))

    def publish(
        self, folder: Path | None = None, **environment: str | None
    ) -> subprocess.CompletedProcess[str]:
        """Run the task `publish`.

        Args:
            folder: The folder of another build, with its inputs and outputs.
            environment: Parameters that differ, or None for those that are missing.
        """
        parameters: dict[str, str | None] = {
            "PRIVATE_YML": f"# {SECRET}\nblobstore: {{options: {{}}}}",
            "SIGNING_KEY": self.signing_key,
            "GIT_USER_NAME": "A",
            "GIT_USER_EMAIL": "a@example.com",
            **environment,
        }
        return self.run(folder or self.folder, "sh", "source/ci/tasks/publish.sh", **parameters)

    def push(self) -> None:
        """Push the commits and the tag, as the pipeline does with what the task left."""
        tag = (self.final / "tag").read_text().strip()
        published = self.folder / "published"
        self.git(published, "tag", tag)
        self.git(published, "remote", "add", "push-target", self.remote)  # Git LFS needs a name
        self.git(published, "push", "--quiet", "push-target", "HEAD:main", tag)

    def _write_hook(self, path: Path) -> None:
        path.parent.mkdir()
        purelib = sysconfig.get_path("purelib")
        path.write_text(
            PREPARED.format(
                root=shlex.quote(str(ROOT)),
                python=shlex.quote(sys.executable),
                packages=shlex.quote(purelib),
                purelib=Path(purelib).relative_to(sys.prefix),
            )
        )
        path.chmod(0o755)
        (self.folder / "gitconfig").write_text(
            f"[core]\nhooksPath = {path.parent}\n[user]\nname = A\nemail = a@example.com\n"
            "[advice]\ndetachedHead = false\n"
        )

    def _unpublish(self, source: Path, key: str, blobstore: str) -> None:
        """Give the repository a blobstore and a signer of its own; nothing is published."""
        config = source / "config"
        final = {"name": NAME, "blobstore": {"provider": "local", "options": {"blobstore_path": blobstore}}}
        (config / "final.yml").write_text(yaml.safe_dump(final))
        (config / "release-signers").write_text(f'{NAME} namespaces="{NAME}" {key}')
        blobs = yaml.safe_load((config / "blobs.yml").read_text())
        for blob in blobs.values():
            blob.pop("object_id", None)
        (config / "blobs.yml").write_text(yaml.safe_dump(blobs))


def copy_sources(names: Iterable[str], folder: Path) -> None:
    """Copy files and folders of this working copy into a new folder."""
    folder.mkdir()
    for name in names:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)


def create_key(file: Path) -> tuple[str, str]:
    """Create a signing key; returns its private and its public part, and leaves no file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([SSH_KEYGEN, "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
    public = file.with_suffix(".pub")
    parts = file.read_text(), public.read_text()
    file.unlink()
    public.unlink()
    return parts


def checked(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Return a run that must have succeeded."""
    assert done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}"
    return done
