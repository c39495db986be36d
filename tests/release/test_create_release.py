"""The script that builds the release, with a stand-in for the bosh CLI."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.release

SCRIPT = Path(__file__).parents[2] / "scripts" / "create-release"
ASKING = "#!/bin/sh\nfor name in user.test core.abbrev; do git config --get $name; done\n"


@pytest.mark.parametrize("given", [{}, {"GIT_CONFIG_COUNT": "0"}], ids=["none", "no more"])
def test_whole_commit(given: dict[str, str], tmp_path: Path) -> None:
    """Git names commits in full."""
    assert asked(given, tmp_path) == ["40"]


def test_settings_of_git_stay(tmp_path: Path) -> None:
    """Settings in git's variables still count, such as one by which git trusts a folder."""
    given = {"GIT_CONFIG_COUNT": "2"}
    given |= {"GIT_CONFIG_KEY_0": "user.test", "GIT_CONFIG_VALUE_0": "mine"}
    given |= {"GIT_CONFIG_KEY_1": "core.abbrev", "GIT_CONFIG_VALUE_1": "12"}
    assert asked(given, tmp_path) == ["mine", "40"]


REFUSED = {
    "another flavour": (["--flavour", "other"], "the flavour is 'canary'"),
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


def asked(environment: dict[str, str], folder: Path) -> list[str]:
    """Return the settings of git that the bosh CLI gets."""
    program = folder / "bosh"
    program.write_text(ASKING)
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [SCRIPT], env={**os.environ, **environment, "PATH": path}, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines()
