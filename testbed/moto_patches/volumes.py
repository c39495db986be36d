"""New volumes: their snapshot, zone, key and figures; attaching and detaching."""

import re
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.elastic_block_store import EBSBackend
from moto.ec2.responses.elastic_block_store import ElasticBlockStore

from testbed.moto_patches.patching import Original, Patches, parameter, refuse
from testbed.moto_patches.requests import words_of

PATCHES = Patches()

GP3_IOPS = 3000
GP3_THROUGHPUT = 125
GP2_IOPS = range(100, 16_001)
GP2_IOPS_PER_GIB = 3


UNKNOWN_KEY = "00000000-0000-4000-8000-000000000000"
"""The id of a KMS key that does not exist; all other keys do."""
MOST_IOPS = {"gp3": 80_000, "io1": 64_000, "io2": 256_000}
MOST_IOPS_PER_GIB = {"gp3": 500, "io1": 50, "io2": 1000}


MOST_GIB = {"gp3": 65_536, "io2": 65_536, "standard": 1024}
"""The largest sizes; those of the other types are `USUAL_GIB` (API model, CreateVolumeRequest, Size)."""
USUAL_GIB = 16_384
LEAST_GIB = {"io1": 4, "io2": 4, "st1": 125, "sc1": 125}
"""The smallest sizes; other types begin at 1 GiB (the same)."""


def check_type(volume_type: str | None) -> None:
    """Refuse an unknown type; code and message: hashicorp/terraform-provider-aws issue 42957."""
    if volume_type is not None and volume_type not in words_of("VolumeType"):
        refuse("UnknownVolumeType", f"Unsupported volume type '{volume_type}' for volume creation.")


def check_size(volume_type: str, size: int) -> None:
    """Refuse a size beyond the type's limits.

    The message for too much is quoted in fog/fog-aws issue 186, without a code; code and message for too
    little in sodafoundation/strato issue 1116.
    """
    most, least = MOST_GIB.get(volume_type, USUAL_GIB), LEAST_GIB.get(volume_type, 1)
    if size < least:
        refuse(
            "InvalidParameterValue",
            f"The volume size is invalid for {volume_type} volumes: {size} GiB. {volume_type} volumes must "
            f"be at least {least} GiB in size. Please specify a volume size above the minimum limit.",
        )
    if size > most:
        refuse(
            "InvalidParameterValue",
            f"Volume of {size}GiB is too large for volume type {volume_type}; maximum is {most}GiB",
        )


def check_iops(volume_type: str, size: int, iops: int | None) -> None:
    """Refuse iops that are too many for a volume's type or size.

    The figures are the EBS user guide's ("Amazon EBS volume types"); the words are EC2's as quoted in
    rocicorp/mono PR 4410 and kubernetes-sigs/aws-ebs-csi-driver, pkg/cloud/cloud.go.
    """
    if volume_type not in MOST_IOPS or not iops or (iops <= GP3_IOPS and volume_type == "gp3"):
        return
    most, ratio = MOST_IOPS[volume_type], MOST_IOPS_PER_GIB[volume_type]
    if iops <= most and iops <= ratio * size:
        return
    if volume_type == "io2":
        refuse(
            "InvalidParameterCombination",
            "io2 volumes configured with greater than 64 TiB or 256K IOPS or 1000:1 IOPS:GB ratio are not "
            "supported",
        )
    if iops > most:
        refuse("InvalidParameterValue", f"Volume iops of {iops} is too high; maximum is {most}.")
    refuse(
        "InvalidParameterValue",
        f"Iops to volume size ratio of {iops / size:f} is too high; maximum is {ratio}",
    )


def settle_performance(volume: Any) -> None:
    """Give a volume the default figures of its type where the request named none."""
    if volume.volume_type == "gp3":
        volume.iops = volume.iops or GP3_IOPS
        volume.throughput = volume.throughput or GP3_THROUGHPUT
        return
    volume.throughput = None
    if volume.volume_type == "gp2":
        by_size = GP2_IOPS_PER_GIB * int(volume.size)
        volume.iops = min(max(by_size, GP2_IOPS[0]), GP2_IOPS[-1])
    elif volume.volume_type not in {"io1", "io2"}:
        volume.iops = None


