"""`cpi stats`: sums up event logs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import Cpi, config

if TYPE_CHECKING:
    from collections.abc import Callable

EXECUTABLE = str(Path(sys.executable).parent / "cpi")
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
WRITER = """
import sys
for path in sys.argv[2:]:
    with open(path, "w") as pipe:
        pipe.write(sys.argv[1] * 1000)
"""
ROTATION = """
import os, sys
first, path, older, last = sys.argv[1:]
with open(last, "w"):  # the reader has opened all
    os.rename(older, older + ".2")
    os.rename(path, older)
open(first, "w").close()
"""
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

Damaged: 2 of 106 lines of '{path}', the first is line 2
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
    """Write an event log with damaged lines, and an empty one, which is none."""
    aws = {**AWS, "calls": {DESCRIBE: 1}}
    lines = [line(seconds=number / 100, aws=aws) for number in range(1, 101)]
    first, *others = volumes()
    path = tmp_path / "log"
    torn = '{"method": "\x1b[2Jhunter7\n'
    path.write_text("".join([first, torn, *others, *lines[:50], line()[:40] + "\n", *lines[50:], "\n"]))
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
    assert report["files"] == [{"file": str(path), "lines": 106, "damaged": 2, "first_damaged": 2}]


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


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "No such file or directory"),
        (".", "it is neither a file nor a pipe"),
        ("/dev/null", "it is neither a file nor a pipe"),
        ("log/events.log", "Not a directory"),
        ("x" * 256, "File name too long"),
    ],
    ids=["nothing", "folder", "device", "below a file", "long"],
)
def test_unreadable(cpi: Cpi, path: Path, name: str, said: str) -> None:
    """A file that can't be read is an error that names it."""
    name = str(path.parent / name)
    answer = cpi.run("stats", str(path), name)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr == f"cpi: Cannot read '{name}': {said}\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".", "it is not a regular file"),
        ("/dev/null", "it is not a regular file"),
        ("pipe", "it is not a regular file"),
        ("log/events.log", "Not a directory"),
        ("x" * 256, "File name too long"),
    ],
    ids=["folder", "device", "pipe", "below a file", "long"],
)
def test_unreadable_log(path: Path, name: str, said: str) -> None:
    """An event log of the configuration that can't be read is an error that names it."""
    os.mkfifo(path.parent / "pipe")
    document = config(NOWHERE)
    name = str(path.parent / name)
    document["cloud"]["properties"]["debug"] = {"event_log": name}
    answer = Cpi(document).run("stats")
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr == f"cpi: Cannot read '{name}': {said}\n"


def test_closed_stdin(path: Path) -> None:
    """A closed stdin is an error, and no other file is taken for it."""
    closing = ["/bin/sh", "-c", 'exec "$0" "$@" <&-', EXECUTABLE]
    answer = Cpi({}, command=closing).run("stats", str(path), "-")
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr == "cpi: Cannot read '-': Bad file descriptor\n"


def test_pipes(cpi: Cpi, tmp_path: Path) -> None:
    """Pipes are read one after another, as their writer fills them."""
    pipes = [tmp_path / "first", tmp_path / "second"]
    for each in pipes:
        os.mkfifo(each)
    with subprocess.Popen([sys.executable, "-c", WRITER, line(), *map(str, pipes)]) as writer:
        report = cpi.run("stats", *map(str, pipes), "--json").document
    assert (writer.returncode, report["calls"]) == (0, 2000)


def test_once(cpi: Cpi, path: Path) -> None:
    """A file counts once, whatever names it has."""
    other = path.with_name("other")
    other.hardlink_to(path)
    report = cpi.run("stats", *map(str, [path, other, path]), "--json").document
    assert (report["calls"], [each["file"] for each in report["files"]]) == (103, [str(path)])


def test_rotation_meanwhile(cpi: Cpi, tmp_path: Path) -> None:
    """Files that are renamed while they are read count once each."""
    first, path, older, last = (str(tmp_path / name) for name in ("first", "log", "log.1", "last"))
    (tmp_path / "log").write_text(line() * 2)
    (tmp_path / "log.1").write_text(line())
    for pipe in (first, last):
        os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", ROTATION, first, path, older, last]):
        report = cpi.run("stats", first, path, older, last, "--json").document
    assert [each["lines"] for each in report["files"]] == [0, 2, 1, 0]


@pytest.mark.parametrize("others", [[], ["two.log"], ["-"]], ids=["alone", "file", "stdin"])
def test_log_in_place_of_configuration(cpi: Cpi, others: list[str]) -> None:
    """An event log where the configuration belongs is refused, with the command that was meant."""
    cpi.config_path.write_text(line() * 2)
    answer = cpi.run("stats", *others)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr == (
        f"cpi: '{cpi.config_path}' is an event log, but the configuration comes first: "
        f"cpi stats cpi.json {cpi.config_path}\n"
    )


DAMAGED: dict[str, Callable[[], str]] = {
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
