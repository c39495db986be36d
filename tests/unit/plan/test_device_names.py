"""Device names for attached disks, and where the guest finds them."""

from typing import Any

import pytest

from bosh_aws_cpi.model import Instance, InstanceTypeFacts
from bosh_aws_cpi.plan.device_names import (
    FURTHER_DISK_NAMES,
    free_names,
    further_names,
    guest_paths,
)

ALL = [f"/dev/sd{letter}" for letter in "fghijklmnop"]


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ([], "/dev/sdf"),
        (ALL, "/dev/xvdba"),
        ([*ALL, "/dev/xvdba", "/dev/sdbb"], "/dev/xvdbc"),
        ([*ALL, *FURTHER_DISK_NAMES[:26]], "/dev/xvdca"),
    ],
)
def test_further_name(taken: list[str], expected: str) -> None:
    """Beyond the usual names an instance that takes more disks has others."""
    assert free_names(taken, FURTHER_DISK_NAMES)[0] == expected


def test_no_further_name() -> None:
    """With the root disk and /dev/sdb there are as many names as any type takes volumes."""
    assert len({*ALL, *FURTHER_DISK_NAMES, "/dev/xvda", "/dev/sdb"}) == 128
    assert {name.replace("/dev/xvd", "/dev/sd") for name in FURTHER_DISK_NAMES}.isdisjoint([*ALL, "/dev/sdb"])
    assert free_names([*ALL, *FURTHER_DISK_NAMES], FURTHER_DISK_NAMES) == []


@pytest.mark.parametrize(
    ("kind", "facts", "disks", "first"),
    [
        ("hvm", {"max_ebs_attachments": 27}, 26, "/dev/xvdba"),
        ("hvm", {"max_ebs_attachments": 27}, 27, None),
        ("hvm", {"max_ebs_attachments": 40, "ebs_needs_nvme_path": False}, 12, None),
        ("paravirtual", {"max_ebs_attachments": 40}, 12, None),
        ("hvm", {"max_ebs_attachments": 27, "store_disks": 4, "store_is_nvme": True}, 12, "/dev/xvdba"),
        ("hvm", {"max_ebs_attachments": 27, "store_disks": 4}, 12, "/dev/xvdbe"),
    ],
)
def test_further_names(kind: str, facts: dict[str, Any], disks: int, first: str | None) -> None:
    """Nitro takes more up to the type's limit; names of raw disks that EC2 does not show are left out."""
    devices = {f"/dev/{n}": f"vol-{n}" for n in range(disks)}
    instance = Instance("i-1", "running", "t", "z", devices, virtualization_type=kind)
    given: dict[str, Any] = {"ebs_needs_nvme_path": True, **facts}
    assert next(iter(further_names(instance, InstanceTypeFacts("t", **given))), None) == first


def test_guest_paths() -> None:
    """A volume is shown by its id on Nitro, under Xen's name or its own elsewhere."""
    assert guest_paths("/dev/sdf", "vol-0123abc") == [
        "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123abc",
        "/dev/xvdf",
        "/dev/sdf",
    ]
