"""The built-in table of instance types, and the script that makes it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import ROOT

SCRIPT = ROOT / "scripts/instance_types"


def run(*arguments: object, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    """Run the script as a person does."""
    command = [sys.executable, "-I", str(script), *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def entry(name: str, **changes: object) -> dict[str, Any]:
    """A type as EC2 describes it, as far as the table needs it."""
    return {
        "InstanceType": name,
        "BurstablePerformanceSupported": False,
        "EbsInfo": {
            "EbsOptimizedSupport": "default",
            "NvmeSupport": "required",
            "MaximumEbsAttachments": 27,
        },
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 8192},
        **changes,
    }


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The script in a folder of its own, where it may write."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "src/bosh_aws_cpi/plan").mkdir(parents=True)
    return Path(shutil.copy(SCRIPT, tmp_path / "scripts"))


def answer(folder: Path, name: str, *entries: object) -> Path:
    """Write an answer of EC2 to a file."""
    path = folder / name
    path.write_text(json.dumps({"InstanceTypes": entries}))
    return path


def test_committed_table() -> None:
    """The table is what the script makes of moto's collection; after an update of moto it is made anew."""
    result = run("--check")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_files(copy: Path, tmp_path: Path) -> None:
    """A table is made from the answers of several regions; of two entries for a type the last counts."""
    old = entry("a1.large", BurstablePerformanceSupported=True)
    metal = entry("z1.metal", BareMetal=True)
    xen = [entry(name, Hypervisor="xen") for name in ("t2.nano", "t20.nano")]
    first = answer(tmp_path, "east.json", entry("z1.large", Hypervisor="nitro"), metal, old, *xen)
    second = answer(
        tmp_path,
        "west.json",
        entry(
            "a1.large",
            ProcessorInfo={"SupportedArchitectures": ["x86_64", "i386"]},
            EbsInfo={
                "EbsOptimizedSupport": "unsupported",
                "NvmeSupport": "supported",
                "MaximumEbsAttachments": 39,
            },
            VCpuInfo={"DefaultVCpus": 4},
            MemoryInfo={"SizeInMiB": 16384},
            InstanceStorageInfo={
                "NvmeSupport": "required",
                "Disks": [{"Count": 2, "SizeInGB": 80}, {"Count": 1, "SizeInGB": 40}],
            },
        ),
    )
    assert run(first, second, script=copy).returncode == 0
    printed = run("--print", script=copy)
    assert printed.stderr == ""
    lines = [" ".join(line.split()) for line in printed.stdout.splitlines()[1:]]
    assert "p3.2xlarge x86_64 no default no 0 0 no 26 1 - -" in lines
    assert [line for line in lines if re.match("a1|t2|z1|Source", line)] == [
        "a1.large i386,x86_64 no unsupported no 3 80 yes 39 1 4 16384",
        "t2.nano x86_64 yes default no 0 0 no 27 1 2 8192",
        "t20.nano x86_64 yes default no 0 0 no 27 1 - -",
        "z1.large x86_64 yes default no 0 0 no 27 1 2 8192",
        "z1.metal x86_64 yes default no 0 0 no 27 1 - -",
        "Source: east.json, west.json: 5 types, and 38 that it lacks",
    ]
    stale = run("--check", first, script=copy)
    assert stale.returncode == 1
    assert "run scripts/instance_types" in stale.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "can't be read as JSON: [Errno 2]"),
        (
            '{"InstanceTypes": [], "NextToken": "x"}',
            "contains only one page of an answer: it has a NextToken",
        ),
        (
            json.dumps({"InstanceTypes": [entry("m5.large", EbsInfo={"EbsOptimizedSupport": "no"})]}),
            "The entry of m5.large does not have EC2's format: ValueError('EbsOptimizedSupport is no')",
        ),
    ],
)
def test_unusable_file(tmp_path: Path, copy: Path, text: str | None, problem: str) -> None:
    """A file that no table can be made from is refused with what is wrong with it, and nothing is written."""
    path = tmp_path / "answer.json"
    if text is not None:
        path.write_text(text)
    result = run(path, script=copy)
    assert result.returncode == 2
    assert problem in result.stderr
    assert list((tmp_path / "src/bosh_aws_cpi/plan").iterdir()) == []
