"""Plans the block devices of a VM. Sizes in properties are in MiB; EBS's are in GiB, rounded up."""

from collections.abc import Iterator, Sequence
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Image, InstanceTypeFacts, gib
from bosh_aws_cpi.plan import ebs
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.plan.instance_types import default_ephemeral_gib
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.properties.vm_disks import RootDisk
from bosh_aws_cpi.records import Record

EPHEMERAL_NAME: Final = "/dev/sdb"
_IN_STORE: Final = "ephemeral_disk.use_instance_storage"
_FALLBACK_ROOT: Final = {"hvm": "/dev/xvda", "paravirtual": "/dev/sda"}
_FIRST_RAW: Final = {"hvm": "/dev/xvdba", "paravirtual": "/dev/sdc"}
_MOST_RAW: Final = {"hvm": 26, "paravirtual": 24}
"""The maximum number of raw disks: one per letter, from the first name's on."""


class BlockDevices(Record):
    """The block devices of a VM, for EC2 and for the agent."""

    mappings: Sequence[Json]
    """RunInstances' BlockDeviceMappings."""
    ephemeral: str | None
    """Device name of the ephemeral disk; None when it is on the root disk."""
    raw_ephemeral: Sequence[str] = ()
    """Device names of the instance store's disks that the agent uses as raw disks."""
    left_out: Sequence[str] = ()
    """Properties that are not passed to EC2, each with the reason."""
    key_texts: Sequence[str] = ()
    """The KMS keys that encrypt the volumes, as `Encryption.key_text` shows them."""


def planned(
    properties: VmProperties, image: Image, facts: InstanceTypeFacts, defaults: DiskDefaults
) -> tuple[BlockDevices, list[Problem]]:
    """Plan the root disk, the ephemeral disk and the disks of the instance store.

    Args:
        properties: The VM's cloud properties.
        image: The stemcell's AMI.
        facts: The instance type to launch.
        defaults: The configuration's.

    Returns:
        The block devices, and the problems: the type lacks the requested instance store, or EBS would refuse
        a disk.
    """
    problems = [*_of_instance_store(properties, facts, defaults)]
    root, left_out, of_root = _root(properties.root_disk, image, defaults)
    problems += of_root
    disk = properties.ephemeral_disk
    encryptions = defaults.encryptions(properties.root_disk, disk)
    for name, (own, encryption) in encryptions.items():
        if why := own.unused_key(encryption):
            left_out.append(f"{name}.kms_key_arn, which {why}")
    key_texts = tuple(filter(None, (encryption.key_text for _, encryption in encryptions.values())))
    if disk.use_root_disk:
        return BlockDevices([root], ephemeral=None, left_out=left_out, key_texts=key_texts), problems
    if disk.use_instance_storage:
        ephemeral: Json = {"DeviceName": EPHEMERAL_NAME, "VirtualName": "ephemeral0"}
    else:
        ephemeral, of_ephemeral = _ephemeral(properties, facts, defaults)
        problems += of_ephemeral
    raw = _raw_names(image, facts) if properties.raw_instance_storage else []
    # EC2 attaches NVMe instance stores by itself.
    mapped = [] if facts.store_is_nvme else raw
    devices = BlockDevices(
        [
            ephemeral,
            *({"DeviceName": name, "VirtualName": f"ephemeral{n}"} for n, name in enumerate(mapped)),
            root,
        ],
        ephemeral=EPHEMERAL_NAME,
        raw_ephemeral=raw,
        left_out=left_out,
        key_texts=key_texts,
    )
    return devices, problems


def root_device_name(image: Image) -> str:
    """The device name for the root disk.

    It is the AMI's block device with the root device name, or else the disk (/dev/sda) that the root
    device is a partition of (/dev/sda1).
    """
    name, devices = image.root_device_name, image.block_device_names
    if name in devices:
        return name
    whole = next((device for device in devices if device and name.startswith(device)), None)
    return whole or _FALLBACK_ROOT.get(image.virtualization_type, "/dev/xvda")


