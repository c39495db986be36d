"""`cpi stats`: sums up event logs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import Cpi, config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOWHERE = "http://127.0.0.1:1"
CREATE, DESCRIBE = "ec2.CreateVolume", "ec2.DescribeVolumes"
AWS: dict[str, Any] = {"calls": {}, "retries": {}, "throttled": {}, "failures": []}
EVENT: dict[str, Any] = {
    "time": "2026-05-04T10:00:00.000Z",
    "method": "has_disk",
    "director_uuid": None,
    "request_id": None,
    "ids": [],
    "result": True,
    "error": None,
    "delivered": True,
    "seconds": 0.5,
    "aws": AWS,
}
REPORT = """\
103 calls from 2026-05-04T09:00:00.000Z to 2026-05-04T10:00:00.000Z, 2 failed

Seconds          calls     failed        p50        p95        max
create_disk          3          2      2.500      300.0      300.4
has_disk           100          0      0.500      0.950      1.000

Failures
       1  create_disk Bosh::Clouds::CloudError
       1  create_disk response not delivered

AWS calls                calls    retries  throttled
ec2.CreateVolume             3          4          5
ec2.DescribeVolumes        100          0          0

AWS errors, by attempts
       2  ec2.CreateVolume RequestLimitExceeded
       1  ec2.CreateVolume unknown

Damaged: 2 of 105 lines of '{path}', the first is line 2
"""


def line(**changed: Any) -> str:
    """Write a line of an event log."""
    return json.dumps({**EVENT, **changed}) + "\n"


def volumes() -> list[str]:
    """Write lines of three calls that create disks."""
    code = {"call": CREATE, "code": "RequestLimitExceeded", "request_id": None}
    throttled = {
        "calls": {CREATE: 2},
        "retries": {CREATE: 4},
        "throttled": {CREATE: 5},
        "failures": [code, code, {**code, "code": None}],
    }
    once = {**AWS, "calls": {CREATE: 1}}
    early = "2026-05-04T09:00:00.000Z"
    failed = "Bosh::Clouds::CloudError"
    return [
        line(method="create_disk", seconds=300.4, error=failed, result=[], aws=throttled, time=early),
        line(method="create_disk", seconds=2.5, aws=once),
        line(method="create_disk", seconds=1, delivered=False),
    ]


@pytest.fixture
def cpi(tmp_path: Path) -> Cpi:
    """Return the executable with an event log that is not there yet."""
    document = config(NOWHERE)
    document["cloud"]["properties"]["debug"] = {"event_log": str(tmp_path / "events.log")}
    return Cpi(document)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write an event log with damaged lines."""
    aws = {**AWS, "calls": {DESCRIBE: 1}}
    lines = [line(seconds=number / 100, aws=aws) for number in range(1, 101)]
    first, *others = volumes()
    path = tmp_path / "log"
    torn = '{"method": "\x1b[2Jhunter7\n'
    path.write_text("".join([first, torn, *others, *lines[:50], line()[:40] + "\n", *lines[50:]]))
    return path


def test_table(cpi: Cpi, path: Path) -> None:
    """The table has calls, failures, percentiles, retries and throttled attempts; damage is only counted."""
    answer = cpi.run("stats", str(path))
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.decode() == REPORT.format(path=path)


def test_json(cpi: Cpi, path: Path) -> None:
    """The JSON document has the same."""
    report = cpi.run("stats", str(path), "--json").document
    assert (report["calls"], report["failed"]) == (103, 2)
    assert report["methods"][0] == {
        "method": "create_disk",
        "calls": 3,
        "failed": 2,
        "seconds": {"p50": 2.5, "p95": 300.0, "max": 300.4},
        "failures": {"Bosh::Clouds::CloudError": 1, "response not delivered": 1},
    }
    assert report["aws"][0] == {"call": CREATE, "calls": 3, "retries": 4, "throttled": 5}
    assert report["aws_errors"][0] == {"call": CREATE, "code": "RequestLimitExceeded", "attempts": 2}
    assert report["files"] == [{"file": str(path), "lines": 105, "damaged": 2, "first_damaged": 2}]


