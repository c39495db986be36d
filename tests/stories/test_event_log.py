"""`debug.event_log`: one line of JSON for each call, however it ends."""

import json
import os
import re
import stat
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi, config
from testbed.killing import interrupt_at
from testbed.rules import REQUEST_ID
from testbed.world import World

Logging = Callable[..., Cpi]

VM, DISK = "i-00000000000000001", "vol-00000000000000001"
THROTTLED = {"code": "RequestLimitExceeded", "message": "Request limit exceeded.", "status": 503}
NO_AWS: dict[str, Any] = {"calls": {}, "retries": {}, "throttled": {}, "failures": []}
KEYS = {
    *("time", "method", "director_uuid", "request_id", "ids", "result", "error", "delivered", "seconds"),
    "aws",
}
BUG = """
import sys
from bosh_aws_cpi import process
from bosh_aws_cpi.cpi import info
def ping(_cloud): raise RuntimeError("hunter7")
info.ping = ping
process.run()
"""
FULL_DISK = """
import resource
from bosh_aws_cpi import process
resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))
process.run()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the event log is to be."""
    return tmp_path / "events.log"


@pytest.fixture
def logging(fake_aws: FakeAws, path: Path) -> Logging:
    """Return a function that lays down the executable with an event log."""

    def lay(value: object = path, command: list[str] | None = None, **aws: Any) -> Cpi:
        document = config(fake_aws.endpoint, **aws)
        given = str(value) if value == path else value
        document["cloud"]["properties"]["debug"] = {"event_log": given}
        return Cpi(document, command=command)

    return lay


def events(*paths: Path) -> list[dict[str, Any]]:
    """Read event logs; each line must be a whole one."""
    lines = [line for path in paths for line in path.read_text().splitlines()]
    found = [json.loads(line) for line in lines]
    assert [each for each in found if each.keys() != KEYS] == []
    return found


def volume(world: World) -> str:
    """Make a volume: a rule holds back the answer of a call that succeeds."""
    made = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)
    return str(made["VolumeId"])


def warnings(stderr: str) -> list[str]:
    """Return the warnings in a log."""
    return re.findall(r"WARNING: (.*)", stderr)


def test_method_without_aws(logging: Logging, path: Path) -> None:
    """The line says when which method ended, for whom, and how long it took."""
    began = datetime.now(UTC) - timedelta(seconds=1)
    answer = logging().call("info", context={"request_id": "cpi-604521"})
    answer.ok()
    assert warnings(answer.stderr) == []
    (event,) = events(path)
    assert began < datetime.fromisoformat(event.pop("time")) < datetime.now(UTC) + timedelta(seconds=1)
    assert 0 < event.pop("seconds") * 1000 < answer.milliseconds
    assert event == {
        "method": "info",
        "director_uuid": DIRECTOR_UUID,
        "request_id": "cpi-604521",
        "ids": [],
        "result": [],
        "error": None,
        "delivered": True,
        "aws": NO_AWS,
    }
    assert stat.S_IMODE(path.stat().st_mode) & ~0o640 == 0


