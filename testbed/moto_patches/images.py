"""Images: their block devices, their end, and Amazon's kernels, with which paravirtual instances boot."""

import copy
from functools import partial
from typing import Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.amis import Ami, AmiBackend
from moto.ec2.responses.amis import AmisResponse

from testbed.moto_patches import states
from testbed.moto_patches.patching import Original, Patches, parameter, refuse, tag_specifications
from testbed.moto_patches.snapshots import NO_VOLUME, check_completed, snapshots_of, users

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
    "ImdsSupport": ("imds_support", None),
    "TpmSupport": ("tpm_support", None),
}
"""Of RegisterImage: the parameter, moto's name for it, EC2's default."""


def devices_of(image: Any) -> list[dict[str, Any]]:
    """Return a copy of an image's block devices."""
    return copy.deepcopy(list(image.block_device_mappings))


def keep_devices(image: Any, devices: list[dict[str, Any]]) -> None:
    """Replace the block device that moto invented for an image."""
    backend = image.ec2_backend
    backend.snapshots.pop(image.ebs_snapshot.id, None)
    image.root_device_type = "ebs"
    image.testbed_devices = devices


def begin_image(image: Any) -> None:
    """Let an image go through the states that a test asks for."""

    def enter(state: str, reason: str) -> None:
        image.state = state
        image.state_reason = {"Code": "Client.InternalError", "Message": reason} if reason else None

    states.begin(image, "available", enter)


def settled(backend: Any, device: dict[str, Any]) -> dict[str, Any]:
    """Return a block device of RegisterImage as EC2 describes it afterwards."""
    if "Ebs" not in device:
        return device
    ebs = {"DeleteOnTermination": True, "VolumeType": "gp2", **device["Ebs"]}
    if ebs.get("SnapshotId"):
        if "Encrypted" in ebs:
            refuse(
                "InvalidParameter",
                "Parameter encrypted is invalid. You cannot specify the encrypted flag if specifying a "
                "snapshot id in a block device mapping.",
            )
        check_completed(backend, ebs["SnapshotId"])
        snapshot = backend.get_snapshot(ebs["SnapshotId"])
        ebs = {"VolumeSize": snapshot.volume_size, **ebs, "Encrypted": snapshot.encrypted}
    return {**device, "Ebs": ebs}


@PATCHES.around(Ami, "block_device_mappings")
def described_devices(original: Original, image: Any) -> Any:
    """EC2 describes an image's own block devices; moto invented one.

    It does not show the snapshots of a copy before they are created.
    """
    if image.state == "pending" and getattr(image, "testbed_is_copy", False):
        return [device for device in image.testbed_devices if "Ebs" not in device]
    return getattr(image, "testbed_devices", None) or original(image)


@PATCHES.around(AmisResponse, "describe_images")
def image_states(original: Original, response: Any) -> Any:
    """In EC2 an image goes through several states, and only IncludeDisabled shows a disabled one.

    In moto it had a single state, and was always shown. API reference, DescribeImages, IncludeDisabled:
    "Default: No disabled AMIs are included in the response."
    """
    result = original(response)
    if parameter(response, "IncludeDisabled") is not True:
        result.result["Images"] = [each for each in result.result["Images"] if each.state != "disabled"]
    states.look(response, "ImageIds", result.result["Images"])
    return result


@PATCHES.around(AmisResponse, "register_image")
def registered_image(original: Original, response: Any) -> Any:
    """EC2 keeps all properties of a registered image; moto kept its name and description only.

    EC2 refuses a name that is taken, a snapshot that is not completed, and a request that says
    whether a snapshot is encrypted.
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
    begin_image(image)
    return result


def source_of(response: Any) -> Any:
    """Find the image that is to be copied."""
    source_id = parameter(response, "SourceImageId")
    sources = ec2_backends[response.current_account][parameter(response, "SourceRegion")]
    if source_id in sources.deleted_amis:
        refuse("InvalidAMIID.Unavailable", f"The image ID '{source_id}' is no longer available")
    return sources.describe_images(ami_ids=[source_id])[0]


def copied_device(response: Any, copy_id: str, device: dict[str, Any], tags: dict[str, str]) -> None:
    """Put a copy of a block device's snapshot in its place, described as EC2 does."""
    ebs = device.get("Ebs", {})
    if not ebs.get("SnapshotId"):
        return
    backend, get = response.ec2_backend, partial(parameter, response)
    key = get("KmsKeyId")
    source_id = ebs["SnapshotId"]
    if ebs.get("Encrypted") and get("Encrypted") is False:
        refuse(
            "InvalidRequest",
            f"Snapshot {source_id} is encrypted. Creating unencrypted copy from an encrypted snapshot is not "
            "supported.",
        )
    description = (
        f"Copied for DestinationAmi {copy_id} from SourceAmi {get('SourceImageId')} "
        f"for SourceSnapshot {source_id}. Task created on 1,234,567,890,123."
    )
    snapshot = backend.copy_snapshot(source_id, get("SourceRegion"), description, key)
    if get("Encrypted") is True and not key:
        snapshot.kms_key_id = backend._create_default_encryption_key()  # noqa: SLF001
    snapshot.encrypted = snapshot.encrypted or get("Encrypted") is True
    snapshot.volume = copy.copy(snapshot.volume)
    snapshot.volume.id = NO_VOLUME
    snapshot.add_tags(tags)
    ebs.update(SnapshotId=snapshot.id, Encrypted=snapshot.encrypted)


