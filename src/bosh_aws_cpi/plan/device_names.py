"""Device names for attached disks, their EBS card, and their paths in the guest."""

from collections.abc import Iterable

from bosh_aws_cpi.model import Instance, InstanceTypeFacts

PERSISTENT_DISK_NAMES = tuple(f"/dev/sd{letter}" for letter in "fghijklmnop")
"""EC2's recommended names for EBS data volumes, on every type."""

_NVME_BY_ID = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"


def _names(stem: str, letters: str) -> list[str]:
    return [f"/dev/{stem}{letter}" for letter in letters]


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
FURTHER_DISK_NAMES = (
    *_names("xvdb", _LETTERS),
    *_names("xvdc", _LETTERS),
    *_names("xvda", _LETTERS),
    *_names("xvdd", _LETTERS[:24]),
    *_names("sd", "cdeqrstuvwxyz"),
)
"""Further names that EC2 accepts on HVM. Together with the usual ones, the root disk and /dev/sdb, these are
128 names, which is the maximum.

From the EC2 user guide, "Device names for volumes". The list of the aws-ebs-csi-driver, which was found by
trial and error (pkg/cloud/devicemanager/device_names.go), also ends with /dev/xvddx.
"""


def free_names(taken: Iterable[str], further: Iterable[str] = ()) -> list[str]:
    """The free device names for a persistent disk, in the order to try them.

    If ``/dev/xvdf`` is in use, so is ``/dev/sdf``: in the guest they are the same device.

    Args:
        taken: The names that are in use.
        further: Names beyond the usual ones that the instance accepts; see `further_names`.

    """
    used = {_guest_name(name) for name in taken}
    return [name for name in (*PERSISTENT_DISK_NAMES, *further) if _guest_name(name) not in used]


def _guest_name(name: str) -> str:
    return name.replace("/dev/xvd", "/dev/sd")


def further_names(instance: Instance, of_type: InstanceTypeFacts) -> tuple[str, ...]:
    """The names beyond the usual ones that an instance accepts: on HVM and Nitro, up to the type's limit.

    The names of an instance store's raw disks, which EC2 does not show, are left out.
    """
    is_full = len(instance.devices) >= of_type.max_ebs_attachments
    if is_full or instance.virtualization_type != "hvm" or not of_type.ebs_needs_nvme_path:
        return ()
    return FURTHER_DISK_NAMES[0 if of_type.store_is_nvme else of_type.store_disks :]


def ebs_card(instance: Instance, of_type: InstanceTypeFacts) -> int | None:
    """The index of the EBS card with the fewest volumes; None for a type that has a single card."""
    cards = range(of_type.ebs_cards)
    return min(cards, key=instance.volume_cards.count) if len(cards) > 1 else None


def guest_paths(device_name: str, disk_cid: str) -> list[str]:
    """All paths that an attached EBS volume may have in a Linux guest."""
    xen = device_name.replace("/dev/sd", "/dev/xvd")
    return [_nvme_path(disk_cid), xen, device_name]


def guest_path(device_name: str, disk_cid: str, of_type: InstanceTypeFacts) -> str:
    """The path by which the agent finds an attached EBS volume.

    On Nitro the guest numbers its NVMe devices in no fixed order; only udev's link is stable.
    """
    return _nvme_path(disk_cid) if of_type.ebs_needs_nvme_path else device_name


def _nvme_path(disk_cid: str) -> str:
    """Udev's link to a volume, which contains the volume's id without its hyphen."""
    return _NVME_BY_ID + disk_cid.replace("-", "", 1)