def test_life(world: World, logging: Logging, path: Path) -> None:
    """The ids among arguments and results are there, and no other text of theirs."""
    cpi = logging()
    networks = {"default": {"type": "dynamic", "cloud_properties": {"subnet": world.subnet_id}}}
    properties = {"instance_type": "m5.large", "availability_zone": world.zone, "tags": {"t": "i-12345678"}}
    stemcell = f"{world.image_id} light"
    arguments = ["agent-1", stemcell, properties, networks, [], {}]
    vm_cid = cpi.call("create_vm", *arguments, stemcell=2).ok()[0]
    disk_cid = cpi.call("create_disk", 1024, {}, vm_cid).ok()
    cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok()
    cpi.call("set_vm_metadata", vm_cid, {"name": "i-12345678", "deployment": "d"}).ok()
    disks = cpi.call("get_disks", vm_cid).ok()
    cpi.call("has_vm", vm_cid).ok()
    cpi.call("detach_disk", vm_cid, disk_cid, stemcell=2).ok()
    refused = cpi.call("detach_disk", vm_cid, disk_cid, stemcell=2)
    *found, detached, again = events(path)
    assert (detached["error"], again["error"]) == (None, "Bosh::Clouds::DiskNotAttached")
    assert refused.error["type"] == again["error"]
    assert [(each["method"], each["ids"], each["result"]) for each in found] == [
        ("create_vm", [world.image_id], [vm_cid]),
        ("create_disk", [vm_cid], [disk_cid]),
        ("attach_disk", [vm_cid, disk_cid], []),
        ("set_vm_metadata", [vm_cid], []),
        ("get_disks", [vm_cid], disks),
        ("has_vm", [vm_cid], True),
    ]
    assert found[0]["aws"]["calls"]["ec2.RunInstances"] == 1
    assert found[-1]["aws"] == {**NO_AWS, "calls": {"ec2.DescribeInstances": 1}}


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("delete_vm", [VM], "Bosh::Clouds::VMNotFound"),
        ("configure_networks", [VM, {}], "Bosh::Clouds::NotSupported"),
        ("reboot_vm", [], "InvalidCall"),
        ("create_disk", [1024, {}, "hunter7"], "Bosh::Clouds::VMNotFound"),
    ],
)
def test_error(logging: Logging, path: Path, method: str, arguments: list[Any], error: str) -> None:
    """An error is there by the type that the caller got, without its message."""
    answer = logging().call(method, *arguments, stemcell=2)
    assert answer.error["type"] == error
    (event,) = events(path)
    assert (event["method"], event["error"], event["result"]) == (method, error, [])
    assert event["ids"] == [each for each in arguments if each in [VM, DISK]]
    assert "not found" not in path.read_text()


def test_error_of_launch(world: World, fake_aws: FakeAws, logging: Logging, path: Path) -> None:
    """An attempt that AWS refused is there with its code and AWS's request id."""
    error = {"code": "InsufficientInstanceCapacity", "message": "None left.", "status": 500}
    fake_aws.rule(action="RunInstances", error=error)
    networks = {"default": {"type": "dynamic", "cloud_properties": {"subnet": world.subnet_id}}}
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    cpi = logging(max_retries=0)
    cpi.call("create_vm", "agent-1", world.image_id, properties, networks, [], {}, stemcell=2)
    cpi.call("create_vm", "agent-1", world.image_id, properties, networks, [], {}, stemcell=0)
    failed, unsupported = events(path)
    refused = {"call": "ec2.RunInstances", "code": error["code"], "request_id": REQUEST_ID}
    assert failed["error"] == "Bosh::Clouds::VMCreationFailed"
    assert failed["aws"]["failures"] == [refused]
    assert unsupported["error"] == "Bosh::Clouds::CPIAPIVersionNotSupported"


def test_throttled(fake_aws: FakeAws, logging: Logging, path: Path) -> None:
    """Throttled attempts and retries are counted by AWS call."""
    fake_aws.rule(action="DescribeVolumes", times=1, error=THROTTLED)
    assert logging().call("has_disk", DISK).ok() is False
    (event,) = events(path)
    name = "ec2.DescribeVolumes"
    assert {**event["aws"], "failures": event["aws"]["failures"][:1]} == {
        "calls": {name: 2},
        "retries": {name: 1},
        "throttled": {name: 1},
        "failures": [{"call": name, "code": THROTTLED["code"], "request_id": REQUEST_ID}],
    }


def test_unanswered(fake_aws: FakeAws, logging: Logging, path: Path) -> None:
    """An attempt that AWS did not answer is there by the kind of its failure."""
    fake_aws.rule(action="DescribeVolumes", drop="before")
    assert logging(max_retries=0).call("has_disk", DISK).error is not None
    (event,) = events(path)
    lost = {"call": "ec2.DescribeVolumes", "code": "ConnectionClosedError", "request_id": None}
    assert event["aws"]["failures"] == [lost]


