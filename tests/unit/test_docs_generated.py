"""The tables of the pages that scripts/docs writes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cloud import ROOT


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with the script and all that it writes."""
    for name in ("docs", "jobs", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def run(root: Path, *arguments: str) -> tuple[int, str]:
    """Run the script of a folder as a person does; return its status and what it says."""
    command = [sys.executable, str(root / "scripts/docs"), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stderr


STALE = {
    "docs/configuration.md": "| `aws.region` | ",
    "docs/job.md": "| `nats.port` | ",
    "docs/errors.md": "| `VolumeInUse` | ",
    "docs/cloud-properties.md": "| `use_root_disk` | ",
    "docs/permissions.md": "| every deployment | ",
    "docs/retries.md": "| an AMI is gone | ",
    "docs/licences.md": "| Python-2.0.1 | ",
    "jobs/aws_cpi/spec": '    description: "AWS region',
}
"""A row of each page, to which something is added."""


def test_tables(copy: Path) -> None:
    """The committed tables are those of the code; each page with another row is named, and written anew."""
    before = {page: (copy / page).read_text() for page in STALE}
    for page, row in STALE.items():
        (copy / page).write_text(before[page].replace(row, f"{row}more"))
    status, said = run(copy, "--check")
    assert status == 1
    assert sorted(said.splitlines()) == sorted(f"{page} is stale: run `make docs`" for page in STALE)
    assert run(copy) == (0, "")
    assert [page for page in STALE if (copy / page).read_text() != before[page]] == []
