"""The command that lists the tests of a module."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def covering(folder: Path, module: str) -> subprocess.CompletedProcess[str]:
    """List the tests of a module, two slow ones at most, by a record of three slow tests."""
    functions = {
        "aws/tags.py": {"<module>": ["all", "tags", "both"], "create": ["tags", "both"]},
        "aws/volumes.py": {"find": ["all", "both"], "delete": ["all"]},
        "aws/routes.py": {"<module>": ["all"]},
    }
    record = folder / "functions.json"
    record.write_text(json.dumps(functions))
    command = [sys.executable, "scripts/mutants", "--covering", module, "--functions", str(record)]
    return subprocess.run([*command, "--most", "2"], cwd=ROOT, check=False, capture_output=True, text=True)


def test_module(tmp_path: Path) -> None:
    """The unit tests come first, then slow tests that call the module: those that run least else first."""
    listed = covering(tmp_path, "src/bosh_aws_cpi/aws/tags.py").stdout.splitlines()
    assert "tests/unit/aws" in listed
    assert listed[-2:] == ["tags", "both"]
    assert all((ROOT / path).exists() for path in listed[:-2])


def test_no_module(tmp_path: Path) -> None:
    """A module that does not exist is refused."""
    ended = covering(tmp_path, "src/bosh_aws_cpi/aws/no.py")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "mutants: src/bosh_aws_cpi/aws/no.py is no module in src/bosh_aws_cpi\n"