def test_own_files(cpi: Cpi, tmp_path: Path) -> None:
    """Without files it reads the event log of the configuration and its older files."""
    assert cpi.run("stats").stderr == (
        f"cpi: No call has written the event log '{tmp_path / 'events.log'}' yet\n"
    )
    (tmp_path / "events.log.2").write_text(line())
    cpi.call("ping").ok()
    cpi.call("ping").ok()
    report = cpi.run("stats", "--json").document
    assert {each["method"]: each["calls"] for each in report["methods"]} == {"has_disk": 1, "ping": 2}
    assert [each["lines"] for each in report["files"]] == [2, 1]


def test_stdin(cpi: Cpi) -> None:
    """A hyphen is stdin; with files, the configuration is not read."""
    cpi.config_path.unlink()
    answer = cpi.run("stats", "-", stdin=line().encode())
    assert answer.stdout.startswith(b"1 calls from ")


def test_no_calls(cpi: Cpi) -> None:
    """An empty log has no calls."""
    assert cpi.run("stats", "-").stdout == b"No calls\n"


def test_no_log() -> None:
    """A configuration without an event log is an error that names the key."""
    answer = Cpi(config(NOWHERE)).run("stats")
    assert answer.returncode == 2
    assert answer.stderr == (
        "cpi: No event log: set debug.event_log, or name its files after the configuration\n"
    )


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_unreadable(cpi: Cpi, tmp_path: Path, name: str) -> None:
    """A file that can't be read is an error that names it."""
    answer = cpi.run("stats", str(tmp_path / name))
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr.startswith(f"cpi: Cannot read '{tmp_path / name}': ")


DAMAGED: dict[str, Callable[[], str]] = {
    "nothing": lambda: "\n",
    "no JSON": lambda: "hunter7\n",
    "no object": lambda: "[]\n",
    "deep": lambda: "[" * 60_000 + "\n",
    "no time": lambda: line(time="2026-05-04 hunter7"),
    "unknown method": lambda: line(method="hunter7"),
    "no method": lambda: line(method=["has_disk"]),
    "negative": lambda: line(seconds=-1),
    "infinite": lambda: line(seconds=float("inf")),
    "no number": lambda: line(seconds=float("nan")),
    "truth": lambda: line(seconds=True),
    "large": lambda: line(seconds=10**300),
    "error": lambda: line(error="hunter7 \x1b[2J"),
    "error of another kind": lambda: line(error=["hunter7"]),
    "delivered": lambda: line(delivered="hunter7"),
    "no calls": lambda: line(aws={}),
    "calls": lambda: line(aws={**AWS, "calls": {"hunter7": 1}}),
    "count": lambda: line(aws={**AWS, "throttled": {CREATE: "hunter7"}}),
    "failure": lambda: line(aws={**AWS, "failures": [{"call": CREATE, "code": "hunter 7"}]}),
    "failures": lambda: line(aws={**AWS, "failures": "hunter7"}),
    "too long": lambda: line(result="hunter7" * 50_000),
    "no end": lambda: line()[:-9],
    "bytes": lambda: "\udcff\n",
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged(cpi: Cpi, kind: str) -> None:
    """A line that the CPI does not write is counted and never printed; the others count."""
    text = line() + DAMAGED[kind]().removesuffix("\n") + "\n" + line()
    answer = cpi.run("stats", "-", stdin=text.encode(errors="surrogateescape"))
    assert (answer.returncode, answer.stderr) == (0, "")
    text = answer.stdout.decode()
    assert text.startswith("2 calls from ")
    assert text.endswith("\nDamaged: 1 of 3 lines of '-', the first is line 2\n")
    assert "hunter" not in text


def test_many_names(cpi: Cpi) -> None:
    """The memory for names is limited, whatever a file says."""
    lines = [
        line(
            error=f"Error{number}",
            aws={
                **AWS,
                "calls": {f"ec2.Call{number}": 1},
                "failures": [{"call": CREATE, "code": f"c{number}"}],
            },
        )
        for number in range(1500)
    ]
    report = cpi.run("stats", "-", "--json", stdin="".join(lines).encode()).document
    assert report["calls"] == 1500
    assert report["methods"][0]["failures"]["other"] == 500
    assert len(report["aws"]) == len(report["aws_errors"]) == 1001
