"""The life of a VM on a simulated AWS, shown call by call: `python -m testbed.demo`.

It checks the answers, and that nothing is left; the stories check everything else.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed import demo_tools
from testbed.demo_stage import Stage, main_status, staged
from testbed.demo_state import state
from testbed.demo_text import (
    AGENT,
    BOLD,
    DIM,
    GREEN,
    RED,
    YELLOW,
    brief,
    calls_in_short,
    cell,
    folded,
    masked,
    paint,
    readable,
    width,
)
from testbed.executable import ABSENT, Answer, Cpi, config
from testbed.registry import PASSWORD, USER

if TYPE_CHECKING:
    from collections.abc import Sequence

METHOD, TIME, GAP = 17, 5, 2
"""Widths of columns, and of the space between two; the others share what is left."""
INSTANCE, VOLUME = re.compile(r"i-[0-9a-f]{17}"), re.compile(r"vol-[0-9a-f]{17}")
DETACHED = "^ This error is meant to come: the disk is detached already."
NVME = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"


class Difference(Exception):
    """An answer is wrong, or something is left; the message says where."""


@dataclass(frozen=True)
class Life:
    """The life of one VM.

    Attributes:
        title: What it shows.
        contract: The contract version of all its calls.
        stemcell: The stemcell's api_version.
        instance_type: Of the VM.
        networks: How many networks the VM has.
        has_registry: Whether a registry is configured.
        is_nvme: Whether the VM shows its disks by NVMe's names.
    """

    title: str
    contract: int
    stemcell: object
    instance_type: str
    networks: int
    has_registry: bool
    is_nvme: bool


LIVES = (
    Life(
        title="Contract V3, stemcell 3: one network, no registry",
        contract=3,
        stemcell=3,
        instance_type="m5.large",
        networks=1,
        has_registry=False,
        is_nvme=True,
    ),
    Life(
        title="Contract V1, stemcell 1: two networks, an HTTP registry",
        contract=1,
        stemcell=ABSENT,
        instance_type="t2.medium",
        networks=2,
        has_registry=True,
        is_nvme=False,
    ),
)


class Play:
    """A life, in a world.

    Attributes:
        calls: The number of calls that answered as expected.
    """

    def __init__(self, stage: Stage, life: Life, command: Sequence[str] | None = None) -> None:
        """Prepare.

        Args:
            stage: The stand-ins to use.
            life: What is shown.
            command: A command to run instead of the executable in this environment.
        """
        registry = {"endpoint": stage.registry.endpoint, "user": USER, "password": PASSWORD}
        section = registry if life.has_registry else None
        self._cpi = Cpi(config(stage.fake_aws.endpoint, agent=AGENT, registry=section), command=command)
        self._stage = stage
        self._life = life
        self.calls = 0

    def play(self) -> None:
        """Make the calls, and show the settings that the VM's agent boots with."""
        print("\n" + paint(self._life.title, BOLD))
        print(row(["call", "arguments", "result", "ms", "AWS calls"], [DIM] * 5))
        stemcell_cid, vm_cid = self._create()
        disk_cid = self._use(vm_cid)
        there = state(self._stage)
        self._call("detach_disk", vm_cid, disk_cid)
        self._call("delete_vm", vm_cid)
        self._call("has_vm", vm_cid, result=False)
        self._call("delete_disk", disk_cid)
        self._call("delete_stemcell", stemcell_cid)
        for kind, what in (("user_data", "user_data, decoded"), ("registry", "the registry's document")):
            if f"{vm_cid} {kind}" in there:
                print("\n" + paint(f"The agent's settings of {vm_cid}: {what}", BOLD))
                print(masked(readable(there[f"{vm_cid} {kind}"])))

    def _create(self) -> tuple[str, str]:
        """Create a stemcell and a VM; return their ids."""
        life, world = self._life, self._stage.world
        self._call("info", result={"stemcell_formats": ["aws-raw", "aws-light"], "api_version": 3})
        tags = [{"tags": {"made_by": "demo"}}] if life.contract >= 3 else []
        light = {"ami": {"us-east-1": world.image_id}, "version": "1.100"}
        stemcell_cid = f"{world.image_id} light"
        self._call("create_stemcell", "/var/vcap/image", light, *tags, result=stemcell_cid)
        properties = {
            "instance_type": life.instance_type,
            "availability_zone": world.zone,
            "ephemeral_disk": {"size": 10240, "type": "gp3"},
        }
        networks = dict(list(_networks(world.subnet_ids).items())[: life.networks])
        environment = {"bosh": {"group": "demo-web", "tags": {"deployment": "demo"}}}
        arguments = [f"demo-agent-v{life.contract}", stemcell_cid, properties, networks, [], environment]
        expected = [INSTANCE, networks] if life.contract >= 2 else INSTANCE
        created = self._call("create_vm", *arguments, result=expected)
        vm_cid: str = created[0] if life.contract >= 2 else created
        self._call("has_vm", vm_cid, result=True)
        return stemcell_cid, vm_cid

    def _use(self, vm_cid: str) -> str:
        """Use the VM and two disks; return the id of the second one, which stays attached."""
        metadata = {"director": "demo-director", "deployment": "demo", "job": "web", "index": 0}
        self._call("set_vm_metadata", vm_cid, metadata)
        first = self._attached(vm_cid, 1024, "/dev/sdf")
        self._call("set_disk_metadata", first, {"deployment": "demo", "instance_index": 0})
        second = self._attached(vm_cid, 2048, "/dev/sdg")
        self._call("detach_disk", vm_cid, first)
        self._call("detach_disk", vm_cid, first, result="Bosh::Clouds::DiskNotAttached")
        print(paint(folded(DETACHED, " " * (METHOD + GAP)), DIM))
        self._call("delete_disk", first)
        self._call("get_disks", vm_cid, result=[VOLUME] * 3)
        self._call("reboot_vm", vm_cid)
        return second

    def _attached(self, vm_cid: str, size: int, device: str) -> str:
        """Create a disk and attach it; return its id."""
        disk_cid: str = self._call("create_disk", size, {"type": "gp3"}, vm_cid, result=VOLUME)
        path = NVME + disk_cid.replace("-", "") if self._life.is_nvme else device
        self._call("attach_disk", vm_cid, disk_cid, result=path if self._life.contract >= 2 else None)
        return disk_cid

    def _call(self, method: str, *arguments: Any, result: object = None) -> Any:
        """Make a call, show it, and check its result, or the type of its error; return the result."""
        fake_aws, registry = self._stage.fake_aws, self._stage.registry
        fake_aws.forget_calls()
        registry.requests.clear()
        life, where = self._life, f"{method} {brief(list(arguments))}"
        try:
            answer = self._cpi.call(method, *arguments, api_version=life.contract, stemcell=life.stemcell)
            document = answer.document
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            raise self._failed(where, f"{type(error).__name__}: {error}") from None
        asked = [request.method for request in registry.requests]
        print(line(method, list(arguments), answer, calls_in_short(fake_aws.actions(), asked)))
        failure = document.get("error")
        found = failure.get("type") if isinstance(failure, dict) else document.get("result")
        if answer.returncode != 0:
            raise self._failed(where, f"The exit status is {answer.returncode}.\n{answer.stderr}")
        if document.keys() != {"result", "error", "log"} or not _is_as(result, found):
            whole = f"{readable(document)}\n\nstderr of the call:\n{answer.stderr}"
            raise self._failed(where, f"The result should be {result}, and is:\n{whole}")
        self.calls += 1
        return found

    def _failed(self, where: str, problem: str) -> Difference:
        return Difference(f"Failed at call {self.calls + 1}, {where}\n{problem}")


