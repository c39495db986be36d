"""The end of the demo: what the schema, `cpi check` and `cpi diagnose` say of one mistake each."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from jsonschema import Draft202012Validator

from testbed.demo_text import AGENT, BOLD, DIM, RED, YELLOW, brief, folded, masked, paint
from testbed.executable import Cpi, config

if TYPE_CHECKING:
    from testbed.demo_stage import Stage
    from testbed.executable import Answer
    from testbed.world import World

SCHEMA = Path(__file__).parents[1] / "docs/cloud-config.schema.json"
FILE = "cloud-config.yml"
COLOURS = {"error": RED, "warning": YELLOW, "note": DIM}
DIRECTOR = "10.0.1.6"


class Unexpected(Exception):
    """A tool did not print what it should; the message has both."""


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


def show(stage: Stage) -> None:
    """Show what the schema, `cpi check` and `cpi diagnose` find.

    Raises:
        Unexpected: One of them does not find its mistake.
    """
    print("\n" + paint("Before and after a deployment", BOLD))
    given = cloud_config(stage.world)
    _show_schema(given)
    cpi = Cpi(config(stage.fake_aws.endpoint, agent=AGENT))
    _show_check(cpi, given)
    _show_diagnosis(stage, cpi)


def _show_schema(given: dict[str, Any]) -> None:
    """Print what an editor marks while somebody writes the file."""
    print("\n" + paint(f"an editor, by docs/{SCHEMA.name}:", BOLD))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    marked = [error.message for error in Draft202012Validator(schema).iter_errors(given)]
    _expect(marked, ["'securty_groups' was unexpected"])
    _print(marked)


def _show_check(cpi: Cpi, given: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, FILE)
        path.write_text(yaml.safe_dump(given, sort_keys=False), encoding="utf-8")
        answer = cpi.run("check", str(path))
        said = _lines(answer, f"{folder}/")
    print("\n" + paint(f"cpi check cpi.json {FILE}", BOLD))
    _print(said)
    _expect(said, ["is in zone", "iops", "Did you mean security_groups?", "2 errors, 1 warning"])


def _show_diagnosis(stage: Stage, cpi: Cpi) -> None:
    """Diagnose a VM whose Director does not let it in."""
    world, director = stage.world, _launched_director(stage.world)
    vm_cid = _created_vm(world, cpi)
    said = _lines(cpi.run("diagnose", vm_cid))
    print("\n" + paint(f"cpi diagnose cpi.json {brief(vm_cid)}", BOLD))
    console = next(index for index, line in enumerate(said) if "console" in line)
    _print(said[:console])
    cpi.call("delete_vm", vm_cid).ok()
    world.ec2.terminate_instances(InstanceIds=[director])
    _expect(said[:1], [f"error: The security groups of the Director, {world.groups['web']}"])


def _print(said: list[str]) -> None:
    """Print the lines of a report, their severities in colour."""
    for line in said:
        severity = line.partition(":")[0]
        colour = COLOURS.get(severity)
        text = folded(line, "  ")
        print(text.replace(severity, paint(severity, colour), 1) if colour else text)


def _launched_director(world: World) -> str:
    answer = world.ec2.run_instances(
        ImageId=world.image_id,
        InstanceType="t3.micro",
        MinCount=1,
        MaxCount=1,
        SubnetId=world.subnet_id,
        PrivateIpAddress=DIRECTOR,
        SecurityGroupIds=[world.groups["web"]],
    )
    return str(answer["Instances"][0]["InstanceId"])


def _created_vm(world: World, cpi: Cpi) -> str:
    network = {"type": "manual", "ip": "10.0.1.10", "cloud_properties": {"subnet": world.subnet_id}}
    properties = {"instance_type": "t3.micro", "availability_zone": world.zone}
    image = f"{world.image_id} light"
    created = cpi.call("create_vm", "demo-agent", image, properties, {"default": network}, [], {}, stemcell=2)
    return str(created.ok()[0])


def _lines(answer: Answer, folder: str = "") -> list[str]:
    """The lines that a command printed; it must have found an error."""
    said = masked(answer.stdout.decode())
    if answer.returncode != 1:
        raise Unexpected(f"The exit status is {answer.returncode}, not 1.\n{said}{answer.stderr}")
    return [line for line in said.replace(folder, "").splitlines() if line]


def _expect(said: list[str], parts: list[str]) -> None:
    """Raise Unexpected unless each part is in one of the lines."""
    missing = [part for part in parts if not any(part in line for line in said)]
    if missing:
        raise Unexpected("\n".join(["These are missing:", *missing, "The report:", *said]))