@PATCHES.around(AmisResponse, "copy_image")
def copied_image(original: Original, response: Any) -> Any:
    """EC2 copies an image's block devices, with snapshots of their own, encrypted on request.

    The copy's description names the source. So do SourceImageId and SourceImageRegion, which appear only for
    "CreateImage, CopyImage, or CreateRestoreImageTask" (API reference, Image). The volume id of a copied
    snapshot is arbitrary (API model, Snapshot), in the field vol-ffffffff. moto gave the copy an invented
    device, no source, no encryption and no tags, and the description of its snapshot did not name the copy;
    it failed for a deregistered source (HTTP 500). The refusal of an unencrypted copy is quoted in
    hashicorp/packer issue 6778.
    """
    backend, get = response.ec2_backend, partial(parameter, response)
    if get("KmsKeyId") and get("Encrypted") is not True:
        refuse(
            "InvalidParameterDependency",
            "The parameter [KmsKeyId] requires the parameter Encrypted to be set.",
        )
    source = source_of(response)
    result = original(response)
    image = backend.amis[result.result["ImageId"]]
    for attribute, default in ATTRIBUTES.values():
        setattr(image, attribute, getattr(source, attribute, default))
    if not get("Description"):
        origin = f"[Copied {source.id} from {get('SourceRegion')}]"
        image.description = f"{origin} {source.description or ''}".strip()
    image.source_image_id, image.source_image_region = source.id, get("SourceRegion")
    tags = tag_specifications(response)
    devices = devices_of(source)
    for device in devices:
        copied_device(response, image.id, device, tags.get("snapshot", {}))
    keep_devices(image, devices)
    image.testbed_is_copy = True
    begin_image(image)
    image.add_tags(tags.get("image", {}))
    return result


AMAZON = "137112412989"
KERNELS = (
    ("aki-88aa75e1", "x86_64", "ec2-public-images/pv-grub-hd0_1.03-x86_64.gz.manifest.xml"),
    ("aki-919dcaf8", "x86_64", "ec2-public-images/pv-grub-hd0_1.04-x86_64.gz.manifest.xml"),
    ("aki-499ccb20", "x86_64", "ec2-public-images/pv-grub-hd00_1.04-x86_64.gz.manifest.xml"),
    ("aki-8f9dcae6", "i386", "ec2-public-images/pv-grub-hd0_1.04-i386.gz.manifest.xml"),
)
"""Id, architecture, location."""


PUBLIC = "ami-0123456789abcdef1"


def lay_public(backend: Any) -> None:
    """Put the public image into a region."""
    if PUBLIC not in backend.amis:
        image: Any = Ami(backend, PUBLIC, name="al2023", owner_id=AMAZON, owner_alias="amazon", public=True)
        image.testbed_devices = []
        backend.amis[PUBLIC] = image


def lay(backend: Any) -> None:
    """Put the kernel images into a region."""
    for kernel_id, architecture, location in KERNELS:
        if kernel_id in backend.amis:
            continue
        image = Ami(
            backend,
            kernel_id,
            name=location.partition("/")[2].partition(".gz")[0],
            owner_id=AMAZON,
            owner_alias="amazon",
            public=True,
            architecture=architecture,
            virtualization_type="paravirtual",
            image_type="kernel",
            image_location=location,
        )
        keep_devices(image, [])
        backend.amis[kernel_id] = image


@PATCHES.around(AmiBackend, "describe_images")
def described_kernels(
    original: Original,
    backend: Any,
    ami_ids: list[str] | None = None,
    filters: dict[str, Any] | None = None,
    **keywords: Any,
) -> Any:
    """EC2 has images of Amazon's; moto had none. The first search for them creates them."""
    if "kernel" in (filters or {}).get("image-type", []):
        lay(backend)
    if keywords.get("owners") == ["amazon"] and not filters:
        lay_public(backend)
    return original(backend, ami_ids=ami_ids, filters=filters, **keywords)


def deleted(backend: Any, snapshot_id: str) -> dict[str, str]:
    """Delete a snapshot, unless another image uses it; returns EC2's result for it."""
    code = states.outcome("skipped" if any(users(backend, snapshot_id)) else "success")
    if code == "success":
        backend.delete_snapshot(snapshot_id)
    return {"SnapshotId": snapshot_id, "ReturnCode": code}


@PATCHES.around(AmisResponse, "deregister_image")
def deregistered_image(original: Original, response: Any) -> Any:
    """On request EC2 deletes an image's snapshots that no other image uses; moto never did."""
    backend = response.ec2_backend
    image = backend.amis.get(parameter(response, "ImageId"))
    result = original(response)
    if parameter(response, "DeleteAssociatedSnapshots") is True:
        found = [deleted(backend, snapshot_id) for snapshot_id in snapshots_of(image)]
        result.result["DeleteSnapshotResults"] = found
    return result
