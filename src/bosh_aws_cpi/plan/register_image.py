"""RegisterImage's arguments for a heavy stemcell."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import tag_plan
from bosh_aws_cpi.properties.stemcell import HeavyStemcellProperties

ROOT_DEVICE: Final = "/dev/xvda"
PARAVIRTUAL_DEVICE: Final = "/dev/sda"
_PARTITION_BOOT: Final = re.compile(r"-hd00[-_](\d+)\.(\d+)")
"""The names of Amazon's pv-grub kernel images for a root device that is a partition, /dev/sda1."""
_DISK_BOOT: Final = re.compile(r"-hd0[-_](\d+)\.(\d+)")


def description(properties: HeavyStemcellProperties) -> str | None:
    """``NAME VERSION``; None unless both are given."""
    if properties.name and properties.version:
        return f"{properties.name} {properties.version}"[: tag_plan.MAX_DESCRIPTION]
    return None


def arguments(
    properties: HeavyStemcellProperties,
    *,
    name: str,
    snapshot_id: str,
    kernel_id: str | None,
    tags: Mapping[str, str],
) -> Json:
    """RegisterImage's arguments.

    They contain no encryption: the AMI inherits it from the snapshot, and EC2 refuses it here.

    Args:
        properties: The stemcell's cloud properties.
        name: The AMI's name, which is unique.
        snapshot_id: The snapshot for its root device.
        kernel_id: The kernel image of a paravirtual AMI.
        tags: The stemcell's tags.
    """
    text = description(properties)
    device = PARAVIRTUAL_DEVICE if properties.is_paravirtual else ROOT_DEVICE
    if properties.is_paravirtual:
        kind = {"RootDeviceName": properties.root_device_name, "KernelId": kernel_id}
    else:
        kind = {"RootDeviceName": ROOT_DEVICE, "SriovNetSupport": "simple", "BootMode": properties.boots_by}
    optional = {
        **kind,
        "Description": text,
        "EnaSupport": not properties.is_paravirtual,
        "ImdsSupport": properties.imds_support,
        "TpmSupport": properties.tpm_support,
    }
    return {
        "Name": name,
        "Architecture": properties.architecture,
        "VirtualizationType": properties.virtualization_type,
        **{key: value for key, value in optional.items() if value},
        "BlockDeviceMappings": [
            {"DeviceName": device, "Ebs": {"SnapshotId": snapshot_id, "DeleteOnTermination": True}},
            {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"},
        ],
        **tag_plan.specifications({**tags, **({"Name": text} if text else {})}, "image"),
    }


def newest_kernel(kernels: Iterable[tuple[str, str]], root_device_name: str | None) -> str:
    """The newest of Amazon's pv-grub kernel images for a root device.

    Args:
        kernels: (id, image location) of each.
        root_device_name: Determines whether the AMI boots from a partition or a disk.

    Raises:
        CloudError: There is none.
    """
    pattern = _PARTITION_BOOT if root_device_name == "/dev/sda1" else _DISK_BOOT
    matching = [
        ((int(match[1]), int(match[2])), kernel_id)
        for kernel_id, location in kernels
        if (match := pattern.search(location))
    ]
    if not matching:
        raise CloudError(
            "unable to find AKI. Amazon has no kernel for paravirtual AMIs of that architecture here: "
            "use a stemcell with virtualization_type hvm"
        )
    return max(matching)[1]
