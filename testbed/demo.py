"""The life of a VM on a simulated AWS, shown call by call: `python -m testbed.demo`.

It checks the answers, and that nothing is left; the stories check everything else.
"""

import base64
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from testbed.demo_stage import Stage, main_status, staged
from testbed.demo_text import (
    BOLD,
    DIM,
    GREEN,
    RED,
    YELLOW,
    brief,
    calls_in_short,
    cut,
    masked,
    paint,
    readable,
)
from testbed.executable import Answer, Cpi, config
from testbed.world import World

CONTRACT = STEMCELL = 3
INSTANCE, VOLUME = re.compile(r"i-[0-9a-f]{17}"), re.compile(r"vol-[0-9a-f]{17}")
NVME = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
DETACHED = "  This error is meant to come: the disk is detached already."
DIRECTOR = "10.0.1.6"


class Difference(Exception):
    """An answer is wrong, or something is left; the message says where."""


class Play:
    """The life of a VM, in a world."""

    def __init__(self, stage: Stage) -> None:
        self._cpi = Cpi(config(stage.fake_aws.endpoint))
        self._stage = stage
        self.calls = 0

    def play(self) -> None:
        """Make the calls, and show the settings that the VM's agent boots with."""
        stemcell_cid, vm_cid = self._create()
        settings = user_data(self._stage.world, vm_cid)
        disk_cid = self._use(vm_cid)
        self._call("detach_disk", vm_cid, disk_cid)
        self._call("delete_vm", vm_cid)
        self._call("has_vm", vm_cid, result=False)
        self._call("delete_disk", disk_cid)
        self._call("delete_stemcell", stemcell_cid)
        print("\n" + paint(f"The settings of the agent on {vm_cid}, from its user_data", BOLD))
        print(readable(settings))

    def _create(self) -> tuple[str, str]:
        """Create a stemcell and a VM; return their ids."""
        world = self._stage.world
        self._call("info", result={"stemcell_formats": ["aws-raw", "aws-light"], "api_version": 3})
        stemcell_cid = f"{world.image_id} light"
        light = {"ami": {"us-east-1": world.image_id}, "version": "1.100"}
        self._call(
            "create_stemcell", "/var/vcap/image", light, {"tags": {"made_by": "demo"}}, result=stemcell_cid
        )
        properties = {
            "instance_type": "m5.large",
            "availability_zone": world.zone,
            "ephemeral_disk": {"size": 10240, "type": "gp3"},
        }
        networks = network(world)
        environment = {"bosh": {"group": "demo-web", "tags": {"deployment": "demo"}}}
        arguments = ["demo-agent", stemcell_cid, properties, networks, [], environment]
        vm_cid: str = self._call("create_vm", *arguments, result=[INSTANCE, networks])[0]
        self._call("has_vm", vm_cid, result=True)
        return stemcell_cid, vm_cid

    def _use(self, vm_cid: str) -> str:
        """Use the VM and two disks; return the id of the second one, which stays attached."""
        metadata = {"director": "demo-director", "deployment": "demo", "job": "web", "index": 0}
        self._call("set_vm_metadata", vm_cid, metadata)
        first = self._attached(vm_cid, 1024)
        self._call("set_disk_metadata", first, {"deployment": "demo", "instance_index": 0})
        second = self._attached(vm_cid, 2048)
        self._call("detach_disk", vm_cid, first)
        self._call("detach_disk", vm_cid, first, result="Bosh::Clouds::DiskNotAttached")
        print(paint(DETACHED, DIM))
        self._call("delete_disk", first)
        self._call("get_disks", vm_cid, result=[VOLUME] * 3)
        self._call("reboot_vm", vm_cid)
        return second

    def _attached(self, vm_cid: str, size: int) -> str:
        """Create a disk and attach it; return its id."""
        disk_cid: str = self._call("create_disk", size, {"type": "gp3"}, vm_cid, result=VOLUME)
        self._call("attach_disk", vm_cid, disk_cid, result=NVME + disk_cid.replace("-", ""))
        return disk_cid

    def _call(self, method: str, *arguments: Any, result: object = None) -> Any:
        """Make a call, show it, and check its result, or the type of its error; return the result."""
        fake_aws = self._stage.fake_aws
        fake_aws.forget_calls()
        where = f"{method} {' '.join(map(brief, arguments))}"
        try:
            answer = self._cpi.call(method, *arguments, api_version=CONTRACT, stemcell=STEMCELL)
            document = answer.document
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            raise self._failed(where, f"{type(error).__name__}: {error}") from None
        failure = document.get("error")
        found = failure.get("type") if isinstance(failure, dict) else document.get("result")
        print(paint(cut(where), BOLD))
        print(paint(cut(f"  {brief(failure)}"), YELLOW) if failure else cut(f"  {brief(found)}"))
        print(paint(f"  {answer.milliseconds:.0f} ms, AWS: {calls_in_short(fake_aws.actions())}", DIM))
        if document.keys() != {"result", "error", "log"} or answer.returncode or not _is_as(result, found):
            stderr = f"exit status {answer.returncode}, stderr:\n{answer.stderr}"
            raise self._failed(
                where, f"The result should be {result}, and is:\n{readable(document)}\n{stderr}"
            )
        self.calls += 1
        return found

    def _failed(self, where: str, problem: str) -> Difference:
        return Difference(f"Failed at call {self.calls + 1}, {where}\n{problem}")


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


