"""The release before this one: its own CPI and job, with the interpreter and the libraries of this one.

So the CLI replaces what an upgrade always replaces, and no test waits for another CPython to be compiled.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from testbed.job import PYTHON
from tests.e2e.publication import GIT, ROOT, copy_sources

if TYPE_CHECKING:
    from pathlib import Path

    from testbed.bosh_cli import Bosh

COMMIT = "4e72c32a70d905b4b7cbf8c091f0cff27a61aebf"
"""The state before 200.0.0 was prepared. Once 200.0.0 is published, its tag belongs here."""
VERSION = "0.9.0"
OWN = (
    *("jobs", "packages/bosh_aws_cpi", "src/bosh_aws_cpi"),
    *("src/bosh_release/install.py", "src/bosh_release/start.py", "src/bosh_release/stemcell-copy"),
)
"""What is taken from that state; all else is this working copy's."""
SOURCES = ("LICENSE", "NOTICE", "blobs", "config", "jobs", "packages", "src")


def write_source(folder: Path) -> Path:
    """Write the source of the release before.

    An export or a shallow clone lacks its commit. Then it is this working copy's with another comment: the
    CLI still replaces the package and the installed job, by others that behave the same.

    Args:
        folder: The folder to create.
    """
    copy_sources(SOURCES, folder)
    archive = folder.with_suffix(".tar")
    command = [GIT, "archive", f"--output={archive}", COMMIT, "--", *OWN]
    if subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0:
        for name in OWN:
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
        shutil.unpack_archive(archive, folder, filter="data")
        # The interpreter's package had another name then.
        for path in [*(folder / "jobs").rglob("*"), *(folder / "packages" / "bosh_aws_cpi").iterdir()]:
            if path.is_file():
                path.write_text(re.sub(r"(?<!aws-cpi-)\bpython-3\.13\b", PYTHON, path.read_text()))
    with (folder / "src" / "bosh_aws_cpi" / "__init__.py").open("a") as module:
        module.write("\n# The release before.\n")
    return folder


def build(bosh: Bosh, source: Path) -> Path:
    """Build the release before from its source; returns its tarball."""
    tarball = source.with_suffix(".tgz")
    bosh.run("create-release", "--force", "--version", VERSION, "--dir", source, "--tarball", tarball).ok()
    return tarball
