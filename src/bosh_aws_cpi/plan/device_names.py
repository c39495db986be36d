"""Device names for attached disks, and where the guest finds them."""

from collections.abc import Iterable

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Instance, InstanceTypeFacts

PERSISTENT_DISK_NAMES = tuple(f"/dev/sd{letter}" for letter in "fghijklmnop")
"""What EC2 recommends for EBS data volumes on every type."""

_NVME_BY_ID = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"


FURTHER_DISK_NAMES = tuple(
    f"/dev/xvd{stem}{letter}" for stem in "bc" for letter in "abcdefghijklmnopqrstuvwx"
)
"""What EC2 takes besides on HVM, for types that take more volumes."""


def first_free(taken: Iterable[str], further: Iterable[str] = ()) -> str:
    """The first name for a persistent disk that the instance does not use yet.

    ``/dev/xvdf`` takes ``/dev/sdf`` too: in the guest they are one.

    Args:
        taken: The names that are in use.
        further: Names beyond the usual ones that the instance takes; see `further_names`.

    Raises:
        CloudError: All are taken.
    """
    name = _free(taken, (*PERSISTENT_DISK_NAMES, *further))
    if name is None:
        message = "Instance has too many disks attached"
        raise CloudError(message)
    return name


def has_usual_name_free(taken: Iterable[str]) -> bool:
    """Whether the next persistent disk gets a name that every type takes."""
    return _free(taken, PERSISTENT_DISK_NAMES) is not None


def _free(taken: Iterable[str], names: Iterable[str]) -> str | None:
    used = {name.replace("/dev/xvd", "/dev/sd") for name in taken}
    return next((name for name in names if name.replace("/dev/xvd", "/dev/sd") not in used), None)


def further_names(instance: Instance, facts: InstanceTypeFacts) -> tuple[str, ...]:
    """The names beyond the usual ones that an instance takes: on HVM and Nitro, up to the type's limit.

    Those that raw disks of an instance store have, which EC2 does not show, are left out.
    """
    is_full = len(instance.devices) >= facts.max_ebs_attachments
    if is_full or instance.virtualization_type != "hvm" or not facts.ebs_needs_nvme_path:
        return ()
    return FURTHER_DISK_NAMES[0 if facts.store_is_nvme else facts.store_disks :]


def guest_paths(device_name: str, disk_cid: str) -> list[str]:
    """Every path at which a Linux guest may show an attached EBS volume."""
    xen = device_name.replace("/dev/sd", "/dev/xvd")
    return [_nvme_path(disk_cid), xen, device_name]


def guest_path(device_name: str, disk_cid: str, facts: InstanceTypeFacts) -> str:
    """Where the agent finds an attached EBS volume.

    On Nitro the guest numbers its NVMe devices as it likes; udev's link is what stays.
    """
    return _nvme_path(disk_cid) if facts.ebs_needs_nvme_path else device_name


def _nvme_path(disk_cid: str) -> str:
    """Udev's link to a volume, which carries the volume's id without its hyphen."""
    return _NVME_BY_ID + disk_cid.replace("-", "", 1)
