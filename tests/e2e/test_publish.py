"""The task that publishes a final release, and the signature with which operators verify it."""

import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.e2e.publication import GIT, NAME, OFFLINE, ROOT, SECRET, Pipeline, checked, create_key

pytestmark = pytest.mark.timeout(600)


def verify(pipeline: Pipeline, final: Path) -> subprocess.CompletedProcess[str]:
    """Verify a release with the commands that SECURITY.md has for operators."""
    page = (ROOT / "SECURITY.md").read_text()
    commands = page.partition("## Verify a release")[2].split("```")[1].removeprefix("sh\n")
    signers = shlex.quote(str(pipeline.recorded / "config" / "release-signers"))
    return pipeline.run(
        final, "/bin/sh", "-e", "-c", commands.replace("config/release-signers", signers), LC_ALL="C.UTF-8"
    )


@pytest.fixture(scope="module")
def with_lfs(folder: Path) -> Pipeline:
    """Publish the working copy with Git LFS."""
    made = Pipeline(folder / "with LFS", uses_lfs=True)
    made.build_candidate()
    checked(made.publish(PRIVATE_YML=""))
    made.push()
    return made


@pytest.fixture(params=["pipeline", "with_lfs"])
def published(request: pytest.FixtureRequest) -> Pipeline:
    """Return a published release: its blobs are in a folder, or in the repository by Git LFS."""
    made: Pipeline = request.getfixturevalue(request.param)
    return made


def pull_blobs(published: Pipeline, clone: Path) -> None:
    """Get the blobs of a clone, if they are in the repository."""
    if (clone / "final_blobs").exists():
        published.git(clone, "lfs", "install", "--local", "--skip-repo")
        published.git(clone, "lfs", "pull")


def build_from_record(published: Pipeline, remote: Path, tarball: Path, folder: Path, *options: str) -> None:
    """Check that a clone gives a final release again, byte for byte, without network and without blobs."""
    clone, built = folder / "clone", folder / "built.tgz"
    published.git(folder, "clone", "--quiet", *options, remote, clone)
    shutil.rmtree(clone / "blobs")
    pull_blobs(published, clone)
    record = f"releases/{NAME}/{tarball.stem}.yml"
    command = ("sh", "scripts/create-release", record, f"--tarball={built}")
    checked(published.run(clone, *OFFLINE, *command, HOME=str(folder)))
    assert built.read_bytes() == tarball.read_bytes()


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


@pytest.mark.parametrize("pattern", ["*.tgz", "SHA256SUMS"])
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


def test_date_of_publication_is_recorded(pipeline: Pipeline) -> None:
    """The commit that records the release dates its section of CHANGELOG.md if it has no date."""
    shown = pipeline.git(pipeline.folder / "published", "show", "--format=%cs", "HEAD:CHANGELOG.md")
    (heading,) = [line for line in shown.splitlines() if line.startswith(f"## [{pipeline.version}]")]
    date = pipeline.git(pipeline.folder / "published", "log", "-1", "--format=%cs").strip()
    assert heading == f"## [{pipeline.version}] - {date}"


def test_secrets_are_deleted(pipeline: Pipeline) -> None:
    """Neither the key nor the blobstore's credentials stay on disk, or reach a commit."""
    secrets = [pipeline.signing_key.splitlines()[2].encode(), SECRET.encode()]
    folders = [pipeline.recorded, *(pipeline.folder / name for name in ("final", "tmp", "home"))]
    ours = [
        path for each in folders for path in each.rglob("*") if path.is_file() and "blobs" not in path.parts
    ]
    assert [path for path in ours if any(secret in path.read_bytes() for secret in secrets)] == []
    history = pipeline.git(pipeline.recorded, "log", "--all", "--patch")
    assert not any(secret.decode() in history for secret in secrets)
    assert not (pipeline.recorded / "config" / "private.yml").exists()


def test_pushed_release_is_built_from_the_blobstore(published: Pipeline, tmp_path: Path) -> None:
    """A clone of the tag builds the same tarball, byte for byte, without network and without blobs."""
    build_from_record(
        published, published.remote, published.tarball, tmp_path, "--branch", f"v{published.version}"
    )


def test_release_can_be_listed(with_lfs: Pipeline, tmp_path: Path) -> None:
    """The bosh CLI alone builds each final release of the default branch, as the index bosh.io does."""
    clone = with_lfs.clone(tmp_path / "clone")
    pull_blobs(with_lfs, clone)
    records = [path for path in clone.glob("releases/*/*.yml") if path.name != "index.yml"]
    assert [path.name for path in records] == [f"{NAME}-{with_lfs.version}.yml"]
    for record in records:
        build = ("bosh", "create-release", record, "--tarball", tmp_path / "release", "--json")
        done = checked(with_lfs.run(clone, *OFFLINE, *build, HOME=str(tmp_path)))
        row = json.loads(done.stdout)["Tables"][0]["Rows"][0]
        assert (row["name"], row["version"]) == (NAME, with_lfs.version)
    assert {"LICENSE", "NOTICE", ".final_builds"} <= {path.name for path in clone.iterdir()}


def test_git_has_only_pointers(with_lfs: Pipeline) -> None:
    """With Git LFS, git itself has no blob."""
    listed = with_lfs.git(with_lfs.remote, "ls-tree", "-r", "--long", "main", "final_blobs/")
    sizes = [int(line.split()[3]) for line in listed.splitlines()]
    assert len(sizes) > 10
    assert max(sizes) < 200
    assert (with_lfs.folder / "hooks" / "pre-push").exists(), "the hook that uploads for whoever pushes"


REFUSED = {
    "no key": (None, "SIGNING_KEY"),
    "no key at all": ("something", "ssh-keygen can't sign with SIGNING_KEY"),
}


def test_without_git_lfs_nothing_is_uploaded(
    refused: Callable[..., str], pipeline: Pipeline, attempt: Path, tmp_path: Path
) -> None:
    """Where git would commit the blobs themselves, nothing is published."""
    final = {"name": NAME, "blobstore": {"provider": "local", "options": {"blobstore_path": "final_blobs"}}}
    (attempt / "source" / "config" / "final.yml").write_text(yaml.safe_dump(final))
    pipeline.commit(attempt / "source", "Git LFS")
    programs = tmp_path / "programs"
    programs.mkdir()
    for program in Path(GIT).parent.iterdir():
        if program.name != "git-lfs":
            (programs / program.name).symlink_to(program)
    assert "git-lfs is missing" in refused(PATH=str(programs), PRIVATE_YML=None)


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
