"""The container that stands for bpm's: it gives and forbids what bpm's does, or the tests in it fail."""

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.bpm import Container
from testbed.job import DATA, DIRECTORS, PYTHON_PROGRAM, TMP

PROBE = """\
import ctypes, errno, json, os

def refusal(path):
    try:
        with open(os.path.join(path, "probe"), "w") as file:
            file.write("#!/bin/sh\\n")
        os.chmod(file.name, 0o755)
        os.execv(file.name, [file.name])
    except OSError as error:
        return errno.errorcode[error.errno]

def called(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(number, *arguments)
    return errno.errorcode.get(ctypes.get_errno(), result)

def namespace(kind):
    return os.readlink("/proc/self/ns/" + kind)

libc = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
wanted = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Uid")
print(json.dumps({
    "status": {name: status[name].split()[0] for name in wanted},
    "folders": {path: refusal(path) for path in FOLDERS},
    "calls": {name: called(*words) for name, words in CALLS.items()},
    "mounts": {words[4]: words[5].split(",") for words in map(str.split, open("/proc/self/mountinfo"))},
    "namespaces": {kind: namespace(kind) for kind in NAMESPACES},
    "outside": os.listdir("/.outside"),
    "jobs": sorted(os.listdir("/var/vcap/jobs")),
    "root": sorted(os.listdir("/")),
    "devices": sorted(os.listdir("/dev")),
    "cwd": os.getcwd(),
    "environment": dict(os.environ),
}))
"""
WRITABLE = (
    *("/tmp", "/var/tmp", "/dev/shm"),  # noqa: S108 - the container's own
    *(TMP, DATA, "/var/vcap/store/director", "/var/vcap/sys/log/director", "/var/vcap/sys/log/aws_cpi"),
)
READ_ONLY = (
    *("/", "/etc", "/usr/bin", "/dev", "/sys"),
    *("/var/vcap", "/var/vcap/jobs/aws_cpi", "/var/vcap/packages", "/var/vcap/data/packages"),
)
NAMESPACES = ("ipc", "mnt", "pid", "user", "uts")
NEW_USER = 0x10000000 | 17
"""clone's flags for a child in a user namespace of its own, with SIGCHLD."""
CALLS: dict[str, tuple[tuple[int, ...], str | None]] = {
    "keyctl": ((250, -1), "EPERM"),
    "io_uring_setup": ((425, 0, 0), "EPERM"),
    "mbind": ((237, 0, 0, -1), "EPERM"),
    "ptrace": ((101, -1, 0), "EPERM"),
    "userfaultfd": ((323, -1), "EPERM"),
    "unshare": ((272, 0), "EPERM"),
    "clone, with namespaces": ((56, NEW_USER, 0, 0, 0, 0), "EPERM"),
    "personality, without address randomization": ((135, 0x0040000), "EPERM"),
    "personality, to ask": ((135, 0xFFFFFFFF), None),
    "clone3": ((435, 0, 0), "ENOSYS"),
    "set_mempolicy_home_node": ((450, 0), "ENOSYS"),
    "sched_yield": ((24,), None),
}
"""System calls by name: number and arguments, and the error; none: it is permitted and returns 0."""


def probe(container: Container, folders: tuple[str, ...] = ()) -> dict[str, Any]:
    """Look around in a container."""
    python = f"/var/vcap/packages/{PYTHON_PROGRAM}"
    calls = {name: words for name, (words, _) in CALLS.items()}
    given = f"FOLDERS, CALLS, NAMESPACES = {folders!r}, {calls!r}, {NAMESPACES!r}\n"
    with container.popen([python, "-I", "-S", "-X", "utf8", "-c", given + PROBE]) as process:
        stdout, stderr = process.communicate()
    assert process.returncode == 0, stderr
    found: dict[str, Any] = json.loads(stdout)
    return found


def test_no_privileges(container: Container) -> None:
    """The process is an ordinary user's, without capabilities, and under the filter of system calls."""
    status = probe(container)["status"]
    assert {
        name: int(value, 16) for name, value in status.items() if name.startswith("Cap")
    } == dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0)
    assert (status["Uid"], status["NoNewPrivs"], status["Seccomp"]) == ("1000", "1", "2")


def test_system_calls(container: Container) -> None:
    """Calls that bpm forbids fail, clone3 and calls newer than its list are unknown, others permitted."""
    assert probe(container)["calls"] == {name: error or 0 for name, (_, error) in CALLS.items()}


def test_namespaces(container: Container) -> None:
    """The process shares only the network with the machine, and does not see its files."""
    found = probe(container)
    outer = {kind: str(Path("/proc/self/ns", kind).readlink()) for kind in NAMESPACES}
    assert [kind for kind, name in found["namespaces"].items() if name == outer[kind]] == []
    assert found["outside"] == []


def test_file_system(container: Container) -> None:
    """Only the folders of the Director and temporary ones can be written; nothing there can be executed."""
    found = probe(container, (*WRITABLE, *READ_ONLY))
    assert found["folders"] == {**dict.fromkeys(WRITABLE, "EACCES"), **dict.fromkeys(READ_ONLY, "EROFS")}
    devices = {f"/dev/{name}" for name in found["devices"]} - set(WRITABLE)
    folders = {
        path: options for path, options in found["mounts"].items() if path not in {"/", "/proc"} | devices
    }
    assert [path for path, options in folders.items() if "nosuid" not in options] == []
    assert {path for path, options in folders.items() if "rw" in options} == set(WRITABLE)
    assert found["jobs"] == ["aws_cpi", "director"]
    assert "home" not in found["root"]
    assert [name for name in found["devices"] if name.startswith(("sd", "xvd", "nvme", "loop"))] == []


def test_environment(container: Container) -> None:
    """The process has the Director's three variables, and runs in its job's folder."""
    found = probe(container)
    added = {"LC_CTYPE", "LC_ALL"}
    assert {name: value for name, value in found["environment"].items() if name not in added} == DIRECTORS
    assert found["cwd"] == "/var/vcap/jobs/director"


def test_no_container(container: Container, packages: Path) -> None:
    """On a machine that can't make the container the suite fails, and says what is missing."""
    without_tools = Container(container.vcap, packages, {"PATH": "/nowhere"})
    with pytest.raises(AssertionError, match=r"bpm's container can't be made .* No such file or directory"):
        without_tools.check()
    without_packages = Container(container.vcap, packages / "missing", DIRECTORS)
    with pytest.raises(AssertionError, match=r"bpm's container can't be made (?s:.*) mount: "):
        without_packages.check()
