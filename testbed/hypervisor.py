"""The machines behind EC2's API: for each running instance a real bosh-agent.

The agent gets its settings as on EC2, from instance metadata with the instance's own user data, and
serves the address that these settings name. It runs on the agent's dummy platform, which only notes disks
in files, and in a mount namespace in which a folder of its own is /var/vcap. So it compiles and installs
at the same paths as on a VM, and changes nothing of this computer.
"""

import base64
import contextlib
import ipaddress
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from botocore.exceptions import ClientError

from testbed.cloud import FakeAws
from testbed.imds import INSTANCE_ID, SSH_KEYS, TOKEN_PATH, USER_DATA, MetadataServer
from testbed.rules import LATE

INTERVAL = 0.2
"""Seconds between two looks at the instances."""
PATIENCE = 60.0
"""Seconds to wait for a state of the machines."""
HOST = "127.0.0.1"
BASE = "/var/vcap"
_ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")
APART = (*_ENDS_WITH_US, "unshare", "--user", "--map-root-user", "--mount")
"""Starts a program in a mount namespace of its own, without needing root.

The program ends when the thread that started it ends.
"""
TOGETHER = ("--pid", "--fork", "--kill-child")
"""Options of `unshare`: all children of the program end with it, even in other process groups."""
AS_ONE = (*_ENDS_WITH_US, "unshare", "--user", "--map-current-user", *TOGETHER)
"""Starts a program in the same way, with the same files as this process."""
AS_VCAP = f'cd "$1" && mount -t tmpfs none /var && mkdir {BASE} && mount -c --bind . {BASE} && cd / && shift'
"""Shell commands that mount the folder `$1` at /var/vcap in the namespace.

The folder may itself be below /var, which is hidden then. It is still the shell's working directory, from
which `mount -c` takes it. scripts/e2e-tools tries these commands.
"""
AGENT = "bosh/bin/bosh-agent"
"""The agent's path in a stemcell, below /var/vcap."""

ADDRESS = "dummy-default-network-settings.json"
"""The file from which the dummy platform reads the machine's address, below the agent's folder.

bosh-agent, platform/dummy_platform.go, GetDefaultNetwork; the form is that of `Network` in
settings/settings.go. A real platform asks the operating system.
"""

MOUNTS = "mounts.json"
"""The file in which the dummy platform notes its mounts, in the same folder."""

