"""Device names for attached disks, and where the guest finds them."""

from collections.abc import Iterable

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import InstanceTypeFacts

PERSISTENT_DISK_NAMES = tuple(f"/dev/sd{letter}" for letter in "fghijklmnop")
"""What EC2 recommends for EBS data volumes on every type."""

_NVME_BY_ID = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"


def first_free(taken: Iterable[str]) -> str:
    """The first name for a persistent disk that the instance does not use yet.

    ``/dev/xvdf`` takes ``/dev/sdf`` too: in the guest they are one.

    Raises:
        CloudError: All are taken.
    """
    used = {name.replace("/dev/xvd", "/dev/sd") for name in taken}
    for name in PERSISTENT_DISK_NAMES:
        if name not in used:
            return name
    message = "Instance has too many disks attached"
    raise CloudError(message)


def guest_paths(device_name: str, disk_cid: str) -> list[str]:
    """Every path at which a Linux guest may show an attached EBS volume."""
    xen = device_name.replace("/dev/sd", "/dev/xvd")
    return [_NVME_BY_ID + disk_cid.replace("-", "", 1), xen, device_name]


def guest_path(device_name: str, disk_cid: str, facts: InstanceTypeFacts) -> str:
    """Where the agent finds an attached EBS volume.

    On Nitro the guest numbers its NVMe devices as it likes; udev's link carries the volume's
    id without its hyphen.
    """
    return _NVME_BY_ID + disk_cid.replace("-", "", 1) if facts.ebs_needs_nvme_path else device_name
