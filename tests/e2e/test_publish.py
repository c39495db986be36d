"""The task that publishes a final release, and the signature with which operators verify it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
from typing import TYPE_CHECKING

import pytest

from tests.e2e.publication import NAME, OFFLINE, ROOT, SECRET, checked, create_key

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.publication import Pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SCHEMA = "properties_schema.json"


def verify(pipeline: Pipeline, final: Path) -> subprocess.CompletedProcess[str]:
    """Verify a release with the commands that SECURITY.md has for operators."""
    page = (ROOT / "SECURITY.md").read_text()
    commands = page.partition("## Verify a release")[2].split("```")[1].removeprefix("sh\n")
    signers = str(pipeline.folder / "source" / "config" / "release-signers")
    return pipeline.run(
        final, "/bin/sh", "-e", "-c", commands.replace("config/release-signers", signers), LC_ALL="C.UTF-8"
    )


@pytest.fixture
def attempt(pipeline: Pipeline, tmp_path: Path) -> Path:
    """Return the folder of another build of the pipeline, before anything was published in it."""
    (tmp_path / "final").mkdir()
    (tmp_path / "candidate").symlink_to(pipeline.folder / "candidate")
    pipeline.git(tmp_path, "clone", "--quiet", pipeline.folder / "source", tmp_path / "source")
    return tmp_path


def rewrite(pipeline: Pipeline, attempt: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Give a build of the pipeline the candidate with one changed file."""
    (attempt / "candidate").unlink()
    (attempt / "candidate").mkdir()
    tarball = "candidate/bosh-aws-cpi.tgz"
    changed = []
    with tarfile.open(pipeline.folder / tarball) as given, tarfile.open(attempt / tarball, "w:gz") as written:
        for entry in given:
            opened = given.extractfile(entry)
            content = opened.read() if opened else b""
            if entry.name == name:
                content = change(content)
                entry.size = len(content)
                changed.append(name)
            written.addfile(entry, io.BytesIO(content))
    assert changed == [name]


@pytest.fixture
def refused(pipeline: Pipeline, attempt: Path) -> Callable[..., str]:
    """Return a function that runs the task, which must fail before it uploads; it returns the errors."""

    def run(**environment: str | None) -> str:
        uploaded = sorted(pipeline.blobstore.iterdir())
        done = pipeline.publish(attempt, **environment)
        assert done.returncode != 0, done.stdout
        assert sorted(pipeline.blobstore.iterdir()) == uploaded
        assert list((attempt / "final").iterdir()) == []
        return done.stderr

    return run


def test_release_is_signed(pipeline: Pipeline) -> None:
    """The tarball and the list of components are signed, and operators can verify both."""
    files = [pipeline.tarball.name, f"{NAME}-{pipeline.version}.cdx.json"]
    left = {path.name for path in pipeline.final.iterdir()}
    assert left == {*files, "SHA256SUMS", "SHA256SUMS.sig", "notes.md", "tag"}
    verified = checked(verify(pipeline, pipeline.final))
    assert verified.stdout.startswith(f'Good "{NAME}" signature')
    assert verified.stdout.splitlines()[1:] == [f"{file}: OK" for file in files]


def test_properties_schema(pipeline: Pipeline) -> None:
    """The bosh CLI packs the schema of the job's properties, where the Director looks for it."""
    with tarfile.open(pipeline.tarball) as release:
        job = release.extractfile(next(each for each in release if each.name.endswith("jobs/aws_cpi.tgz")))
        with tarfile.open(fileobj=job) as packed:
            schema = packed.extractfile(next(each for each in packed if each.name.endswith(SCHEMA)))
            assert schema is not None
            assert schema.read() == (ROOT / "jobs/aws_cpi" / SCHEMA).read_bytes()


