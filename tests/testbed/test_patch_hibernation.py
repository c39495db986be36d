"""RunInstances refuses hibernation with disks that do not allow it."""

from typing import Any

import pytest

ROOT = {"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "VolumeSize": 9, "VolumeType": "gp3"}}
HIBERNATION = {"Configured": True}


def devices(**ebs: Any) -> list[dict[str, Any]]:
    """Describe a root disk that allows hibernation of a VM with 8 GiB, but for what is given."""
    return [{**ROOT, "Ebs": {**ROOT["Ebs"], **ebs}}]  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("mappings", "message"),
    [
        ([], "encrypted"),
        (devices(Encrypted=False), "encrypted"),
        (devices(VolumeSize=8), "larger than the memory"),
        (devices(VolumeType="st1", VolumeSize=125), "/dev/xvda is not supported"),
        (
            [*devices(), {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 125, "VolumeType": "st1"}}],
            "/dev/sdb is not supported",
        ),
    ],
)
def test_refused(run: Any, world: Any, refused: Any, mappings: list[dict[str, Any]], message: str) -> None:
    """Each prerequisite is checked; nothing is left of the launch, which passes without hibernation."""
    with refused("UnsupportedHibernationConfiguration", message):
        run(BlockDeviceMappings=mappings, HibernationOptions=HIBERNATION)
    assert world.state() == world.empty
    run(BlockDeviceMappings=mappings, HibernationOptions={"Configured": False})


def test_accepted(run: Any) -> None:
    """An encrypted root disk that is larger than the memory allows hibernation."""
    assert run(BlockDeviceMappings=devices(), HibernationOptions=HIBERNATION)["InstanceType"] == "m5.large"


def test_encrypted_image(run: Any, world: Any, refused: Any) -> None:
    """The root disk of an encrypted image is encrypted; without a size, its snapshot's counts."""
    copy = {"Name": "copy", "SourceImageId": world.image_id, "SourceRegion": "us-east-1", "Encrypted": True}
    image_id = world.ec2.copy_image(**copy)["ImageId"]
    root = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 9}}
    run(ImageId=image_id, BlockDeviceMappings=[root], HibernationOptions=HIBERNATION)
    with refused("UnsupportedHibernationConfiguration", "larger than the memory"):
        run(ImageId=image_id, HibernationOptions=HIBERNATION)
