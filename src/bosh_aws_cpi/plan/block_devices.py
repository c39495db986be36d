"""The block devices of a VM. Sizes are MiB in, GiB out, rounded up."""

from collections.abc import Sequence

from bosh_aws_cpi.errors import NotSupported
from bosh_aws_cpi.model import BlockDevices, Encryption, Image, Json, gib
from bosh_aws_cpi.plan.instance_types import default_ephemeral_gib
from bosh_aws_cpi.properties import EphemeralDisk, RootDisk, VmProperties

EPHEMERAL_NAME = "/dev/sdb"

_TAKES_IOPS = frozenset({"io1", "io2", "gp3"})
_TAKES_THROUGHPUT = frozenset({"gp3"})


def block_devices(properties: VmProperties, image: Image, default: Encryption) -> BlockDevices:
    """Plan the root and the ephemeral disk.

    Args:
        properties: The VM's cloud properties.
        image: The stemcell's AMI.
        default: The configuration's encryption, for the ephemeral disk alone.

    Raises:
        NotSupported: The AMI is a paravirtual one.
    """
    if image.virtualization_type != "hvm":
        message = (
            f"Not supported yet by this CPI: virtualization type '{image.virtualization_type}' "
            f"of AMI '{image.ami_id}'. Nothing was created"
        )
        raise NotSupported(message)
    name = root_device_name(image.root_device_name, image.block_device_names)
    root, left_out = _root(properties.root_disk, name)
    if properties.ephemeral_disk.use_root_disk:
        return BlockDevices([root], ephemeral=None, left_out=left_out)
    ephemeral = _ephemeral(properties.ephemeral_disk, str(properties.instance_type), default)
    return BlockDevices([ephemeral, root], ephemeral=EPHEMERAL_NAME, left_out=left_out)


def root_device_name(name: str, device_names: Sequence[str]) -> str:
    """The device name to map the root disk under.

    It is the AMI's block device equal to the root device name, else the one that the root
    device name starts with: a partition (/dev/sda1) on a whole disk (/dev/sda).
    """
    if name in device_names:
        return name
    return next((device for device in device_names if device and name.startswith(device)), "/dev/xvda")


def _root(disk: RootDisk, device_name: str) -> tuple[Json, list[str]]:
    ebs: Json = {"VolumeType": disk.type, "DeleteOnTermination": True}
    if disk.size is not None:
        ebs["VolumeSize"] = gib(disk.size)
    left_out = []
    for key, value, takers in (
        ("Iops", disk.iops, _TAKES_IOPS),
        ("Throughput", disk.throughput, _TAKES_THROUGHPUT),
    ):
        if value is not None and disk.type in takers:
            ebs[key] = value
        elif value is not None:
            left_out.append(f"root_disk.{key.lower()}, which EBS type {disk.type} does not take")
    return {"DeviceName": device_name, "Ebs": ebs}, left_out


def _ephemeral(disk: EphemeralDisk, instance_type: str, default: Encryption) -> Json:
    size = gib(disk.size) if disk.size is not None else default_ephemeral_gib(instance_type)
    ebs: Json = {"VolumeSize": size, "VolumeType": disk.type, "DeleteOnTermination": True}
    if disk.iops is not None:
        ebs["Iops"] = disk.iops
    if disk.throughput is not None:
        ebs["Throughput"] = disk.throughput
    encryption = disk.encryption(default)
    if encryption.encrypted:
        ebs.update(encryption.arguments())
    return {"DeviceName": EPHEMERAL_NAME, "Ebs": ebs}