def check_nothing_left(stage: Stage) -> None:
    """Fail when any created resource is left behind."""
    found = {**stage.world.state(), "registry": list(stage.registry.documents)}
    if found != {**stage.world.empty, "registry": []}:
        raise Difference(f"Failed: something is left at the end.\n{readable(found)}")


def _networks(subnet_ids: Sequence[str]) -> dict[str, Any]:
    """Describe a network in each of the first two subnets."""
    networks = {
        name: {
            "type": "manual",
            "ip": f"10.0.{number}.10",
            "netmask": "255.255.255.0",
            "gateway": f"10.0.{number}.1",
            "cloud_properties": {"subnet": subnet_id},
        }
        for number, name, subnet_id in zip((1, 2), ("front", "back"), subnet_ids, strict=False)
    }
    networks["front"] |= {"dns": ["10.0.0.2"], "default": ["dns", "gateway"]}
    return networks


def _is_as(expected: object, found: object) -> bool:
    """Compare a result with the expected one, in which a pattern stands for a new id."""
    if isinstance(expected, re.Pattern):
        return isinstance(found, str) and bool(expected.fullmatch(found))
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(_is_as(*pair) for pair in zip(expected, found, strict=True))
        )
    return type(found) is type(expected) and found == expected


def line(method: str, arguments: list[Any], answer: Answer, calls: str) -> str:
    """Write the line of a call."""
    error = answer.document.get("error")
    if isinstance(error, dict):
        kind = str(error.get("type")).rpartition("::")[2]
        result = f"{kind}: {brief(error.get('message'))}"
    else:
        result = brief(answer.document.get("result"))
    texts = [method, " ".join(map(brief, arguments)), result, f"{answer.milliseconds:.0f}", calls]
    return row(texts, [BOLD, "", YELLOW if isinstance(error, dict) else "", "", DIM])