def test_signal(world: World, fake_aws: FakeAws, logging: Logging, path: Path) -> None:
    """A call that a signal ends is there as the error that its caller got."""
    start = partial(logging().start, "has_disk", volume(world))
    answer = interrupt_at(fake_aws, start, action="DescribeVolumes", when="after")
    assert "interrupted by SIG" in answer.error["message"]
    (event,) = events(path)
    assert (event["error"], event["delivered"]) == ("Bosh::Clouds::CloudError", True)


def test_caller_is_gone(world: World, fake_aws: FakeAws, logging: Logging, path: Path) -> None:
    """A response that nobody read is told from others."""
    fake_aws.rule(action="DescribeVolumes", hold=True)
    cpi = logging()
    process = cpi.start("has_disk", volume(world))
    assert fake_aws.wait_until_held() == ["DescribeVolumes"]
    assert process.stdout is not None
    process.stdout.close()
    fake_aws.release()
    with process:
        assert process.wait() == 1
    (event,) = events(path)
    assert (event["result"], event["error"], event["delivered"]) == (True, None, False)


def test_bug(logging: Logging, path: Path) -> None:
    """An error in the program itself is there by its type."""
    answer = logging(command=[sys.executable, "-c", BUG]).call("ping")
    assert "hunter7" in answer.error["message"]
    (event,) = events(path)
    assert event["error"] == "Unknown"
    assert "hunter7" not in path.read_text()


def link(path: Path) -> None:
    """A link leads to another file."""
    (path.parent.parent / "other").touch()
    path.symlink_to(path.parent.parent / "other")


def fifo(path: Path) -> None:
    """A pipe that nobody reads."""
    os.mkfifo(path)


@pytest.mark.parametrize("lay", [link, fifo])
def test_not_writable(logging: Logging, tmp_path: Path, lay: Callable[[Path], None]) -> None:
    """A file that can't be written costs a warning, and not the call."""
    path = tmp_path / "sys/log/aws_cpi/events.log"
    path.parent.mkdir(parents=True)
    lay(path)
    answer = logging(str(path)).call("ping")
    assert answer.ok() == "pong"
    (said,) = warnings(answer.stderr)
    assert said.startswith(f"The event log '{path}' can't be written: ")
    assert [each for each in tmp_path.rglob("*") if each.is_file() and each.read_bytes()] == []


def test_full_disk(logging: Logging, path: Path) -> None:
    """A line that a full disk cut is ended by the next one, which is whole."""
    answer = logging(command=[sys.executable, "-c", FULL_DISK]).call("info")
    answer.ok()
    assert warnings(answer.stderr) == [f"The event log '{path}' can't be written: No space left on device"]
    cpi = logging()
    cpi.call("ping").ok()
    cpi.call("ping").ok()
    cut, *lines = path.read_text().splitlines()
    assert (cut[:8], len(cut)) == ('{"time":', 50)
    assert [json.loads(each)["method"] for each in lines] == ["ping", "ping"]


def test_path_with_nul(logging: Logging) -> None:
    """A path that no file can have costs a warning, too."""
    answer = logging("/x\0y").call("ping")
    assert answer.ok() == "pong"
    assert answer.returncode == 0
    (said,) = warnings(answer.stderr)
    assert said.endswith("can't be written: ValueError")


@pytest.mark.parametrize("value", [None, False, ""])
def test_off(logging: Logging, value: object) -> None:
    """Without a path there is no log, and no warning."""
    cpi = logging(value)
    assert warnings(cpi.call("ping").stderr) == []
    assert [each.name for each in cpi.folder.iterdir()] == ["cpi.json"]


@pytest.mark.parametrize("value", ["events.log", True])
def test_wrong_value(logging: Logging, value: object) -> None:
    """What is not an absolute path is refused by its key."""
    error = logging(value).call("ping").error
    assert error["type"] == "InvalidCall"
    assert "debug.event_log must be an absolute path" in error["message"]
