"""Images: registered and copied ones keep what they are made of."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.amis import Ami
from moto.ec2.models.elastic_block_store import EBSBackend
from moto.ec2.responses.amis import AmisResponse

from testbed.moto_patches.patching import Patches, parameter, refuse, tag_specifications

if TYPE_CHECKING:
    from collections.abc import Callable

PATCHES = Patches()

ATTRIBUTES = {
    "Architecture": ("architecture", "x86_64"),
    "VirtualizationType": ("virtualization_type", "paravirtual"),
    "RootDeviceName": ("root_device_name", "/dev/sda1"),
    "KernelId": ("kernel_id", None),
    "BootMode": ("boot_mode", None),
    "SriovNetSupport": ("sriov_net_support", None),
    "EnaSupport": ("ena_support", False),
    "ImageLocation": ("image_location", None),
}
"""Of RegisterImage: the parameter, moto's name for it, EC2's default."""


def devices_of(image: Any) -> list[dict[str, Any]]:
    """Return an image's block devices in a form that may be changed."""
    return copy.deepcopy(list(image.block_device_mappings))


def keep_devices(image: Any, devices: list[dict[str, Any]]) -> None:
    """Give an image its block devices, in place of the one that moto made up."""
    backend = image.ec2_backend
    backend.snapshots.pop(image.ebs_snapshot.id, None)
    image.root_device_type = "ebs"
    image.testbed_devices = devices


def settled(backend: Any, device: dict[str, Any]) -> dict[str, Any]:
    """Complete a block device of RegisterImage as EC2 describes it afterwards."""
    if "Ebs" not in device:
        return device
    ebs = {"DeleteOnTermination": True, "VolumeType": "gp2", **device["Ebs"]}
    if ebs.get("SnapshotId"):
        snapshot = backend.get_snapshot(ebs["SnapshotId"])
        ebs = {"VolumeSize": snapshot.volume_size, **ebs, "Encrypted": snapshot.encrypted}
    return {**device, "Ebs": ebs}


@PATCHES.around(Ami, "block_device_mappings")
def described_devices(original: Callable[..., Any], image: Any) -> Any:
    """EC2 describes an image's own block devices; moto one that it made up."""
    return getattr(image, "testbed_devices", None) or original(image)


@PATCHES.around(AmisResponse, "register_image")
def registered_image(original: Callable[..., Any], response: Any) -> Any:
    """EC2 keeps everything about a registered image; moto its name and description.

    EC2 refuses a name that is taken.
    """
    backend = response.ec2_backend
    name = parameter(response, "Name")
    for image in backend.amis.values():
        if image.name == name and image.owner_id == backend.account_id:
            refuse(
                "InvalidAMIName.Duplicate",
                f"AMI name {name} is already in use by AMI {image.id}",
            )
    requested = parameter(response, "BlockDeviceMappings", [])
    devices = [settled(backend, device) for device in requested]
    result = original(response)
    image = backend.amis[result.result["ImageId"]]
    for name, (attribute, default) in ATTRIBUTES.items():
        setattr(image, attribute, parameter(response, name, default))
    image.add_tags(tag_specifications(response).get("image", {}))
    if devices:
        keep_devices(image, devices)
    return result


def copied_device(response: Any, copy_id: str, device: dict[str, Any], tags: dict[str, str]) -> None:
    """Put a copy of a block device's snapshot in its place, described as EC2 does."""
    ebs = device.get("Ebs", {})
    if not ebs.get("SnapshotId"):
        return
    backend, get = response.ec2_backend, partial(parameter, response)
    key = get("KmsKeyId")
    source_id = ebs["SnapshotId"]
    description = (
        f"Copied for DestinationAmi {copy_id} from SourceAmi {get('SourceImageId')} "
        f"for SourceSnapshot {source_id}. Task created on 1,234,567,890,123."
    )
    snapshot = backend.copy_snapshot(source_id, get("SourceRegion"), description, key)
    if get("Encrypted") is True and not key:
        snapshot.kms_key_id = backend._create_default_encryption_key()  # noqa: SLF001
    snapshot.encrypted = snapshot.encrypted or get("Encrypted") is True
    snapshot.add_tags(tags)
    ebs.update(SnapshotId=snapshot.id, Encrypted=snapshot.encrypted)


@PATCHES.around(AmisResponse, "copy_image")
def copied_image(original: Callable[..., Any], response: Any) -> Any:
    """EC2 copies block devices, with snapshots of their own, encrypted if asked to.

    moto gave the copy a made-up device, no encryption and no tags, and its snapshot
    a description that says nothing of the copy.
    """
    backend, get = response.ec2_backend, partial(parameter, response)
    if get("KmsKeyId") and get("Encrypted") is not True:
        refuse(
            "InvalidParameterDependency",
            "The parameter [KmsKeyId] requires the parameter Encrypted to be set.",
        )
    result = original(response)
    sources = ec2_backends[response.current_account][get("SourceRegion")]
    source = sources.amis[get("SourceImageId")]
    image = backend.amis[result.result["ImageId"]]
    for attribute, default in ATTRIBUTES.values():
        setattr(image, attribute, getattr(source, attribute, default))
    tags = tag_specifications(response)
    devices = devices_of(source)
    for device in devices:
        copied_device(response, image.id, device, tags.get("snapshot", {}))
    keep_devices(image, devices)
    image.add_tags(tags.get("image", {}))
    return result


@PATCHES.around(EBSBackend, "delete_snapshot")
def unused_snapshot(original: Callable[..., Any], backend: Any, snapshot_id: str) -> Any:
    """EC2 keeps a snapshot that a registered image is made of; moto its own ones only."""
    for image in backend.amis.values():
        used = [device.get("Ebs", {}).get("SnapshotId") for device in devices_of(image)]
        if snapshot_id in used:
            refuse(
                "InvalidSnapshot.InUse",
                f"The snapshot {snapshot_id} is currently in use by {image.id}",
            )
    return original(backend, snapshot_id)
