"""Block devices on the disks that are part of the host: the instance store."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import BlockDevices, Image, InstanceTypeFacts
from bosh_aws_cpi.plan.block_devices import block_devices
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.vm import VmProperties

PLAIN = Encryption()
xen = partial(InstanceTypeFacts, ebs_needs_nvme_path=False)
NVME = xen("i3.2xlarge", store_disks=2, store_gib=1900, store_is_nvme=True)
XEN = xen("d2.xlarge", store_disks=3, store_gib=2048)
BARE = InstanceTypeFacts("m5.large", ebs_needs_nvme_path=True)
ROOTS = {"hvm": "/dev/xvda", "paravirtual": "/dev/sda"}


def plan(
    facts: InstanceTypeFacts, default: Encryption = PLAIN, kind: str = "hvm", **given: Any
) -> BlockDevices:
    """Plan the devices of a VM of this type, with these properties."""
    image = Image("ami-1", "", kind, "x86_64", [], ["snap-1"])
    properties = VmProperties.parse({"instance_type": "t3.nano", "availability_zone": "z", **given})
    return block_devices(properties, image, facts, DiskDefaults(default))


def ephemeral(size: int = 10) -> dict[str, Any]:
    """Describe an ephemeral disk of EBS."""
    ebs = {"VolumeSize": size, "VolumeType": "gp3", "DeleteOnTermination": True}
    return {"DeviceName": "/dev/sdb", "Ebs": ebs}


def root(kind: str = "hvm") -> dict[str, Any]:
    """Describe the root disk."""
    return {"DeviceName": ROOTS[kind], "Ebs": {"VolumeType": "gp3", "DeleteOnTermination": True}}


def stores(*names: str) -> list[dict[str, str]]:
    """Describe disks of the instance store, in their order, under these names."""
    return [{"DeviceName": name, "VirtualName": f"ephemeral{n}"} for n, name in enumerate(names)]


def test_raw_nvme() -> None:
    """EC2 attaches NVMe disks by itself: they are named to the agent alone."""
    names = ["/dev/nvme0n1", "/dev/nvme1n1"]
    expected = BlockDevices([ephemeral(), root()], "/dev/sdb", names, [])
    assert plan(NVME, raw_instance_storage=True) == expected


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("hvm", ["/dev/xvdba", "/dev/xvdbb", "/dev/xvdbc"]),
        ("paravirtual", ["/dev/sdc", "/dev/sdd", "/dev/sde"]),
    ],
)
def test_raw_xen(kind: str, names: list[str]) -> None:
    """Other disks are mapped by name between the ephemeral disk and the root, and named to the agent so."""
    planned = plan(XEN, kind=kind, raw_instance_storage=True)
    assert planned == BlockDevices([ephemeral(), *stores(*names), root(kind)], "/dev/sdb", names, [])


def test_many_raw_disks() -> None:
    """24 disks, the most there are, get 24 names under either kind of AMI."""
    facts = xen("hs1.8xlarge", store_disks=24, store_gib=2000)
    for kind, last in (("hvm", "/dev/xvdbx"), ("paravirtual", "/dev/sdz")):
        names = plan(facts, kind=kind, raw_instance_storage=True).raw_ephemeral
        assert (len(set(names)), names[-1]) == (24, last)


def test_raw_with_an_unknown_kind_of_image() -> None:
    """For an unknown virtualization type the names of the disks are unknown."""
    with pytest.raises(CloudError, match="unknown virtualization type not-made-yet"):
        plan(XEN, kind="not-made-yet", raw_instance_storage=True)
    assert len(plan(NVME, kind="not-made-yet", raw_instance_storage=True).raw_ephemeral) == 2


@pytest.mark.parametrize(
    ("disk", "size"), [({}, 10), ({"size": 2048}, 2), ({"type": "gp3", "size": None}, 10)]
)
def test_ephemeral_disk_beside_a_raw_store(disk: dict[str, Any], size: int) -> None:
    """The ephemeral disk does not stand in for an instance store that the agent uses itself."""
    known = xen("i3.large", store_disks=1, store_gib=475, store_is_nvme=True)
    assert plan(known, raw_instance_storage=True, ephemeral_disk=disk).mappings[0] == ephemeral(size)
    assert plan(known).mappings[0] == ephemeral(475)


@pytest.mark.parametrize("facts", [NVME, XEN], ids=["NVMe", "Xen"])
def test_neither_with_use_root_disk(facts: InstanceTypeFacts) -> None:
    """With use_root_disk there are neither ephemeral nor raw devices."""
    disk = {"use_root_disk": True}
    planned = plan(facts, raw_instance_storage=True, ephemeral_disk=disk)
    assert planned == BlockDevices([root()], None, (), [])


def test_use_instance_storage() -> None:
    """The first disk of the instance store is the ephemeral one, in place of an EBS volume."""
    disk = {"use_instance_storage": True}
    first = {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"}
    assert plan(XEN, ephemeral_disk=disk) == BlockDevices([first, root()], "/dev/sdb", [], [])


def test_use_nvme_instance_storage() -> None:
    """EC2 ignores a mapping of an NVMe disk: the agent would look for a device that no such VM has."""
    with pytest.raises(
        CloudError, match=r"'i3\.2xlarge', whose instance storage is NVMe: such a VM has no /dev/sdb"
    ):
        plan(NVME, ephemeral_disk={"use_instance_storage": True})


def test_use_instance_storage_with_use_root_disk() -> None:
    """use_root_disk wins: what the instance store would need is not asked for."""
    disk = {"use_instance_storage": True, "use_root_disk": True, "size": 1024}
    for facts in (XEN, BARE):
        assert plan(facts, ephemeral_disk=disk) == BlockDevices([root()], None, (), [])


BOTH = "ephemeral_disk.use_instance_storage and raw_instance_storage cannot both be true"
MORE = "use_instance_storage cannot be combined with additional ephemeral_disk properties"
NO_STORE = "{} requested for instance type 'm5.large' that does not have instance storage"


@pytest.mark.parametrize("facts", [XEN, BARE], ids=["store", "no store"])
def test_both(facts: InstanceTypeFacts) -> None:
    """An instance store is either the ephemeral disk or raw."""
    with pytest.raises(CloudError) as caught:
        plan(facts, raw_instance_storage=True, ephemeral_disk={"use_instance_storage": True})
    assert caught.value.message == BOTH


@pytest.mark.parametrize(
    ("disk", "default"),
    [
        ({"size": 1024}, PLAIN),
        ({"type": "gp3"}, PLAIN),
        ({"iops": 3000}, PLAIN),
        ({"encrypted": True}, PLAIN),
        ({}, Encryption(encrypted=True)),
        ({"kms_key_arn": "k"}, Encryption(encrypted=True)),
    ],
)
def test_use_instance_storage_with_more(disk: dict[str, Any], default: Encryption) -> None:
    """An instance store has its own size and kind, and EBS can't encrypt it: such wishes are refused."""
    with pytest.raises(CloudError) as caught:
        plan(XEN, default, ephemeral_disk={**disk, "use_instance_storage": True})
    assert caught.value.message == MORE


