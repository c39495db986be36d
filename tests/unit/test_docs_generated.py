"""The tables of the pages that scripts/docs writes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARK = "<!-- generated: "


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


def test_committed_tables() -> None:
    """The committed tables are those that the code gives."""
    assert run(ROOT, "--check") == (0, "")


@pytest.mark.parametrize(
    ("page", "row"),
    [
        ("docs/configuration.md", "| `aws.region` | "),
        ("docs/job.md", "| `nats.port` | "),
        ("docs/errors.md", "| `VolumeInUse` | "),
        ("docs/cloud-properties.md", "| `use_root_disk` | "),
        ("docs/retries.md", "| an AMI is gone | "),
        ("jobs/aws_cpi/spec", '    description: "The region'),
    ],
)
def test_stale_table(copy: Path, page: str, row: str) -> None:
    """A page with another row is named, and written as it should be."""
    path = copy / page
    before = path.read_text()
    path.write_text(before.replace(row, f"{row}more"))
    assert path.read_text() != before
    status, said = run(copy, "--check")
    assert (status, f"{page} is stale: run `make docs`" in said) == (1, True)
    assert run(copy) == (0, "")
    assert path.read_text() == before


def test_missing_mark(copy: Path) -> None:
    """A page without the mark of its table is refused."""
    page = copy / "docs/errors.md"
    page.write_text(page.read_text().replace(MARK, "<!-- "))
    status, said = run(copy, "--check")
    assert status == 1
    assert "error-codes" in said


def test_marks() -> None:
    """Every page with a mark is one that the script writes."""
    script = (ROOT / "scripts/docs").read_text()
    marked = [path.name for path in (ROOT / "docs").glob("*.md") if MARK in path.read_text()]
    assert marked
    assert [name for name in marked if f"docs/{name}" not in script] == []
