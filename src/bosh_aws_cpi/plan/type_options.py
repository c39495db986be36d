"""The launch options that not every instance type supports, and what hibernation needs."""

from collections.abc import Mapping
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import MIB_PER_GIB, BlockDevices, Image, InstanceTypeFacts, TypeOption
from bosh_aws_cpi.plan.block_devices import EPHEMERAL_NAME, root_device_name
from bosh_aws_cpi.properties.vm import VmProperties

_HIBERNATING: Final = frozenset({"gp2", "gp3", "io1", "io2"})
"""The volume types that a hibernated VM can have."""


def check(properties: VmProperties, image: Image, facts: InstanceTypeFacts, devices: BlockDevices) -> None:
    """Check that a type supports the requested options; EC2 checks what is not known.

    Args:
        properties: The VM's cloud properties.
        image: The stemcell's AMI.
        facts: The instance type to launch.
        devices: Its block devices.

    Raises:
        CloudError: It lacks one, or its disks don't allow hibernation.
    """
    for name in asked(properties):
        if name in facts.lacks:
            message = (
                f"{name} requested for instance type '{facts.name}' that does not support it: use other "
                "types (including fallbacks), or remove the property"
            )
            raise CloudError(message)
    if properties.hibernation:
        _check_hibernation(image, facts, devices)


def hibernation_warning(
    properties: VmProperties, image: Image, facts: InstanceTypeFacts, devices: BlockDevices
) -> str:
    """Why a launch with hibernation may fail, though `check` accepts it; empty if no reason is known.

    EC2 wants room for the memory and for "OS or applications", without a number (EC2 user guide,
    "Prerequisites for EC2 instance hibernation"). The stemcell's files rarely fill its disk.
    """
    name = root_device_name(image)
    root = next(each["Ebs"] for each in devices.mappings if each["DeviceName"] == name)
    size, roomy = _root_mib(root, image), _roomy(image, facts)
    if not (properties.hibernation and image.root_gib and facts.memory_mib) or size >= roomy:
        return ""
    return (
        f"The root disk of {size} MiB may be too small for hibernation: the memory of '{facts.name}' and the "
        f"stemcell's disk together have {roomy} MiB. If the launch or the hibernation fails, increase "
        "root_disk.size"
    )


def asked(properties: VmProperties) -> list[TypeOption]:
    """The requested options."""
    cpu = properties.cpu_options
    wishes: dict[TypeOption, bool] = {
        "cpu_options.nested_virtualization": cpu is not None and cpu.nested_virtualization == "enabled",
        "cpu_options.amd_sev_snp": cpu is not None and cpu.amd_sev_snp == "enabled",
        "bandwidth_weighting": weighting(properties) is not None,
        "enclave": properties.enclave,
        "hibernation": properties.hibernation,
        "placement_partition": properties.placement_partition is not None,
        "primary_ipv6": properties.primary_ipv6,
        "spread": properties.spread,
    }
    return [name for name, is_asked in wishes.items() if is_asked]


def weighting(properties: VmProperties) -> str | None:
    """The bandwidth weighting to ask for; None for the default, which all types have."""
    return None if properties.bandwidth_weighting == "default" else properties.bandwidth_weighting


def _check_hibernation(image: Image, facts: InstanceTypeFacts, devices: BlockDevices) -> None:
    """Check the disks (EC2 user guide, "Prerequisites for EC2 instance hibernation").

    An account may encrypt all volumes by default, which the CPI can't see; ``encrypted`` is needed even then.
    """
    volumes = {device["DeviceName"]: device["Ebs"] for device in devices.mappings if "Ebs" in device}
    root = volumes[root_device_name(image)]
    problem: str | None
    if not root.get("Encrypted") and not image.is_encrypted:
        problem = "an encrypted root disk: set root_disk.encrypted to true"
    else:
        problem = _unfit_type(volumes) or _too_small(_root_mib(root, image), image, facts)
    if problem:
        message = f"hibernation needs {problem}"
        raise CloudError(message)


def _unfit_type(volumes: Mapping[str, Json]) -> str | None:
    for name, ebs in volumes.items():
        if ebs["VolumeType"] not in _HIBERNATING:
            key = "ephemeral_disk" if name == EPHEMERAL_NAME else "root_disk"
            return f"disks of type gp3, gp2, io2 or io1: change {key}.type from {ebs['VolumeType']}"
    return None


def _root_mib(root: Json, image: Image) -> int:
    """The size of the root disk; 0 when it is not known."""
    return int(max(root.get("VolumeSize", 0), image.root_gib)) * MIB_PER_GIB


def _too_small(size: int, image: Image, facts: InstanceTypeFacts) -> str | None:
    if not size or size > facts.memory_mib:
        return None
    enough = f" to {_roomy(image, facts)} MiB, which hold the stemcell's disk, too" if image.root_gib else ""
    return (
        f"a root disk that is larger than the {facts.memory_mib} MiB of memory of '{facts.name}': increase "
        f"root_disk.size{enough}"
    )


def _roomy(image: Image, facts: InstanceTypeFacts) -> int:
    """A size of the root disk, in MiB, with which it holds the memory even if the stemcell's disk is full."""
    return facts.memory_mib + image.root_gib * MIB_PER_GIB
