"""The options that only some instance types support, and the requirements of hibernation."""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import MIB_PER_GIB, Image, InstanceTypeFacts
from bosh_aws_cpi.plan import block_devices, ebs
from bosh_aws_cpi.plan.block_devices import EPHEMERAL_NAME, TYPES, BlockDevices, root_device_name
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.types import Problem, Review
from bosh_aws_cpi.properties.vm import VmProperties

_NEEDING_NOTHING: Final = (None, False, "default", "disabled", "prefer")
"""Values of properties that every instance type supports: as if the property was not given."""


def plan_type(
    properties: VmProperties, image: Image, of_type: InstanceTypeFacts, defaults: DiskDefaults, review: Review
) -> BlockDevices:
    """Plan the block devices for an instance type, and find out why it can't be launched.

    Args:
        properties: The VM's cloud properties.
        image: The stemcell's AMI.
        of_type: The instance type to launch; EC2 checks what is not known of it.
        defaults: The configuration's.
        review: Collects the problems, that EBS would refuse a disk, or that the type lacks something that the
            properties request, and what is ignored.
    """
    problems = review.problems
    if properties.ebs_optimized and of_type.ebs_optimized == "unsupported":
        text = f"ebs_optimized requested for instance type '{of_type.name}' that can't be EBS-optimised"
        problems.append(Problem("ebs_optimized", text, TYPES))
    devices = block_devices.plan_devices(properties, image, of_type, defaults, review)
    credit = properties.credit_specification
    is_unlimited = credit is not None and credit.cpu_credits == "unlimited"
    if is_unlimited and properties.dedicated_host and of_type.name.startswith("t3."):
        text = (
            f"credit_specification unlimited requested for instance type '{of_type.name}' on a Dedicated "
            "Host, where EC2 launches it only with standard: use standard, or remove the property"
        )
        problems.append(Problem("credit_specification", text, ("dedicated_host", *TYPES)))
    problems += [
        unsupported(name, of_type) for name in sorted(of_type.lacks) if _is_requested(properties, name)
    ]
    if properties.hibernation:
        problems += _of_hibernation(image, of_type, devices)
    return devices


def unsupported(name: str, of_type: InstanceTypeFacts, whose: str = "") -> Problem:
    """The problem that an instance type does not support a requested option, which may be a network's."""
    text = (
        f"{name}{whose} requested for instance type '{of_type.name}' that does not support it: use other "
        "types (including fallbacks), or remove the property"
    )
    return Problem(name, text, TYPES)


def hibernation_warning(
    properties: VmProperties, image: Image, of_type: InstanceTypeFacts, devices: BlockDevices
) -> str:
    """Return why a launch with hibernation may fail, though `plan_type` finds no problem; or "".

    EC2 wants room for the memory and for "OS or applications", without a number (EC2 user guide,
    "Prerequisites for EC2 instance hibernation"). The stemcell's files rarely fill its disk.
    """
    name = root_device_name(image)
    root = next(each["Ebs"] for each in devices.mappings if each["DeviceName"] == name)
    size, roomy = _root_mib(root, image), _size_for_memory(image, of_type)
    if not (properties.hibernation and image.root_gib and of_type.memory_mib) or size >= roomy:
        return ""
    return (
        f"The root disk of {size} MiB may be too small for hibernation: the memory of '{of_type.name}' and "
        f"the stemcell's disk together have {roomy} MiB. If the launch or the hibernation fails, increase "
        "root_disk.size"
    )


def _is_requested(properties: VmProperties, name: str) -> bool:
    """Whether a VM needs an option; a network's option has no effect among the VM's own properties."""
    first, _, key = name.partition(".")
    if first not in VmProperties.model_fields:
        return False
    value = getattr(properties, first)
    return (getattr(value, key, None) if key else value) not in _NEEDING_NOTHING


def _of_hibernation(image: Image, of_type: InstanceTypeFacts, devices: BlockDevices) -> Iterator[Problem]:
    """Yield what the disks lack (EC2 user guide, "Prerequisites for EC2 instance hibernation").

    An account may encrypt all volumes by default, which the CPI can't see; ``encrypted`` is needed even then.
    """
    volumes = {device["DeviceName"]: device["Ebs"] for device in devices.mappings if "Ebs" in device}
    root = volumes[root_device_name(image)]
    types = {name: volume["VolumeType"] for name, volume in volumes.items()}
    unfit = next((name for name, kind in types.items() if not ebs.limits_of(kind).hibernates), None)
    size = _root_mib(root, image)
    if not root.get("Encrypted") and not image.is_encrypted:
        needed = "an encrypted root disk: set root_disk.encrypted to true"
    elif unfit is not None:
        key = "ephemeral_disk" if unfit == EPHEMERAL_NAME else "root_disk"
        needed = f"disks of type gp3, gp2, io2 or io1: change {key}.type from {types[unfit]}"
    elif 0 < size <= of_type.memory_mib:
        enough = f" to {_size_for_memory(image, of_type)} MiB, which hold the stemcell's disk, too"
        needed = (
            f"a root disk that is larger than the {of_type.memory_mib} MiB of memory of '{of_type.name}': "
            f"increase root_disk.size{enough if image.root_gib else ''}"
        )
    else:
        return
    yield Problem("hibernation", f"hibernation needs {needed}", TYPES)


def _root_mib(root: Json, image: Image) -> int:
    """The size of the root disk; 0 when it is not known."""
    return int(max(root.get("VolumeSize", 0), image.root_gib)) * MIB_PER_GIB


def _size_for_memory(image: Image, of_type: InstanceTypeFacts) -> int:
    """Return a size of the root disk, in MiB, that holds the memory and a full stemcell's disk."""
    return of_type.memory_mib + image.root_gib * MIB_PER_GIB
