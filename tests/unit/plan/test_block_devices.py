"""The block devices of a VM."""

from typing import Any

import pytest

from bosh_aws_cpi.model import Encryption, Image
from bosh_aws_cpi.plan.block_devices import BlockDevices, plan_devices, root_device_name
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.plan.instance_types import static_facts
from bosh_aws_cpi.properties.types import Review, refuse
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk

KEY = "arn:aws:kms:us-east-1:1:key/a"
OTHER_KEY = "arn:aws:kms:us-east-1:1:key/b"
PLAIN = Encryption()
ENCRYPTED = Encryption(encrypted=True, kms_key_arn=KEY)


def plan(default: Encryption = PLAIN, instance_type: str = "m5.large", **given: Any) -> BlockDevices:
    """Plan the devices of a VM with these disks."""
    return plan_and_review(default, instance_type, **given)[0]


def plan_and_review(default: Encryption, instance_type: str, **given: Any) -> tuple[BlockDevices, Review]:
    """Plan the devices, and collect what is ignored."""
    image = Image("ami-1", "/dev/xvda", "hvm", "x86_64", ["/dev/xvda", "/dev/sdb"], ["snap-1"])
    properties = VmProperties.model_validate({"instance_type": "t3.nano", "availability_zone": "z", **given})
    facts, review = static_facts(instance_type), Review()
    devices = plan_devices(properties, image, facts, DiskDefaults(default), review)
    refuse(review.problems)
    return devices, review


def ephemeral(**ebs: Any) -> dict[str, Any]:
    """Describe the ephemeral disk, as it is by default but for what is given."""
    whole = {"VolumeSize": 10, "VolumeType": "gp3", "DeleteOnTermination": True, **ebs}
    return {"DeviceName": "/dev/sdb", "Ebs": whole}


def root(**ebs: Any) -> dict[str, Any]:
    """Describe the root disk, as it is by default but for what is given."""
    return {"DeviceName": "/dev/xvda", "Ebs": {"VolumeType": "gp3", "DeleteOnTermination": True, **ebs}}


@pytest.mark.parametrize(
    ("disk", "default", "expected"),
    [
        ({"size": 1024}, PLAIN, {"VolumeSize": 1}),
        ({"size": 1025}, PLAIN, {"VolumeSize": 2}),
        ({"type": "io2", "iops": 500}, PLAIN, {"VolumeType": "io2", "Iops": 500}),
        ({"iops": 4000, "throughput": 250}, PLAIN, {"Iops": 4000, "Throughput": 250}),
        ({"encrypted": True, "kms_key_arn": KEY}, PLAIN, {"Encrypted": True, "KmsKeyId": KEY}),
        ({"kms_key_arn": KEY}, PLAIN, {}),
        ({}, ENCRYPTED, {"Encrypted": True, "KmsKeyId": KEY}),
        ({"kms_key_arn": OTHER_KEY}, ENCRYPTED, {"Encrypted": True, "KmsKeyId": OTHER_KEY}),
        ({"kms_key_arn": None}, ENCRYPTED, {"Encrypted": True}),
        ({"encrypted": None}, ENCRYPTED, {}),
        ({"size": None, "type": None}, PLAIN, {}),
    ],
)
def test_ephemeral_disk(disk: dict[str, Any], default: Encryption, expected: dict[str, Any]) -> None:
    """The ephemeral disk is as its properties say; sizes are rounded up, a key goes only with encryption."""
    assert plan(default, ephemeral_disk=disk).mappings == [ephemeral(**expected), root()]


