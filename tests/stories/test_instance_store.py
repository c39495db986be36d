"""create_vm: the disks of the instance store, and old kinds of images."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.world import World
from tests.stories.story import Story

ROOT = {"VolumeType": "gp3", "DeleteOnTermination": "true"}
EPHEMERAL = {"VolumeSize": "10", **ROOT}
HVM = {"system": "/dev/xvda", "ephemeral": "/dev/sdb"}
NVME, XEN = "m5d.4xlarge", "m3.xlarge"
"""Two disks each; m3.xlarge's default ephemeral disk is as large as one of them, m5d's is not."""
USED = "ephemeral_disk.use_instance_storage"
NO_STORE = "{} requested for instance type 't3.micro' that does not have instance storage"
NVME_STORE = (
    "use_instance_storage requested for instance type '{}', whose instance storage is NVMe: such a VM has no "
    "/dev/sdb. Remove ephemeral_disk.use_instance_storage; raw_instance_storage gives the disks to the VM's "
    "jobs, ephemeral_disk.use_root_disk puts the agent's data on the root disk"
)
NOT_COMBINED = "use_instance_storage cannot be combined with additional ephemeral_disk properties"
ENCRYPTED_BY_DEFAULT = (
    ": aws.default_ephemeral_disk.encrypted is true; set ephemeral_disk.encrypted to false for this VM"
)


def store(*names: str) -> dict[str, dict[str, str]]:
    """Return the mapping of instance-store disks to these device names."""
    return {name: {"VirtualName": f"ephemeral{number}"} for number, name in enumerate(names)}


@pytest.fixture
def images(world: World) -> dict[str, str]:
    """Return images by root device; the paravirtual one's is the first partition of a disk."""
    (image,) = world.ec2.describe_images(ImageIds=[world.image_id])["Images"]
    snapshot_id = image["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    old = world.ec2.register_image(
        Name="old",
        Architecture="x86_64",
        VirtualizationType="paravirtual",
        RootDeviceName="/dev/sda1",
        BlockDeviceMappings=[{"DeviceName": "/dev/sda", "Ebs": {"SnapshotId": snapshot_id}}],
    )
    return {"/dev/xvda": world.image_id, "/dev/sda1": old["ImageId"]}


@pytest.fixture
def disks_of(story: Story) -> Callable[[str], dict[str, Any]]:
    """Return a function that reads where the agent finds a VM's disks."""

    def read(vm_cid: str) -> dict[str, Any]:
        told = story.settings(vm_cid)["disks"]
        assert told.pop("persistent") == {}
        raw = [entry["path"] for entry in told.pop("raw_ephemeral", [])]
        return {**told, "raw": raw}

    return read


@pytest.mark.parametrize(
    ("properties", "mapped", "disks"),
    [
        pytest.param(
            {"instance_type": NVME},
            {"/dev/sdb": EPHEMERAL, "/dev/xvda": ROOT},
            {**HVM, "raw": ["/dev/nvme0n1", "/dev/nvme1n1"]},
            id="nvme",
        ),
        pytest.param(
            {"instance_type": XEN},
            {"/dev/sdb": EPHEMERAL, "/dev/xvda": ROOT, **store("/dev/xvdba", "/dev/xvdbb")},
            {**HVM, "raw": ["/dev/xvdba", "/dev/xvdbb"]},
            id="xen",
        ),
        pytest.param(
            {"instance_type": XEN},
            {"/dev/sdb": EPHEMERAL, "/dev/sda": ROOT, **store("/dev/sdc", "/dev/sdd")},
            {"system": "/dev/sda1", "ephemeral": "/dev/sdb", "raw": ["/dev/sdc", "/dev/sdd"]},
            id="paravirtual",
        ),
        pytest.param(
            {"instance_type": XEN, "ephemeral_disk": {"use_root_disk": True, "use_instance_storage": True}},
            {"/dev/xvda": ROOT},
            {"system": "/dev/xvda", "raw": []},
            id="on-the-root-disk",
        ),
    ],
)
def test_raw_instance_storage(
    story: Story,
    disks_of: Callable[[str], dict[str, Any]],
    images: dict[str, str],
    properties: dict[str, Any],
    mapped: dict[str, dict[str, str]],
    disks: dict[str, Any],
) -> None:
    """The agent is told of every disk; EC2 attaches NVMe ones by itself, others it has to be told."""
    vm_cid = story.create_vm(
        {"raw_instance_storage": True, **properties}, stemcell_cid=images[disks["system"]]
    ).ok()[0]
    assert story.devices() == mapped
    assert disks_of(vm_cid) == disks


def test_use_instance_storage(story: Story, disks_of: Callable[[str], dict[str, Any]], world: World) -> None:
    """The first disk of the instance store is the ephemeral one, and no volume is made for it."""
    properties = {
        "instance_type": XEN,
        "ephemeral_disk": {"use_instance_storage": True, "encrypted": False, "size": None},
    }
    vm_cid = story.create_vm(properties, executable=story.cpi_with(encrypted=True)).ok()[0]
    assert story.devices() == {"/dev/xvda": ROOT, **store("/dev/sdb")}
    assert disks_of(vm_cid) == {**HVM, "raw": []}
    assert len(world.state()["volumes"]) == 1


@pytest.mark.parametrize(
    ("properties", "disk", "defaults", "message"),
    [
        (
            {"raw_instance_storage": True},
            {},
            {},
            f"{USED} and raw_instance_storage cannot both be true",
        ),
        ({}, {}, {"encrypted": True}, NOT_COMBINED),
        ({}, {}, {"default_ephemeral_disk": {"encrypted": True}}, NOT_COMBINED + ENCRYPTED_BY_DEFAULT),
        ({"instance_type": "t3.micro"}, {}, {}, NO_STORE.format("use_instance_storage")),
        ({"instance_type_fallbacks": ["i3.large"]}, {}, {}, NVME_STORE.format("i3.large")),
        (
            {"instance_type": "t3.micro", "raw_instance_storage": True},
            {"use_instance_storage": None},
            {},
            NO_STORE.format("raw_instance_storage"),
        ),
    ],
)
def test_instance_storage_that_is_not_to_be_had(
    story: Story, properties: dict[str, Any], disk: dict[str, Any], defaults: dict[str, Any], message: str
) -> None:
    """Storage that the type lacks, and contradictions, are named before anything is made."""
    ephemeral = {"use_instance_storage": 0, **disk}
    answer = story.create_vm(
        {"instance_type": XEN, "ephemeral_disk": ephemeral, **properties},
        executable=story.cpi_with(**defaults),
    )
    story.check_refusal(answer, message)
