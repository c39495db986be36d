"""The same commit gives the same release, whoever builds it, wherever and whenever."""

import os
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.e2e.publication import NAME, OFFLINE, Pipeline, checked

pytestmark = pytest.mark.timeout(600)

LONG_AGO = 1_000_000_000
"""A time in 2001, for the files of a clone."""


@dataclass(frozen=True)
class Somebody:
    """Somebody who publishes by hand, on a machine that is set up in another way.

    Attributes:
        clone: The clone, with a commit that records the release.
        blobstore: The folder with the release's parts.
        tarball: The final release.
    """

    clone: Path
    blobstore: Path
    tarball: Path


@pytest.fixture(scope="module")
def somebody(pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Somebody:
    """Create the final release with other paths, umask, times, time zone, language and settings of tools."""
    folder = tmp_path_factory.mktemp("by hand")
    clone = folder / "a folder of somebody else" / "with" / "a much longer name"
    source = pipeline.folder / "source"
    made = Somebody(clone, folder / "blobstore", folder / "final.tgz")
    as_somebody = ("sh", "-c", 'umask 077 && exec "$@"', "sh")
    checked(pipeline.run(folder, *as_somebody, "git", "clone", "--quiet", "--no-local", source, clone))
    for name in pipeline.git(clone, "ls-files", "-z").split("\0")[:-1]:
        os.utime(clone / name, (LONG_AGO, LONG_AGO))
    pipeline.git(clone, "config", "core.abbrev", "12")
    options = {"blobstore": {"options": {"blobstore_path": str(made.blobstore)}}}
    (clone / "config" / "private.yml").write_text(yaml.safe_dump(options))
    build = ("sh", "scripts/create-release", "--final", f"--version={pipeline.version}")
    checked(
        pipeline.run(
            *(clone, *as_somebody, *build, f"--tarball={made.tarball}"),
            HOME=str(folder),
            TZ="Asia/Tokyo",
            LC_ALL="C.UTF-8",
            GZIP="-1",
            TAR_OPTIONS="--format=posix",
        )
    )
    pipeline.commit(clone, "Publish")
    return made


def manifest_of(tarball: Path) -> str:
    """Return a release's own list of its parts."""
    with tarfile.open(tarball) as archive:
        file = archive.extractfile("release.MF")
        assert file
        return file.read().decode()


def digests(tarball: Path) -> dict[str, tuple[str, str]]:
    """Return fingerprint and digest of each part of a release."""
    manifest = yaml.safe_load(manifest_of(tarball))
    licence = {**manifest["license"], "name": "license"}
    parts = [licence, *manifest["jobs"], *manifest["packages"]]
    return {part["name"]: (part["fingerprint"], part["sha1"]) for part in parts}


def test_clones_give_the_same_bytes(pipeline: Pipeline, somebody: Somebody, tmp_path: Path) -> None:
    """Two builds of one commit are equal, byte for byte, and so are the parts of the published release."""
    clone = pipeline.clone(tmp_path / "a")
    pipeline.git(clone, "checkout", "--quiet", yaml.safe_load(manifest_of(pipeline.tarball))["commit_hash"])
    tarball = tmp_path / "built.tgz"
    build = ("sh", "scripts/create-release", f"--version={pipeline.version}", f"--tarball={tarball}")
    checked(pipeline.run(clone, *build, HOME=str(tmp_path)))
    assert tarball.read_bytes() == somebody.tarball.read_bytes()
    recorded = pipeline.folder / "published" / "releases" / NAME / f"{NAME}-{pipeline.version}.yml"
    assert manifest_of(tarball) == recorded.read_text()


def test_final_release_by_hand(pipeline: Pipeline, somebody: Somebody, tmp_path: Path) -> None:
    """From the blobstore of `create-release --final`, another clone builds the same release, offline."""
    clone = tmp_path / "other"
    pipeline.git(tmp_path, "clone", "--quiet", somebody.clone, clone)
    (clone / "config" / "private.yml").write_text((somebody.clone / "config" / "private.yml").read_text())
    tarball = tmp_path / "built.tgz"
    manifest = f"releases/{NAME}/{NAME}-{pipeline.version}.yml"
    build = ("sh", "scripts/create-release", manifest, f"--tarball={tarball}")
    checked(pipeline.run(clone, *OFFLINE, *build, HOME=str(tmp_path)))
    assert digests(tarball) == digests(somebody.tarball)
    assert tarball.read_bytes() == pipeline.tarball.read_bytes()
