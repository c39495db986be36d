"""Images: registration, copies, states and deregistration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from testbed.cloud import FakeAws

KEY = "arn:aws:kms:us-east-1:123456789012:key/k"


def image(ec2: Any, image_id: str) -> dict[str, Any]:
    """Describe one image."""
    found: dict[str, Any] = ec2.describe_images(ImageIds=[image_id])["Images"][0]
    return found


def root_snapshot(ec2: Any, image_id: str) -> str:
    """Return the snapshot of an image's root device."""
    snapshot_id: str = image(ec2, image_id)["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    return snapshot_id


def test_copied(ec2: Any, world: Any) -> None:
    """A copy has its own devices, encryption and tags, and a description that names its source."""
    tags = [{"Key": "a", "Value": "b"}]
    copy_id = ec2.copy_image(
        Name="copy",
        SourceImageId=world.image_id,
        SourceRegion="us-east-1",
        Encrypted=True,
        KmsKeyId=KEY,
        TagSpecifications=[{"ResourceType": kind, "Tags": tags} for kind in ("image", "snapshot")],
    )["ImageId"]
    source, copy = image(ec2, world.image_id), image(ec2, copy_id)
    devices = copy["BlockDeviceMappings"]
    assert [device["DeviceName"] for device in devices] == ["/dev/xvda", "/dev/sdb"]
    ebs = devices[0]["Ebs"]
    assert ebs["SnapshotId"] != source["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    assert (ebs["VolumeSize"], ebs["Encrypted"]) == (5, True)
    snapshot = ec2.describe_snapshots(SnapshotIds=[ebs["SnapshotId"]])["Snapshots"][0]
    assert (snapshot["KmsKeyId"], snapshot["Tags"], copy["Tags"]) == (KEY, tags, tags)
    assert copy["RootDeviceName"] == "/dev/xvda"
    assert copy["Description"] == f"[Copied {world.image_id} from us-east-1]"
    assert world.state()["snapshots"] == [ebs["SnapshotId"]]


def test_states_of_a_copy(fake_aws: FakeAws, ec2: Any, world: Any) -> None:
    """A rule chooses the states of a copy; a pending copy shows no snapshot, and a failed one the reason."""
    fake_aws.rule(action="CopyImage", times=1, states=["pending", "available", "failed: no such key"])
    copy_id = ec2.copy_image(Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1")["ImageId"]
    pending, available, failed = (image(ec2, copy_id) for _ in range(3))
    assert (pending["State"], available["State"], failed["State"]) == ("pending", "available", "failed")
    assert [device["DeviceName"] for device in pending["BlockDeviceMappings"]] == ["/dev/sdb"]
    assert [device["DeviceName"] for device in available["BlockDeviceMappings"]] == ["/dev/xvda", "/dev/sdb"]
    assert "StateReason" not in available
    assert failed["StateReason"] == {"Code": "Client.InternalError", "Message": "no such key"}


def register(ec2: Any, world: Any, **parameters: Any) -> str:
    """Register an image with the snapshot of the world's image."""
    image_id: str = ec2.register_image(
        **{
            "Name": "other",
            "RootDeviceName": "/dev/xvda",
            "BlockDeviceMappings": [
                {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": root_snapshot(ec2, world.image_id)}}
            ],
            **parameters,
        }
    )["ImageId"]
    return image_id


def test_registered_parameters(ec2: Any, world: Any) -> None:
    """An image shows its registered properties; filters for name, tag, kernel and state find it."""
    tags = [{"Key": "a", "Value": "b"}]
    image_id = register(
        ec2,
        world,
        KernelId="aki-12345678",
        VirtualizationType="paravirtual",
        BootMode="uefi",
        TagSpecifications=[{"ResourceType": "image", "Tags": tags}],
    )
    found = image(ec2, image_id)
    assert (found["KernelId"], found["VirtualizationType"]) == ("aki-12345678", "paravirtual")
    assert (found["BootMode"], found["EnaSupport"], found["Tags"]) == ("uefi", False, tags)
    for name, value, other in (
        ("name", "other", "x"),
        ("tag:a", "b", "x"),
        ("kernel-id", "aki-12345678", "aki-1"),
    ):
        filters = [
            {"Name": "state", "Values": ["available", "pending"]},
            {"Name": name, "Values": [value]},
        ]
        answer = ec2.describe_images(Owners=["self"], Filters=filters)
        assert [each["ImageId"] for each in answer["Images"]] == [image_id]
        filters[1]["Values"] = [other]
        assert ec2.describe_images(Owners=["self"], Filters=filters)["Images"] == []
    failed = [{"Name": "state", "Values": ["failed"]}]
    assert ec2.describe_images(Owners=["self"], Filters=failed)["Images"] == []


def test_encryption_is_the_snapshots(fake_aws: FakeAws, ec2: Any, world: Any, refused: Any) -> None:
    """An image is encrypted if its snapshot is; RegisterImage refuses the Encrypted flag."""
    ebs = fake_aws.client("ebs")
    snapshot = ebs.start_snapshot(VolumeSize=3, Encrypted=True, KmsKeyArn=KEY)["SnapshotId"]
    ebs.complete_snapshot(SnapshotId=snapshot, ChangedBlocksCount=0)
    device = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot}}
    found = image(ec2, register(ec2, world, BlockDeviceMappings=[device]))
    shown = found["BlockDeviceMappings"][0]["Ebs"]
    assert (shown["Encrypted"], shown["VolumeSize"]) == (True, 3)
    device = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot, "Encrypted": True}}
    with refused("InvalidParameter", "Parameter encrypted is invalid."):
        register(ec2, world, Name="third", BlockDeviceMappings=[device])