@pytest.mark.parametrize("pattern", ["*.tgz", "*.cdx.json", "SHA256SUMS"])
def test_changed_file_is_noticed(pattern: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """A file that was changed after it was signed does not verify."""
    copied = shutil.copytree(pipeline.final, tmp_path / "final")
    (file,) = copied.glob(pattern)
    with file.open("a") as opened:
        opened.write("more")
    assert verify(pipeline, copied).returncode != 0


def test_notes(pipeline: Pipeline) -> None:
    """The notes are the version's section of CHANGELOG.md alone, and the tarball's SHA-256."""
    notes = (pipeline.final / "notes.md").read_text()
    section = (ROOT / "CHANGELOG.md").read_text().partition(f"\n## [{pipeline.version}]")[2]
    text = section.partition("\n## [")[0].partition("\n")[2]
    digest = hashlib.sha256(pipeline.tarball.read_bytes()).hexdigest()
    assert notes == f"{text}\nSHA-256 of the tarball: {digest}\n"
    assert text.strip()


def test_list_of_components(pipeline: Pipeline) -> None:
    """The list is that of the version, with the time of the tested commit."""
    listed = json.loads((pipeline.final / f"{NAME}-{pipeline.version}.cdx.json").read_text())["metadata"]
    committed = pipeline.git(
        *(pipeline.folder / "source", "log", "-1", "--format=%cd"),
        *("--date=format-local:%Y-%m-%dT%H:%M:%S+00:00",),
    )
    assert listed["component"]["version"] == pipeline.version
    assert listed["timestamp"] == committed.strip()


def test_date_of_publication_is_recorded(pipeline: Pipeline) -> None:
    """The commit that records the release dates its section of CHANGELOG.md if it has no date."""
    shown = pipeline.git(pipeline.folder / "published", "show", "--format=%cs", "HEAD:CHANGELOG.md")
    (heading,) = [line for line in shown.splitlines() if line.startswith(f"## [{pipeline.version}]")]
    date = pipeline.git(pipeline.folder / "published", "log", "-1", "--format=%cs").strip()
    assert heading == f"## [{pipeline.version}] - {date}"


def test_secrets_are_deleted(pipeline: Pipeline) -> None:
    """Neither the key nor the blobstore's credentials stay on disk, or reach a commit."""
    secrets = [pipeline.signing_key.splitlines()[2].encode(), SECRET.encode()]
    folders = [pipeline.folder / name for name in ("published", "final", "tmp", "home")]
    ours = [
        path for each in folders for path in each.rglob("*") if path.is_file() and "blobs" not in path.parts
    ]
    assert [path for path in ours if any(secret in path.read_bytes() for secret in secrets)] == []
    history = pipeline.git(pipeline.folder / "published", "log", "--all", "--patch")
    assert not any(secret.decode() in history for secret in secrets)
    assert not (pipeline.folder / "published" / "config" / "private.yml").exists()


def test_pushed_release_is_built_from_the_blobstore(pipeline: Pipeline, tmp_path: Path) -> None:
    """A clone of the tag builds the same tarball, byte for byte, without network and without blobs."""
    clone = pipeline.clone(tmp_path / "clone", "--branch", f"v{pipeline.version}")
    shutil.rmtree(clone / "blobs")
    manifest = f"releases/{NAME}/{NAME}-{pipeline.version}.yml"
    tarball = tmp_path / "built.tgz"
    command = ("sh", "scripts/create-release", manifest, f"--tarball={tarball}")
    checked(pipeline.run(clone, *OFFLINE, *command, HOME=str(tmp_path)))
    assert tarball.read_bytes() == pipeline.tarball.read_bytes()


REFUSED = {
    "no key": (None, "SIGNING_KEY"),
    "an empty key": ("", "SIGNING_KEY"),
    "no key at all": ("something", "ssh-keygen can't sign with SIGNING_KEY"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_without_key_nothing_is_uploaded(
    given: str | None, message: str, refused: Callable[..., str]
) -> None:
    """Without a key that can sign, nothing is uploaded."""
    assert message in refused(SIGNING_KEY=given)


def test_make_gets_no_secret(refused: Callable[..., str], pipeline: Pipeline, tmp_path: Path) -> None:
    """The programs of others that fetch the blobs see neither the key nor the blobstore's credentials."""
    program = tmp_path / "programs" / "make"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nenv >"$0.saw"\n[ ! -e config/private.yml ] && echo stopped >&2\nexit 1\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    assert refused(PATH=path).endswith("stopped\n")
    saw = program.with_suffix(".saw").read_text()
    assert [secret for secret in (SECRET, *pipeline.signing_key.splitlines()[1:3]) if secret in saw] == []
    assert "GIT_USER_NAME" in saw


def test_unlisted_key_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    """A key whose signature can't be verified is refused before anything is uploaded."""
    said = refused(SIGNING_KEY=create_key(tmp_path / "other")[0])
    assert "config/release-signers does not list the public key of SIGNING_KEY" in said


CHANGES = {
    "an unreleased change": (
        *("CHANGELOG.md", "# Changelog\n", "# Changelog\n\n## [Unreleased]\n\n- More.\n"),
        "CHANGELOG.md lists changes above version",
    ),
    "no version": ("CHANGELOG.md", "\n## [", "\n## Version [", "CHANGELOG.md has no section for a version"),
    "two versions": ("pyproject.toml", '\nversion = "', '\nversion = "9', "and pyproject.toml another one"),
    "no blobstore": ("config/final.yml", "blobstore:", "other:", "config/final.yml names no blobstore"),
}


@pytest.mark.parametrize(("file", "old", "new", "message"), CHANGES.values(), ids=CHANGES)
def test_unprepared_version_is_refused(
    *,
    file: str,
    old: str,
    new: str,
    message: str,
    refused: Callable[..., str],
    pipeline: Pipeline,
    attempt: Path,
) -> None:
    """A commit that does not say everything about its version is not published."""
    path = attempt / "source" / file
    path.write_text(path.read_text().replace(old, new))
    pipeline.commit(attempt / "source", "Not ready")
    assert message in refused()


def test_published_version_is_refused(refused: Callable[..., str], pipeline: Pipeline, attempt: Path) -> None:
    """A version is published once."""
    pipeline.git(attempt / "source", "pull", "--quiet", pipeline.remote, "main")
    assert f"version {pipeline.version} is already published" in refused()


def test_foreign_candidate_is_refused(refused: Callable[..., str], attempt: Path, pipeline: Pipeline) -> None:
    """A candidate that names anything that its commit does not give is refused; the error shows it."""
    rewrite(pipeline, attempt, "release.MF", lambda content: content.replace(b"sha256:", b"sha256:0"))
    said = refused()
    assert "the candidate differs from a build of its commit" in said
    assert "< commit_hash" not in said, "only what differs is shown"
    assert "sha256:0" in said


def test_damaged_candidate_is_refused(refused: Callable[..., str], attempt: Path, pipeline: Pipeline) -> None:
    """A candidate with a part that is not the one that its manifest names is not published."""
    rewrite(pipeline, attempt, "jobs/aws_cpi.tgz", lambda content: content + b"more")
    said = refused()
    assert "the candidate differs from a build of its commit" in said
    assert "< jobs/aws_cpi.tgz" in said
    assert "packages/" not in said, "only what differs is shown"


def test_committed_signers_are_readable() -> None:
    """Each line of the list of signers is a comment, or a key for the releases only."""
    lines = (ROOT / "config" / "release-signers").read_text().splitlines()
    keys = [line for line in lines if line and not line.startswith("#")]
    assert [key for key in keys if not key.startswith(f'{NAME} namespaces="{NAME}" ')] == []