def _of_instance_store(
    properties: VmProperties, facts: InstanceTypeFacts, defaults: DiskDefaults
) -> Iterator[Problem]:
    disk = properties.ephemeral_disk
    is_used = disk.use_instance_storage and not disk.use_root_disk
    if is_used and properties.raw_instance_storage:
        text = "ephemeral_disk.use_instance_storage and raw_instance_storage cannot both be true"
        yield Problem(_IN_STORE, text)
        return
    is_described = bool({"size", "type", "iops"} & disk.model_fields_set)
    if is_used and (is_described or defaults.ephemeral_encryption(disk).encrypted):
        text = "use_instance_storage cannot be combined with additional ephemeral_disk properties"
        is_own = is_described or "encrypted" in disk.model_fields_set
        if not is_own and defaults.ephemeral_disk.encrypted:
            text += (
                ": aws.default_ephemeral_disk.encrypted is true; "
                "set ephemeral_disk.encrypted to false for this VM"
            )
        yield Problem(_IN_STORE, text)
        return
    asked = {"raw_instance_storage": properties.raw_instance_storage, _IN_STORE: is_used}
    for key in (key for key, is_asked in asked.items() if is_asked):
        name = key.removeprefix("ephemeral_disk.")
        if not facts.store_disks:
            text = f"{name} requested for instance type '{facts.name}' that does not have instance storage"
            yield Problem(key, text)
            continue
        logger.debug("%s: '%s' has %d x %d GiB", name, facts.name, facts.store_disks, facts.store_gib)
    if is_used and facts.store_is_nvme:
        # EC2 API reference, BlockDeviceMapping: including NVMe instance store volumes "has no effect".
        text = (
            f"use_instance_storage requested for instance type '{facts.name}', whose instance storage is "
            f"NVMe: such a VM has no {EPHEMERAL_NAME}. Remove {_IN_STORE}; "
            "raw_instance_storage gives the disks to the VM's jobs, ephemeral_disk.use_root_disk puts the "
            "agent's data on the root disk"
        )
        yield Problem(_IN_STORE, text)


def _root(own: RootDisk, image: Image, defaults: DiskDefaults) -> tuple[Json, list[str], Iterator[Problem]]:
    """The device, what is left out, and the problems."""
    merged = defaults.root(own)
    disk = merged.disk
    ebs_device: Json = {"VolumeType": disk.type, "DeleteOnTermination": True}
    if disk.size is not None:
        ebs_device["VolumeSize"] = gib(disk.size)
    left_out = []
    limits = ebs.limits_of(disk.type)
    for key, value, is_taken in (
        ("Iops", disk.iops, limits.takes_iops),
        ("Throughput", disk.throughput, limits.takes_throughput),
    ):
        if value is not None and is_taken:
            ebs_device[key] = value
        elif value is not None:
            source = merged.origin.sources(["type"])
            left_out.append(f"root_disk.{key.lower()}, which EBS type {disk.type} does not accept{source}")
    size = ebs_device.get("VolumeSize") or image.root_gib or None
    if "size" in merged.origin.inherited and not image.root_gib:
        size = None  # the AMI is not known, and may raise it: see `DiskDefaults.for_image`
    volume = ebs.EbsVolume(disk.type, ebs_device.get("Iops"), ebs_device.get("Throughput"), size)
    if own.volume_initialization_rate is not None:
        ebs_device["VolumeInitializationRate"] = own.volume_initialization_rate
    ebs_device.update(defaults.root_encryption(own).arguments())
    device = {"DeviceName": root_device_name(image), "Ebs": ebs_device}
    return device, left_out, ebs.problems(volume, "root disk", merged.origin)


def _ephemeral(
    properties: VmProperties, facts: InstanceTypeFacts, defaults: DiskDefaults
) -> tuple[Json, Iterator[Problem]]:
    """The device, and the problems."""
    own = properties.ephemeral_disk
    merged = defaults.ephemeral(own)
    disk = merged.disk
    if disk.size is not None:
        size = gib(disk.size)
    else:
        size = default_ephemeral_gib(facts.name, is_store_raw=properties.raw_instance_storage)
    volume = ebs.EbsVolume(disk.type, disk.iops, disk.throughput, size)
    ebs_device: Json = {"VolumeSize": size, "VolumeType": disk.type, "DeleteOnTermination": True}
    if disk.iops is not None:
        ebs_device["Iops"] = disk.iops
    if disk.throughput is not None:
        ebs_device["Throughput"] = disk.throughput
    ebs_device.update(defaults.ephemeral_encryption(own).arguments())
    problems = ebs.problems(volume, "ephemeral disk", merged.origin)
    return {"DeviceName": EPHEMERAL_NAME, "Ebs": ebs_device}, problems


def _raw_names(image: Image, facts: InstanceTypeFacts) -> Sequence[str]:
    if facts.store_is_nvme:
        return [f"/dev/nvme{number}n1" for number in range(facts.store_disks)]
    first = _FIRST_RAW.get(image.virtualization_type)
    if first is None:
        message = f"unknown virtualization type {image.virtualization_type}"
        raise CloudError(message)
    stem, letter = first[:-1], ord(first[-1])
    count = min(facts.store_disks, _MOST_RAW[image.virtualization_type])
    return [f"{stem}{chr(letter + number)}" for number in range(count)]
