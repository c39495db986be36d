"""The script that builds the release, with a stand-in for the bosh CLI."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "create-release"
MARK = "src/bosh_release/python.developer-build"


@pytest.mark.parametrize(
    ("arguments", "is_marked"), [(["--force"], True), ([], False), (["--final", "--force"], False)]
)
@pytest.mark.parametrize("status", [0, 3])
def test_build_of_a_developer(arguments: list[str], is_marked: bool, status: int, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter of the test
    """A build with --force has a mark, by which the interpreter compiles fast; no mark stays."""
    root = clone(tmp_path, f"[ -e {MARK} ] && echo marked; echo $*\nexit {status}")
    (root / MARK).touch()  # of a build that was killed
    done = subprocess.run(
        [root / "scripts" / "create-release", *arguments],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = " ".join(["create-release", *arguments])
    assert done.stdout.splitlines() == [*(["marked"] if is_marked else []), said]
    assert done.returncode == status
    assert not (root / MARK).exists()


def test_end_by_a_signal(tmp_path: Path) -> None:
    """SIGTERM to the script alone ends the CLI, too, and no mark stays."""
    root = clone(tmp_path, "echo started; read line; echo went on")
    with subprocess.Popen(
        [root / "scripts" / "create-release", "--force"],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout
        assert running.stdout.readline() == "started\n"
        assert (root / MARK).exists()
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=60) == 1
        assert running.stdout.read() == "", "the CLI has the other end open as long as it runs"
    assert not (root / MARK).exists()


def test_version_of_a_canary(tmp_path: Path) -> None:
    """Each build of the canary has a version of its own: the CLI skips a version that it knows."""
    root = clone(tmp_path, "echo $*")
    for name in ("blobs", "config", "jobs/job", "packages/package"):
        (root / name).mkdir(parents=True)
    for name in ("LICENSE", "NOTICE", "config/blobs.yml", "config/final.yml", "packages/package/spec"):
        (root / name).touch()
    done = subprocess.run(
        [root / "scripts" / "create-release", "--flavour", "canary", "--tarball=x"],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    words = done.stdout.split()
    assert words[0] == "create-release"
    assert sorted(words[2:]) == ["--tarball=x", "--timestamp-version"]


REFUSED = {
    "another flavour": (["--flavour", "other"], "the flavour is 'canary'"),
    "not first": (["--force", "--flavour=canary"], "--flavour canary must come first"),
    "no tarball": (["--flavour", "canary", "--force"], "--flavour needs --tarball=FILE"),
    "a final release": (["--flavour", "canary", "--final", "--tarball=x"], "without --final"),
    "a record": (["--flavour", "canary", "releases/a/a-1.yml", "--tarball=x"], "without a record"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_a_flavour_is_not_built_with(arguments: list[str], message: str) -> None:
    """What would leave nothing, or a record of another release, is refused before anything is built."""
    done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr


def clone(folder: Path, cli: str) -> Path:
    """Lay out the script in a new folder, and a stand-in for the bosh CLI beside it; returns the folder."""
    root = folder / "clone"
    (root / "src" / "bosh_release").mkdir(parents=True)
    (root / "scripts").mkdir()
    shutil.copy(SCRIPT, root / "scripts")
    program = folder / "bosh"
    program.write_text(f"#!/bin/sh\n{cli}\n")
    program.chmod(0o755)
    return root