_ACTION = re.compile(r"Received request with action (\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Machine:
    """One instance's agent."""

    instance_id: str
    folder: Path
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the agent booted with, as it keeps them."""
        settings: dict[str, Any] = self._kept("settings.json", {})
        return settings

    @property
    def mounts(self) -> dict[str, str]:
        """Disk ids by the folder that they are mounted at."""
        return {each["MountDir"]: each["DiskCid"] for each in self._kept(MOUNTS, None) or []}

    @property
    def disk_hints(self) -> dict[str, str]:
        """The paths that the agent was told for its persistent disks, by disk id."""
        return {cid: hint["Path"] for cid, hint in self._kept("persistent_disk_hints.json", {}).items()}

    @property
    def migrations(self) -> list[tuple[str, str]]:
        """The source and the target of each disk that was copied."""
        return [(each["FromDiskCid"], each["ToDiskCid"]) for each in self._kept("disk_migrations.json", [])]

    @property
    def actions(self) -> list[str]:
        """The actions that the agent was asked for, in their order; from its log."""
        return _ACTION.findall(self.log.read_text(errors="replace"))

    @property
    def running(self) -> bool:
        """Whether the agent's process runs."""
        return self.process.poll() is None

    @property
    def serving(self) -> bool:
        """Whether a connection to the address of its settings is accepted, on the loopback interface."""
        mbus = self._mbus
        if mbus.hostname != HOST or not mbus.port:
            return False
        with socket.socket() as probe:
            return probe.connect_ex((HOST, mbus.port)) == 0

    @property
    def _mbus(self) -> SplitResult:
        """The message bus: with https the agent's own address, otherwise that of a NATS server."""
        mbus = ""
        with contextlib.suppress(ValueError):  # the file is being written
            mbus = self.settings.get("mbus", "")
        return urlsplit(mbus)

    def end(self) -> None:
        """Cut the power: end the agent and all that it started."""
        if self.process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # The kernel ends what is left in the namespace, and closes its sockets, in its own time.
        deadline = time.monotonic() + PATIENCE
        while self._mbus.scheme == "https" and self.serving and time.monotonic() < deadline:
            time.sleep(0.01)

    def _kept(self, name: str, default: object) -> Any:
        path = self.folder / "bosh" / name
        return json.loads(path.read_text()) if path.exists() else default


class Hypervisor:
    """Starts and ends machines as the instances come and go, for one `with` block."""

    def __init__(self, fake_aws: FakeAws, agent: Path, folder: Path) -> None:
        self.metadata = MetadataServer()
        self.machines: dict[str, Machine] = {}
        self._ec2 = fake_aws.new_client("ec2")
        self._agent = agent
        self._ours = folder / "bosh-agent"
        self._folder = folder
        self._running: set[str] = set()
        self._looked = threading.Condition()
        self._looks = 0
        self._problem: Exception | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look_until_done)

    def __enter__(self) -> Self:
        shutil.copy(self._agent, self._ours)
        self.metadata.__enter__()
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._done.set()
        self._thread.join()
        for machine in self.machines.values():
            machine.end()
        self.metadata.__exit__(kind, error, trace)
        if self._problem is not None and error is None:
            raise self._problem

    @property
    def running(self) -> list[Machine]:
        """The machines of the instances that run."""
        with self._looked:
            return [self.machines[instance_id] for instance_id in sorted(self._running)]

    def settle(self) -> list[Machine]:
        """Wait until the machines match the instances, and have booted; returns those that run."""
        with self._looked:
            # Two looks: the current one may have asked EC2 already.
            begun = self._looks
            settled = self._looked.wait_for(lambda: self._settled(begun + 2), timeout=PATIENCE)
        if self._problem is not None:
            raise self._problem
        for machine in self.running:
            if not machine.running:
                end = "".join(machine.log.read_text(errors="replace").splitlines(keepends=True)[-20:])
                raise RuntimeError(f"the agent of {machine.instance_id} ended:\n{end}")
        if not settled:
            raise TimeoutError(f"the machines did not follow the instances within {PATIENCE:.0f} s")
        return self.running

    def restart(self, machine: Machine, *, rebooted: bool) -> None:
        """Start a machine's agent again, with the same files, and wait until it serves.

        Args:
            machine: It runs, or its agent was ended.
            rebooted: Whether the whole machine restarts. Then nothing is mounted until the agent mounts it;
                the dummy platform's note of its mounts would outlive them. Otherwise only the agent starts.
        """
        machine.end()
        if rebooted:
            (machine.folder / "bosh" / MOUNTS).unlink(missing_ok=True)
        with self._looked:
            self.machines[machine.instance_id] = self._boot(machine.instance_id, machine.folder, machine.log)
        self.settle()

    def _settled(self, looks: int) -> bool:
        if self._problem is not None:
            return True
        machines = self.running
        ended = any(not machine.running for machine in machines)
        return self._looks >= looks and (ended or all(machine.serving for machine in machines))

    def _look_until_done(self) -> None:
        while not self._done.wait(INTERVAL):
            try:
                self._look()
            except Exception as problem:  # noqa: BLE001 - who waits hears of it, whatever it is
                if _is_late(problem):
                    continue
                with self._looked:
                    self._problem = problem
                    self._looked.notify_all()
                return

    def _look(self) -> None:
        instances = self._instances()
        wanted = instances.keys()
        # Ends first: a new machine may listen at the address of an old one.
        for instance_id in self._running - wanted:
            self.machines[instance_id].end()
            self.metadata.remove(instance_id)
        for instance_id in sorted(wanted - self.machines.keys()):
            user_data = self._user_data(instance_id)
            if user_data is not None:
                self.machines[instance_id] = self._start(instances[instance_id], user_data)
        with self._looked:
            self._running = wanted & self.machines.keys()
            self._looks += 1
            self._looked.notify_all()

    def _instances(self) -> dict[str, Any]:
        """The instances that run, by id."""
        answer = self._ec2.describe_instances(
            Filters=[{"Name": "instance-state-name", "Values": ["running"]}]
        )
        return {i["InstanceId"]: i for r in answer["Reservations"] for i in r["Instances"]}

    def _user_data(self, instance_id: str) -> str | None:
        """Read an instance's user data; none when the instance is already gone."""
        try:
            answer = self._ec2.describe_instance_attribute(InstanceId=instance_id, Attribute="userData")
        except ClientError as error:
            if error.response["Error"]["Code"] == "InvalidInstanceID.NotFound":
                return None
            raise
        return base64.b64decode(answer["UserData"].get("Value", "")).decode()

    def _start(self, instance: Any, user_data: str) -> Machine:
        instance_id = instance["InstanceId"]
        self.metadata.add(instance_id, user_data)
        folder = self._folder / instance_id
        (folder / AGENT).parent.mkdir(parents=True)
        (folder / AGENT).hardlink_to(self._ours)
        config = json.dumps(self._configuration(instance_id))
        (folder / "bosh" / "agent.json").write_text(config)
        (folder / "bosh" / ADDRESS).write_text(json.dumps(self._address(instance)))
        return self._boot(instance_id, folder, self._folder / f"{instance_id}.log")

    def _boot(self, instance_id: str, folder: Path, log: Path) -> Machine:
        with log.open("ab") as stderr:
            process = subprocess.Popen(
                [*APART, *TOGETHER, "sh", "-c", f'{AS_VCAP} && exec "$@"', "sh", folder, *self._command()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": BASE, "TMPDIR": BASE},
                start_new_session=True,  # `unshare` and the agent are ended at once
            )
        return Machine(instance_id, folder, log, process)

    def _address(self, instance: Any) -> dict[str, str]:
        """The address of an instance's first interface, as the agent reports it for a dynamic network."""
        (subnet,) = self._ec2.describe_subnets(SubnetIds=[instance["SubnetId"]])["Subnets"]
        block = ipaddress.ip_network(subnet["CidrBlock"])
        return {
            "ip": instance["PrivateIpAddress"],
            "netmask": str(block.netmask),
            "gateway": str(block[1]),
        }

    @staticmethod
    def _command() -> list[str]:
        config = f"{BASE}/bosh/agent.json"
        return [f"{BASE}/{AGENT}", "-P", "dummy", "-M", "dummy", "-b", BASE, "-C", config]

    def _configuration(self, instance_id: str) -> dict[str, Any]:
        source = {
            "Type": "HTTP",
            "URI": self.metadata.url,
            "UserDataPath": f"/{instance_id}{USER_DATA}",
            "InstanceIDPath": f"/{instance_id}{INSTANCE_ID}",
            "SSHKeysPath": f"/{instance_id}{SSH_KEYS}",
            "TokenPath": f"/{instance_id}{TOKEN_PATH}",
        }
        return {"Infrastructure": {"Settings": {"Sources": [source]}}}


def _is_late(problem: Exception) -> bool:
    """Whether everything was deleted while a call was under way; the next look sees what is there now."""
    return isinstance(problem, ClientError) and problem.response["Error"]["Message"] == LATE.message
