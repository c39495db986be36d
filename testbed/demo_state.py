"""What exists in AWS and the registry, as one flat document that is easy to compare."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from testbed.demo_stage import Stage


def state(stage: Stage) -> dict[str, Any]:
    """Describe all resources that were created since the world was laid.

    Returns:
        Under keys such as `i-1 is`, `i-1 tags`, `i-1 disks`, `i-1 interfaces`, `i-1 user_data`,
        `i-1 registry`, `vol-1 is` and `vol-1 tags`. A terminated instance has only its state.
    """
    found: dict[str, Any] = {}
    for reservation in stage.world.ec2.describe_instances()["Reservations"]:
        for instance in reservation["Instances"]:
            found |= _instance(stage, instance)
    for volume in stage.world.ec2.describe_volumes()["Volumes"]:
        found |= _volume(volume)
    for image in stage.world.ec2.describe_images(Owners=["self"])["Images"]:
        found[f"{image['ImageId']} tags"] = _tags(image)
    created = stage.world.state()
    for kind in ("interfaces", "snapshots", "images"):
        found[kind] = len(created[kind])
    for vm_cid in stage.registry.documents:
        found[f"{vm_cid} registry"] = stage.registry.settings(vm_cid)
    return found


def _instance(stage: Stage, instance: dict[str, Any]) -> dict[str, Any]:
    vm_cid, is_now = instance["InstanceId"], instance["State"]["Name"]
    if is_now == "terminated":
        return {f"{vm_cid} is": is_now}
    place = instance["Placement"]["AvailabilityZone"]
    return {
        f"{vm_cid} is": f"{is_now}, {instance['InstanceType']} in {place}",
        f"{vm_cid} tags": _tags(instance),
        f"{vm_cid} disks": {
            mapping["DeviceName"]: mapping["Ebs"]["VolumeId"] for mapping in instance["BlockDeviceMappings"]
        },
        f"{vm_cid} interfaces": {
            nic["PrivateIpAddress"]: nic["MacAddress"] for nic in instance["NetworkInterfaces"]
        },
        f"{vm_cid} user_data": user_data(stage, vm_cid),
    }


def user_data(stage: Stage, vm_cid: str) -> Any:
    """Read an instance's user_data as its agent does: from Base64, as JSON; other text is left as it is."""
    answer = stage.world.ec2.describe_instance_attribute(InstanceId=vm_cid, Attribute="userData")
    text = base64.b64decode(answer["UserData"].get("Value", "")).decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text


def _volume(volume: dict[str, Any]) -> dict[str, Any]:
    kind = f"{volume['Size']} GiB {volume['VolumeType']} in {volume['AvailabilityZone']}"
    return {
        f"{volume['VolumeId']} is": f"{volume['State']}, {kind}",
        f"{volume['VolumeId']} tags": _tags(volume),
    }


def _tags(resource: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in resource.get("Tags", [])}
