"""RunInstances: the disks that hibernation needs."""

from __future__ import annotations

from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches.launch import UNKNOWN_SIZE
from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

TYPES = {"gp2", "gp3", "io1", "io2"}
MIB_PER_GIB = 1024


@PATCHES.around(InstanceResponse, "run_instances")
def launched_for_hibernation(original: Original, response: Any) -> Any:
    """EC2 refuses a launch with hibernation that does not meet the prerequisites; moto ignored the option.

    The code: EC2's error codes, UnsupportedHibernationConfiguration. The prerequisites: EC2 user guide,
    "Prerequisites for EC2 instance hibernation". EC2 can't know how much room the files need: that it
    refuses a root volume that is not larger than the memory is a guess, and so are the messages.
    """
    if parameter(response, "HibernationOptions.Configured") in {True, "true"}:
        check_disks(response)
    return original(response)


def check_disks(response: Any) -> None:
    """Refuse disks with which an instance can't be hibernated."""
    backend = response.ec2_backend
    image = backend.amis.get(parameter(response, "ImageId"))
    devices = response._parse_block_device_mapping()  # noqa: SLF001 - moto has no other way
    for device in devices:
        if device["Ebs"].get("VolumeType", "gp2") not in TYPES:
            refuse_hibernation(f"The type of volume {device['DeviceName']} is not supported.")
    for ebs in (each["Ebs"] for each in devices if image and each["DeviceName"] == image.root_device_name):
        snapshot = backend.snapshots.get(ebs.get("SnapshotId"))
        if ebs.get("Encrypted") is not True and not (snapshot and snapshot.encrypted):
            refuse_hibernation("The root volume must be encrypted.")
        size = ebs.get("VolumeSize") or (snapshot.volume_size if snapshot else UNKNOWN_SIZE)
        facts: dict[str, Any] = INSTANCE_TYPES.get(parameter(response, "InstanceType"), {})
        if size * MIB_PER_GIB <= facts["MemoryInfo"]["SizeInMiB"]:
            refuse_hibernation("The root volume must be larger than the memory.")


def refuse_hibernation(why: str) -> None:
    """Answer EC2's error."""
    refuse("UnsupportedHibernationConfiguration", why)
