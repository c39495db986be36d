"""Recorded flows of real callers: reads them, and checks the responses of a replay."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from testbed.replay import Step
from testbed.world import World

RECORDED: Final = Path(__file__).parent.parent / "data" / "recorded"

INFO: Final = {"stemcell_formats": ["aws-raw", "aws-light"], "api_version": 3}
"""The recorder's first CPI knew contract version 2, and named the formats in another order."""

NVME: Final = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
"""The recorder's first CPI answered device names; on Nitro types, EC2's guests see NVMe devices."""
ROOT_AND_EPHEMERAL: Final = frozenset({"/dev/xvda", "/dev/sdb"})


def read(name: str) -> list[dict[str, Any]]:
    """Read a recorded flow."""
    return [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]


def is_info(line: dict[str, Any]) -> bool:
    """Whether this is a request for info."""
    return bool(line["request"]["method"] == "info")


def shortened(flow: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep one info for each of its answers, because the callers ask for it before nearly every call."""
    answers = [line["response"] for line in flow]
    return [
        line
        for number, line in enumerate(flow)
        if not is_info(line) or line["response"] not in answers[:number]
    ]


def shape(value: Any) -> Any:
    """Keep the JSON types of a document, and forget its values."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value)


def check(steps: Sequence[Step]) -> None:
    """Check that every answer is the recorded one, except for info, device paths and backtraces."""
    for step in steps:
        expected = step.recorded
        answered = step.answer.document
        if step.method == "info":
            expected = {**expected, "result": INFO}
        if step.method == "attach_disk" and expected["error"] is None:
            path = NVME + step.request["arguments"][1].replace("-", "")
            expected = {**expected, "result": path}
        if step.method == "update_disk" and expected["error"] is not None:
            said = answered["error"]["message"]
            assert said.startswith(expected["error"]["message"])  # the recorder's CPI could not copy a disk
            expected = {**expected, "error": {**expected["error"], "message": said}}
        if expected["log"]:
            assert answered["log"].endswith("\n")
            expected = {**expected, "log": answered["log"]}
        assert step.answer.returncode == 0
        assert answered == expected
        assert shape(answered) == shape(step.recorded)


def attached(world: World, vm_cid: str) -> dict[str, str]:
    """Return the volumes of a running instance by device name."""
    instance = world.instance(vm_cid)
    assert instance["State"]["Name"] == "running"
    return {device["DeviceName"]: device["Ebs"]["VolumeId"] for device in instance["BlockDeviceMappings"]}


def persistent(devices: dict[str, str]) -> dict[str, str]:
    """Return the persistent disks among a VM's volumes."""
    return {name: volume for name, volume in devices.items() if name not in ROOT_AND_EPHEMERAL}


def tags(entry: dict[str, Any]) -> dict[str, str]:
    """Return the tags of a description."""
    return {tag["Key"]: tag["Value"] for tag in entry["Tags"]}
