"""The order of the versions of one release name, by which BOSH finds the latest one."""

from pathlib import Path

import yaml

from bosh_release import sbom
from testbed.bosh_cli import Bosh
from tests.e2e.publication import NAME

OF_RUBY = ("99", "105.0.1", "107.3.2")
"""Versions of the Ruby release, the newest among them (its tags, in July 2026)."""


def test_latest_version(bosh: Bosh, tmp_path: Path) -> None:
    """Among the Ruby release's versions, the CLI takes this release's for the latest.

    A new dev version continues the latest one (bosh-cli, releasedir/fs_release_dir.go).
    """
    version = sbom.project()["version"]
    builds = {f"build-{each}": {"version": each} for each in (version, *OF_RUBY)}
    files = {
        "config/final.yml": {"name": NAME},
        "config/blobs.yml": {},
        f"releases/{NAME}/index.yml": {"builds": builds, "format-version": "2"},
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content))
    for name in ("jobs", "packages", "src"):
        (tmp_path / name).mkdir()
    bosh.run("create-release", "--force", "--dir", tmp_path).ok()
    made = yaml.safe_load((tmp_path / "dev_releases" / NAME / "index.yml").read_text())["builds"]
    assert [build["version"] for build in made.values()] == [f"{version}+dev.1"]
