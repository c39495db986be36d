"""Attaching and detaching volumes."""

from __future__ import annotations

import re
from typing import Any

from moto.ec2.models.elastic_block_store import EBSBackend

from testbed.moto_patches.patching import Original, Patches, refuse

PATCHES = Patches()


DEVICE_NAME = re.compile(r"/dev/(sd[a-z]|sda[12]|xvd[a-z]|xvd[a-c][a-z]|xvdd[a-x])")
"""The names that EC2 accepts on HVM: EC2 user guide, "Device names for volumes";
kubernetes-sigs/aws-ebs-csi-driver, pkg/cloud/devicemanager/device_names.go ("discovered by trial and
error")."""


def check_attachable(volume: Any, instance: Any, device: str) -> None:
    """Refuse an attachment that EC2 refuses."""
    if instance.state not in {"pending", "running", "stopping", "stopped"}:
        refuse("IncorrectState", f"Instance '{instance.id}' is not 'running'.")
    if volume.attachment:
        refuse("VolumeInUse", f"{volume.id} is already attached to an instance")
    if volume.availability_zone != instance.availability_zone:
        refuse(
            "InvalidVolume.ZoneMismatch",
            f"The volume '{volume.id}' is not in the same availability zone as instance '{instance.id}'",
        )
    if not DEVICE_NAME.fullmatch(device):
        refuse(
            "InvalidParameterValue",
            f"Value ({device}) for parameter device is invalid. {device} is not a valid EBS device name.",
        )
    if device in instance.block_device_mapping:
        refuse(
            "InvalidParameterValue",
            f"Invalid value '{device}' for unixDevice. Attachment point {device} is already in use",
        )


@PATCHES.around(EBSBackend, "attach_volume")
def attached_once(
    original: Original,
    backend: Any,
    volume_id: str,
    instance_id: str,
    device_path: str,
    delete_on_termination: bool = False,  # noqa: FBT001, FBT002 - moto's signature
) -> Any:
    """EC2 attaches a volume once, in its own zone, under a free device name.

    moto attached it any number of times, across zones, under names in use and to
    terminated instances; the attachment lacked DeleteOnTermination.
    """
    volume = backend.get_volume(volume_id)
    instance = backend.get_instance(instance_id)
    check_attachable(volume, instance, device_path)
    attachment = original(backend, volume_id, instance_id, device_path, delete_on_termination)
    attachment.delete_on_termination = delete_on_termination
    return attachment


@PATCHES.around(EBSBackend, "detach_volume")
def detached_from_its_instance(
    original: Original,
    backend: Any,
    volume_id: str,
    instance_id: str | None = None,
    device_path: str | None = None,
) -> Any:
    """EC2 detaches a volume from its own instance only, and answers IncorrectState for an available one.

    For an available one moto answered InvalidAttachment.NotFound. It required an instance id, and
    detached the volume that the named instance had under the same device name.
    """
    attachment = backend.get_volume(volume_id).attachment
    if instance_id:
        backend.get_instance(instance_id)
    if attachment is None:
        refuse("IncorrectState", f"Volume '{volume_id}' is in the 'available' state.")
    device = device_path or attachment.device
    if instance_id not in {None, attachment.instance.id} or device != attachment.device:
        refuse(
            "InvalidAttachment.NotFound",
            f"The volume '{volume_id}' is not attached to instance '{instance_id}' as device '{device}'.",
        )
    return original(backend, volume_id, attachment.instance.id, attachment.device)