def row(texts: Sequence[str], colours: Sequence[str]) -> str:
    """Write a row of the table; its last column, the calls to AWS, takes as many lines as it needs."""
    free = width() - METHOD - TIME - 4 * GAP
    arguments, result = free * 2 // 7, free // 4
    method, given, returned, time, calls = texts
    first, *more = textwrap.wrap(calls, free - arguments - result, subsequent_indent="   ")
    cells = [cell(method, METHOD), cell(given, arguments), cell(returned, result), time.rjust(TIME), first]
    painted = [paint(text, colour) if colour else text for text, colour in zip(cells, colours, strict=True)]
    under = " " * (width() - free + arguments + result)
    return "\n".join([(" " * GAP).join(painted), *(under + paint(text, colours[-1]) for text in more)])


def show(command: Sequence[str] | None = None) -> int:
    """Show and check everything.

    Returns:
        The exit status.
    """
    title = "The life of a VM: every row is one process of the CPI, on a simulated AWS (moto)."
    print(textwrap.fill(title, width()))
    with staged() as stage:
        plays = [Play(stage, life, command) for life in LIVES]
        try:
            for play in plays:
                play.play()
            if command is None:  # another CPI has no such tools
                demo_tools.show(stage)
            check_nothing_left(stage)
        except (Difference, demo_tools.Unexpected) as problem:
            print("\n" + paint(masked(str(problem)), RED, sys.stderr), file=sys.stderr)
            return 1
    calls = sum(play.calls for play in plays)
    checked = f"Checked: the answers of {calls} calls, and that nothing is left in EC2 or the registry."
    print("\n" + paint(textwrap.fill(checked, width()), GREEN))
    return 0


def command_line(text: str) -> list[str]:
    """Read a command, and find its program as a shell does.

    Raises:
        ArgumentTypeError: There is no program of that name.
    """
    words = shlex.split(text)
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise argparse.ArgumentTypeError(f"no such command: {text!r}")
    return [str(Path(program).absolute()), *words[1:]]


def main() -> int:
    """Run the demo."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(prog="python -m testbed.demo", description=__doc__)
    parser.add_argument(
        "--cpi",
        type=command_line,
        metavar="COMMAND",
        help="show another CPI: a command that is started with the path of the configuration added "
        "(what paths it has itself must be absolute)",
    )
    return show(parser.parse_args().cpi)


if __name__ == "__main__":
    sys.exit(main_status(main))