@PATCHES.around(EBSBackend, "create_volume")
def whole_volume(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 shows the type's own iops and throughput, and the snapshot's key.

    It refuses unknown types, too small and too large volumes, and too many iops. moto set the iops of gp3
    only, accepted any type and number, and did not take over the snapshot's key. RunInstances creates the
    volumes of its block devices with this function, too.
    """
    check_type(keywords.get("volume_type"))
    volume = original(backend, *positional, **keywords)
    settle_performance(volume)
    try:
        check_size(volume.volume_type, int(volume.size))
        check_iops(volume.volume_type, int(volume.size), int(volume.iops) if volume.iops else None)
    except EC2ClientError:
        del backend.volumes[volume.id]
        raise
    snapshot = backend.snapshots.get(volume.snapshot_id)
    if snapshot is not None and snapshot.encrypted and not volume.kms_key_id:
        volume.kms_key_id = snapshot.kms_key_id
    return volume


@PATCHES.around(EBSBackend, "describe_volumes")
def volumes_of_an_unknown_key(
    original: Original,
    backend: Any,
    volume_ids: list[str] | None = None,
    filters: Any = None,
) -> Any:
    """EBS answers success for a KMS key that does not exist, and then drops the volume; moto kept it.

    "Amazon EBS authenticates the KMS key asynchronously. Therefore, if you specify an ID, alias, or ARN that
    is not valid, the action can appear to complete, but eventually fails" (EC2 API reference, CreateVolume).
    """
    for volume in list(backend.volumes.values()):
        if str(volume.kms_key_id).endswith(UNKNOWN_KEY):
            del backend.volumes[volume.id]
    return original(backend, volume_ids, filters)


@PATCHES.around(ElasticBlockStore, "create_volume")
def known_zone(original: Original, response: Any) -> Any:
    """EC2 refuses an unknown zone; moto accepted it."""
    zone = parameter(response, "AvailabilityZone")
    if response.ec2_backend.get_zone_by_name(zone) is None:
        refuse("InvalidZone.NotFound", f"The zone '{zone}' does not exist.")
    return original(response)


DEVICE_NAME = re.compile(r"/dev/(sd[a-z]|sda[12]|xvd[a-z]|xvd[a-c][a-z]|xvdd[a-x])")
"""The names that EC2 accepts on HVM: EC2 user guide, "Device names for volumes";
kubernetes-sigs/aws-ebs-csi-driver, pkg/cloud/devicemanager/device_names.go ("discovered by trial and
error")."""


def check_attachable(volume: Any, instance: Any, device: str) -> None:
    """Refuse an attachment that EC2 refuses.

    Code and message for a volume that is being modified: hashicorp/terraform-provider-aws issue 17547.
    """
    if instance.state not in {"pending", "running", "stopping", "stopped"}:
        refuse("IncorrectState", f"Instance '{instance.id}' is not 'running'.")
    if volume.attachment:
        refuse("VolumeInUse", f"{volume.id} is already attached to an instance")
    if any(each.modification_state == "modifying" for each in volume.modifications):
        refuse(
            "OperationNotPermitted",
            f"Cannot attach volume {volume.id} when it is in modification state: MODIFYING",
        )
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

    moto attached it any number of times, across zones, under names in use, while it was modified and to
    terminated instances; the attachment lacked DeleteOnTermination.
    """
    volume = backend.get_volume(volume_id)
    instance = backend.get_instance(instance_id)
    check_attachable(volume, instance, device_path)
    attachment = original(backend, volume_id, instance_id, device_path, delete_on_termination)
    attachment.delete_on_termination = delete_on_termination
    return attachment


@PATCHES.around(ElasticBlockStore, "attach_volume")
def attached_to_card(original: Original, response: Any) -> Any:
    """EC2 attaches a volume to an EBS card, by default 0, and shows which; moto knew no cards."""
    result = original(response)
    attachment = response.ec2_backend.get_volume(result.result["VolumeId"]).attachment
    shown = attachment.instance.block_device_mapping[attachment.device]
    result.result["EbsCardIndex"] = int(parameter(response, "EbsCardIndex", 0))
    attachment.ebs_card_index = shown.ebs_card_index = result.result["EbsCardIndex"]
    return result


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