@pytest.mark.parametrize(
    ("disk", "default"),
    [
        ({"size": None, "type": None, "iops": None}, PLAIN),
        ({"encrypted": False}, Encryption(encrypted=True)),
        ({"encrypted": None}, Encryption(encrypted=True)),
        ({"encrypted": False, "kms_key_arn": "k"}, PLAIN),
    ],
)
def test_use_instance_storage_with_nothing_more(disk: dict[str, Any], default: Encryption) -> None:
    """Properties that ask for nothing are fine."""
    planned = plan(XEN, default, ephemeral_disk={**disk, "use_instance_storage": True})
    assert planned.mappings[0]["VirtualName"] == "ephemeral0"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"raw_instance_storage": True}, "raw_instance_storage"),
        ({"ephemeral_disk": {"use_instance_storage": True}}, "use_instance_storage"),
        ({"raw_instance_storage": True, "ephemeral_disk": {"use_root_disk": True}}, "raw_instance_storage"),
    ],
)
def test_type_without_a_store(given: dict[str, Any], name: str) -> None:
    """A type without an instance store is refused by its name, and by the property that asks."""
    with pytest.raises(CloudError) as caught:
        plan(BARE, **given)
    assert caught.value.message == NO_STORE.format(name)
    assert caught.value.ok_to_retry is False