@pytest.mark.parametrize(
    ("disk", "expected", "left_out"),
    [
        ({"size": 30721}, {"VolumeSize": 31}, []),
        ({"iops": 4000, "throughput": 250}, {"Iops": 4000, "Throughput": 250}, []),
        (
            {"type": "gp2", "iops": 500, "throughput": 250},
            {"VolumeType": "gp2"},
            [
                "root_disk.iops, which EBS type gp2 does not accept",
                "root_disk.throughput, which EBS type gp2 does not accept",
            ],
        ),
        (
            {"type": "io1", "iops": 500, "throughput": 250},
            {"VolumeType": "io1", "Iops": 500},
            ["root_disk.throughput, which EBS type io1 does not accept"],
        ),
    ],
)
def test_root_disk(disk: dict[str, Any], expected: dict[str, Any], left_out: list[str]) -> None:
    """The root disk is as its properties say; what its type does not take is left out and named."""
    found, review = plan_and_review(PLAIN, "m5.large", root_disk=disk)
    assert found == BlockDevices([ephemeral(), root(**expected)], "/dev/sdb", [])
    assert [each.text.removeprefix("Ignored: ") for each in review.ignored] == left_out


@pytest.mark.parametrize(
    ("disk", "expected"),
    [
        ({"encrypted": True, "kms_key_arn": KEY}, {"Encrypted": True, "KmsKeyId": KEY}),
        ({"encrypted": True}, {"Encrypted": True}),
        ({"kms_key_arn": KEY}, {}),
    ],
)
def test_encrypted_root_disk(disk: dict[str, Any], expected: dict[str, Any]) -> None:
    """Only the VM's own properties encrypt the root disk, whatever is configured."""
    assert plan(ENCRYPTED, root_disk=disk).mappings[1] == root(**expected)


@pytest.mark.parametrize(
    ("default", "own", "expected"),
    [
        ({"type": "io1", "iops": 500}, {"type": "io1"}, ("io1", 500, None)),
        ({"type": "io1", "iops": 500}, {"type": "gp3"}, ("gp3", None, None)),
        ({"type": "io1", "iops": 500}, {"type": "io2", "iops": 900}, ("io2", 900, None)),
        ({"iops": 4000, "throughput": 250}, {"type": "gp2"}, ("gp2", None, None)),
        ({"iops": 4000, "throughput": 250}, {"iops": 5000}, ("gp3", 5000, 250)),
    ],
)
def test_default_iops_and_throughput(
    default: dict[str, Any], own: dict[str, Any], expected: tuple[str, int | None, int | None]
) -> None:
    """A VM's disk gets the default iops and throughput only if its type is the default one."""
    defaults = DiskDefaults(root_disk=RootDisk(**default), ephemeral_disk=EphemeralDisk(**default))
    root_disk = defaults.root(RootDisk(**own))[0]
    ephemeral_disk = defaults.ephemeral(EphemeralDisk(**own))[0]
    assert (root_disk.type, root_disk.iops, root_disk.throughput) == expected
    assert (ephemeral_disk.type, ephemeral_disk.iops, ephemeral_disk.throughput) == expected


@pytest.mark.parametrize(
    ("name", "kind", "devices", "expected"),
    [
        ("/dev/xvda", "hvm", ["/dev/xvda", "/dev/sdb"], "/dev/xvda"),
        ("/dev/sda1", "hvm", ["/dev/sdb", "/dev/sda"], "/dev/sda"),
        ("/dev/sda1", "hvm", ["/dev/sda", "/dev/sda1"], "/dev/sda1"),
        ("/dev/sda1", "hvm", ["/dev/sdb"], "/dev/xvda"),
        ("/dev/sda1", "paravirtual", ["/dev/sdb"], "/dev/sda"),
        ("/dev/sda1", "hvm", [""], "/dev/xvda"),
        ("", "hvm", ["/dev/sda"], "/dev/xvda"),
        ("/dev/sda1", "not-made-yet", [], "/dev/xvda"),
    ],
)
def test_root_device_name(name: str, kind: str, devices: list[str], expected: str) -> None:
    """The root is mapped under the AMI's own device, or its partition's disk, or as AMIs of its kind are."""
    image = Image("ami-1", name, kind, "x86_64", devices, ["snap-1"])
    assert root_device_name(image) == expected
