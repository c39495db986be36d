"""Plans the block devices of a VM. Sizes in properties are in MiB; EBS's are in GiB, rounded up."""

from collections.abc import Iterator, Sequence
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import MIB_PER_GIB, Encryption, Image, InstanceTypeFacts, gib
from bosh_aws_cpi.plan import ebs
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.plan.instance_types import default_ephemeral_gib
from bosh_aws_cpi.properties.types import Problem, Review
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.records import Record

EPHEMERAL_NAME: Final = "/dev/sdb"
TYPES: Final = ("instance_type", "instance_type_fallbacks")
"""The properties that a problem with an instance type's disks names."""
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
    key_texts: Sequence[str] = ()
    """The KMS keys that encrypt the volumes, as `Encryption.key_text` shows them."""


def plan_devices(
    properties: VmProperties, image: Image, of_type: InstanceTypeFacts, defaults: DiskDefaults, review: Review
) -> BlockDevices:
    """Plan the root disk, the ephemeral disk and the disks of the instance store.

    Args:
        properties: The VM's cloud properties.
        image: The stemcell's AMI.
        of_type: The instance type to launch.
        defaults: The configuration's.
        review: Collects the problems, that the type lacks the requested instance store, or that EBS would
            refuse a disk, and the properties that are not passed to EC2.
    """
    review.problems += _of_instance_store(properties, of_type, defaults)
    own = properties.ephemeral_disk
    encryptions = defaults.encryptions(properties.root_disk, own)
    root = _root(properties.root_disk, image, defaults, encryptions["root_disk"][1], review)
    for name, (disk, encryption) in encryptions.items():
        if (key := encryption.unused_key) and not disk.kms_key_arn:
            text = f"Ignored: {key}, because {name}.encrypted is not true"
            review.ignore(key, text, f"{name}.encrypted")
    key_texts = tuple(filter(None, (encryption.key_text for _, encryption in encryptions.values())))
    if own.use_root_disk:
        return BlockDevices([root], ephemeral=None, key_texts=key_texts)
    if own.use_instance_storage:
        ephemeral: Json = {"DeviceName": EPHEMERAL_NAME, "VirtualName": "ephemeral0"}
    else:
        merged, origin = defaults.ephemeral(own)
        default = default_ephemeral_gib(of_type, is_store_raw=properties.raw_instance_storage)
        size = default if merged.size is None else gib(merged.size)
        ephemeral = _device(EPHEMERAL_NAME, merged, size, encryptions["ephemeral_disk"][1])
        also = TYPES if merged.size is None else ()
        review.problems += ebs.problems(ebs.of_vm(merged, size), "ephemeral disk", origin, also)
    raw = _raw_names(image, of_type) if properties.raw_instance_storage else []
    # EC2 attaches NVMe instance stores by itself.
    mapped = [] if of_type.store_is_nvme else raw
    store = [{"DeviceName": name, "VirtualName": f"ephemeral{n}"} for n, name in enumerate(mapped)]
    return BlockDevices([ephemeral, *store, root], EPHEMERAL_NAME, raw, key_texts)


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
    properties: VmProperties, of_type: InstanceTypeFacts, defaults: DiskDefaults
) -> Iterator[Problem]:
    disk = properties.ephemeral_disk
    is_used = disk.use_instance_storage and not disk.use_root_disk
    if is_used and properties.raw_instance_storage:
        text = "ephemeral_disk.use_instance_storage and raw_instance_storage cannot both be true"
        yield Problem(_IN_STORE, text, ("raw_instance_storage",))
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
        if not of_type.store_disks:
            text = f"{name} requested for instance type '{of_type.name}' that does not have instance storage"
            yield Problem(key, text, TYPES)
    if is_used and of_type.store_is_nvme:
        # EC2 API reference, BlockDeviceMapping: including NVMe instance store volumes "has no effect".
        text = (
            f"use_instance_storage requested for instance type '{of_type.name}', whose instance storage is "
            f"NVMe: such a VM has no {EPHEMERAL_NAME}. Remove {_IN_STORE}; "
            "raw_instance_storage gives the disks to the VM's jobs, ephemeral_disk.use_root_disk puts the "
            "agent's data on the root disk"
        )
        yield Problem(_IN_STORE, text, TYPES)


def _root(
    own: RootDisk, image: Image, defaults: DiskDefaults, encryption: Encryption, review: Review
) -> Json:
    disk, origin = defaults.root(own)
    limits = ebs.limits_of(disk.type)
    taken = {"iops": limits.takes_iops, "throughput": limits.takes_throughput}
    unfit = [key for key, is_taken in taken.items() if getattr(disk, key) is not None and not is_taken]
    why = f"which EBS type {disk.type} does not accept{origin.sources(['type'])}"
    for key in unfit:
        review.ignore(f"root_disk.{key}", f"Ignored: root_disk.{key}, {why}")
    disk = disk.model_copy(update=dict.fromkeys(unfit))
    size = None if disk.size is None else gib(disk.size)
    device = _device(root_device_name(image), disk, size, encryption)
    if own.volume_initialization_rate is not None:
        device["Ebs"]["VolumeInitializationRate"] = own.volume_initialization_rate
    if "size" in origin.inherited and not image.root_gib:
        size = None  # the AMI is not known, and may raise it: see `DiskDefaults.for_image`
    elif size is None:
        size = image.root_gib or None
    review.problems += ebs.problems(ebs.of_vm(disk, size), "root disk", origin)
    if own.size is not None and gib(own.size) < (least := image.root_gib):
        # EC2 API reference, EbsBlockDevice: a volume is at least as large as its snapshot.
        text = (
            f"cloud_properties.root_disk.size is {own.size} MiB, but the stemcell's disk has {least} GiB: "
            f"give at least {least * MIB_PER_GIB} MiB, or remove size"
        )
        review.problems.append(Problem("root_disk.size", text))
    return device


def _device(name: str, disk: RootDisk | EphemeralDisk, size: int | None, encryption: Encryption) -> Json:
    figures = {"VolumeSize": size, "Iops": disk.iops, "Throughput": disk.throughput}
    given = {key: value for key, value in figures.items() if value is not None}
    volume = {"VolumeType": disk.type, "DeleteOnTermination": True, **given, **encryption.arguments()}
    return {"DeviceName": name, "Ebs": volume}


def _raw_names(image: Image, of_type: InstanceTypeFacts) -> Sequence[str]:
    if of_type.store_is_nvme:
        return [f"/dev/nvme{number}n1" for number in range(of_type.store_disks)]
    first = _FIRST_RAW.get(image.virtualization_type)
    if first is None:
        raise CloudError(f"unknown virtualization type {image.virtualization_type}")
    stem, letter = first[:-1], ord(first[-1])
    count = min(of_type.store_disks, _MOST_RAW[image.virtualization_type])
    return [f"{stem}{chr(letter + number)}" for number in range(count)]
