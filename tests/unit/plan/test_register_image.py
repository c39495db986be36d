"""RegisterImage's arguments for a stemcell."""

from typing import Any

import pytest

from bosh_aws_cpi.plan import register_image
from bosh_aws_cpi.properties.stemcell import HeavyStemcellProperties, StemcellProperties

EPHEMERAL = {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"}
NAMED = {"name": "bosh-aws", "version": "1.2"}


def parsed(**given: Any) -> HeavyStemcellProperties:
    """Read a heavy stemcell's properties."""
    properties = StemcellProperties.parse(given)
    assert isinstance(properties, HeavyStemcellProperties)
    return properties


def arguments(
    kernel_id: str | None = None, tags: dict[str, str] | None = None, **given: Any
) -> dict[str, Any]:
    """Make the arguments for a stemcell with these properties."""
    return register_image.arguments(
        parsed(**given), name="BOSH-1", snapshot_id="snap-1", kernel_id=kernel_id, tags=tags or {}
    )


def root(device: str) -> dict[str, Any]:
    """Describe the root device."""
    return {"DeviceName": device, "Ebs": {"SnapshotId": "snap-1", "DeleteOnTermination": True}}


def test_paravirtual_without_root_device() -> None:
    """Without a root device name a paravirtual AMI is registered without one."""
    made = arguments("aki-1", virtualization_type="paravirtual")
    assert made == {
        "Name": "BOSH-1",
        "Architecture": "x86_64",
        "VirtualizationType": "paravirtual",
        "KernelId": "aki-1",
        "BlockDeviceMappings": [root("/dev/sda"), EPHEMERAL],
    }


@pytest.mark.parametrize(
    ("given", "text"),
    [(NAMED, "bosh-aws 1.2"), ({"name": "bosh-aws"}, None), ({"version": 1.2}, None)],
)
def test_names(given: dict[str, Any], text: str | None) -> None:
    """Name and version, if both are given, are the description and the tag Name; other tags stay."""
    made = arguments(tags={"a": "1", "Name": "theirs"}, **given)
    assert made.get("Description") == text
    assert register_image.description(parsed(**given)) == text
    listed = [{"Key": "a", "Value": "1"}, {"Key": "Name", "Value": text or "theirs"}]
    assert made["TagSpecifications"] == [{"ResourceType": "image", "Tags": listed}]


def test_long_name() -> None:
    """The description and the tag Name are cut at 255 characters, EC2's limit."""
    given: dict[str, Any] = {"name": "n" * 250, "version": "1.23456"}
    made = arguments(**given)
    assert made["Description"] == f"{'n' * 250} 1.23"
    assert register_image.description(parsed(**given)) == made["Description"]
    assert made["TagSpecifications"][0]["Tags"] == [{"Key": "Name", "Value": made["Description"]}]


KERNELS = [
    ("aki-1", "ec2-public-images/pv-grub-hd0-V1.01-x86_64.gz.manifest.xml"),
    ("aki-3", "ec2-public-images/pv-grub-hd0_1.05-x86_64.gz.manifest.xml"),
    ("aki-4", "ec2-public-images/pv-grub-hd0-1.3-x86_64.gz.manifest.xml"),
    ("aki-5", "ec2-public-images/pv-grub-hd00_1.04-x86_64.gz.manifest.xml"),
    ("aki-6", "ec2-public-images/pv-grub-hd00-1.05-x86_64.gz.manifest.xml"),
    ("aki-7", ""),
]


@pytest.mark.parametrize(
    ("kernels", "name", "expected"),
    [
        (KERNELS, "/dev/sda1", "aki-6"),
        (KERNELS, "/dev/sda", "aki-3"),
        ([("aki-9", "pv-grub-hd0_1.9"), ("aki-10", "pv-grub-hd0_1.10")], None, "aki-10"),
        ([("aki-9", "pv-grub-hd0_2.1"), ("aki-10", "pv-grub-hd0_1.10")], None, "aki-9"),
    ],
)
def test_newest_kernel(kernels: list[tuple[str, str]], name: str | None, expected: str) -> None:
    """The newest kernel image for a partition (/dev/sda1) or a disk, by major and minor number."""
    assert register_image.newest_kernel(kernels, name) == expected
    assert register_image.newest_kernel(reversed(kernels), name) == expected