def network(world: World) -> dict[str, Any]:
    """Describe a network in the first subnet."""
    private = {
        "type": "manual",
        "ip": "10.0.1.10",
        "netmask": "255.255.255.0",
        "gateway": "10.0.1.1",
        "dns": ["10.0.0.2"],
        "default": ["dns", "gateway"],
        "cloud_properties": {"subnet": world.subnet_id},
    }
    return {"private": private}


def user_data(world: World, vm_cid: str) -> Any:
    """Read an instance's user_data as its agent does."""
    answer = world.ec2.describe_instance_attribute(InstanceId=vm_cid, Attribute="userData")
    return json.loads(base64.b64decode(answer["UserData"]["Value"]))


def cloud_config(world: World) -> dict[str, Any]:
    """Write a cloud config with three mistakes: a misspelt key, a wrong zone, too many IOPS."""
    disk = {"size": 10_240, "type": "gp3", "iops": 90_000}
    subnet = {
        "az": "z1",
        "range": "10.0.3.0/24",
        "gateway": "10.0.3.1",
        "reserved": ["10.0.3.2-10.0.3.9"],
        "cloud_properties": {"subnet": world.subnet_ids[2]},
    }
    properties = {"instance_type": "t3.micro", "ephemeral_disk": disk, "securty_groups": ["bosh"]}
    return {
        "azs": [{"name": "z1", "cloud_properties": {"availability_zone": world.zone}}],
        "vm_types": [{"name": "worker", "cloud_properties": properties}],
        "networks": [{"name": "default", "type": "manual", "subnets": [subnet]}],
        "compilation": {"workers": 1, "network": "default", "az": "z1", "vm_type": "worker"},
    }


def show_check(stage: Stage) -> None:
    """Show what `cpi check` finds in a cloud config with mistakes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cloud-config.yml")
        path.write_text(yaml.safe_dump(cloud_config(stage.world), sort_keys=False))
        answer = Cpi(config(stage.fake_aws.endpoint)).run("check", str(path))
    _show_report(f"cpi check cpi.json {path.name}", answer, f"{folder}/")


def show_diagnosis(stage: Stage) -> None:
    """Show what `cpi diagnose` says of a VM whose Director does not let it in."""
    world, cpi = stage.world, Cpi(config(stage.fake_aws.endpoint))
    director = world.ec2.run_instances(
        ImageId=world.image_id,
        InstanceType="t3.micro",
        MinCount=1,
        MaxCount=1,
        SubnetId=world.subnet_id,
        PrivateIpAddress=DIRECTOR,
        SecurityGroupIds=[world.groups["web"]],
    )["Instances"][0]["InstanceId"]
    properties = {"instance_type": "t3.micro", "availability_zone": world.zone}
    arguments = ["demo-agent", f"{world.image_id} light", properties, network(world), [], {}]
    vm_cid = cpi.call("create_vm", *arguments, stemcell=STEMCELL).ok()[0]
    _show_report(f"cpi diagnose cpi.json {vm_cid}", cpi.run("diagnose", vm_cid))
    cpi.call("delete_vm", vm_cid).ok()
    world.ec2.terminate_instances(InstanceIds=[director])


def _show_report(command: str, answer: Answer, folder: str = "") -> None:
    """Print a command and its report, which must say that there are mistakes."""
    report = masked(answer.stdout.decode()).replace(folder, "")
    print("\n" + paint(command, BOLD) + "\n" + report)
    if answer.returncode != 1:
        raise Difference(f"Failed: the exit status of {command} is {answer.returncode}.\n{answer.stderr}")


def check_nothing_left(stage: Stage) -> None:
    """Fail when any created resource is left behind."""
    if stage.world.state() != stage.world.empty:
        raise Difference(f"Failed: something is left at the end.\n{readable(stage.world.state())}")


def main() -> int:
    """Show and check everything; returns the exit status."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print("The life of a VM: every call is one process of the CPI, on a simulated AWS (moto).\n")
    with staged() as stage:
        play = Play(stage)
        try:
            play.play()
            show_check(stage)
            show_diagnosis(stage)
            check_nothing_left(stage)
        except Difference as problem:
            print("\n" + paint(masked(str(problem)), RED, sys.stderr), file=sys.stderr)
            return 1
    print(paint(f"Checked: the answers of {play.calls} calls, and that nothing is left in EC2.", GREEN))
    return 0


if __name__ == "__main__":
    sys.exit(main_status(main))
