"""Images keep what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from testbed.cloud import FakeAws

UNKNOWN = "ami-0123456789abcdef0"
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"


def image(ec2: Any, image_id: str) -> dict[str, Any]:
    """Describe one image."""
    found: dict[str, Any] = ec2.describe_images(ImageIds=[image_id])["Images"][0]
    return found


def root_snapshot(ec2: Any, image_id: str) -> str:
    """Return the snapshot of an image's root device."""
    snapshot_id: str = image(ec2, image_id)["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    return snapshot_id


def test_registered(ec2: Any, world: Any, refused: Any) -> None:
    """A registered image shows its devices and properties; its name is taken."""
    found = image(ec2, world.image_id)
    root, store = found["BlockDeviceMappings"]
    assert (root["DeviceName"], root["Ebs"]["VolumeSize"]) == ("/dev/xvda", 5)
    assert store == {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"}
    assert (found["RootDeviceName"], found["RootDeviceType"]) == ("/dev/xvda", "ebs")
    assert (found["VirtualizationType"], found["Architecture"]) == ("hvm", "x86_64")
    assert (found["EnaSupport"], found["SriovNetSupport"]) == (True, "simple")
    with refused("InvalidAMIName.Duplicate"):
        ec2.register_image(Name="BOSH-light-stemcell", RootDeviceName="/dev/xvda")


def test_copied(ec2: Any, world: Any) -> None:
    """A copy has devices, encryption and tags of its own."""
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
    assert world.state()["snapshots"] == [ebs["SnapshotId"]]


def test_description_of_a_copied_snapshot(ec2: Any, world: Any) -> None:
    """A copy's snapshot names the copy and both sources, and is found by that with a wildcard."""
    copy_id = ec2.copy_image(Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1")["ImageId"]
    source, copied = (
        image(ec2, image_id)["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
        for image_id in (world.image_id, copy_id)
    )
    filters = [{"Name": "description", "Values": [f"Copied for DestinationAmi {copy_id} *"]}]
    (snapshot,) = ec2.describe_snapshots(OwnerIds=["self"], Filters=filters)["Snapshots"]
    assert snapshot["SnapshotId"] == copied
    assert snapshot["Description"] == (
        f"Copied for DestinationAmi {copy_id} from SourceAmi {world.image_id} "
        f"for SourceSnapshot {source}. Task created on 1,234,567,890,123."
    )


def test_copy_of_another_region(fake_aws: FakeAws, ec2: Any, world: Any) -> None:
    """An image is copied from another region; the copy says where it is from."""
    far = fake_aws.client("ec2", "eu-west-1")
    source = far.register_image(Name="far", Description="d", RootDeviceName="/dev/xvda")["ImageId"]
    copy_id = ec2.copy_image(Name="copy", SourceImageId=source, SourceRegion="eu-west-1")["ImageId"]
    assert image(ec2, copy_id)["Description"] == f"[Copied {source} from eu-west-1] d"
    assert world.state()["images"] == [copy_id]


def test_copied_once(ec2: Any, world: Any) -> None:
    """A repeated client token is answered with the first copy."""
    first, again = (
        ec2.copy_image(
            Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1", ClientToken="token"
        )["ImageId"]
        for _ in range(2)
    )
    assert (again, world.state()["images"]) == (first, [first])


def test_copy_of_a_deregistered_image(ec2: Any, world: Any, refused: Any) -> None:
    """Nothing is copied of an image that was deregistered."""
    ec2.deregister_image(ImageId=world.image_id)
    with refused("InvalidAMIID.Unavailable", world.image_id):
        ec2.copy_image(Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1")


def test_key_without_encryption(ec2: Any, world: Any, refused: Any) -> None:
    """A copy with a key must also be asked to be encrypted."""
    with refused("InvalidParameterDependency", "KmsKeyId"):
        ec2.copy_image(Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1", KmsKeyId=KEY)
    assert world.state() == world.empty


def test_disabled(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """A disabled image is shown to callers that ask for disabled ones only, and can't be launched."""
    ec2.disable_image(ImageId=world.image_id)
    assert ec2.describe_images(ImageIds=[world.image_id])["Images"] == []
    (found,) = ec2.describe_images(ImageIds=[world.image_id], IncludeDisabled=True)["Images"]
    assert found["State"] == "disabled"
    with refused("InvalidAMIID.Unavailable", world.image_id):
        run()


def test_states_of_a_copy(fake_aws: FakeAws, ec2: Any, world: Any) -> None:
    """A copy is pending as long as a test says, shows no snapshot before, and may fail."""
    fake_aws.rule(action="CopyImage", times=1, states=["pending", "available", "failed: no such key"])
    copy_id = ec2.copy_image(Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1")["ImageId"]
    pending, available, failed = (image(ec2, copy_id) for _ in range(3))
    assert (pending["State"], available["State"], failed["State"]) == ("pending", "available", "failed")
    assert [device["DeviceName"] for device in pending["BlockDeviceMappings"]] == ["/dev/sdb"]
    assert [device["DeviceName"] for device in available["BlockDeviceMappings"]] == ["/dev/xvda", "/dev/sdb"]
    assert "StateReason" not in available
    assert failed["StateReason"] == {"Code": "Client.InternalError", "Message": "no such key"}


def register(ec2: Any, world: Any, **parameters: Any) -> str:
    """Register an image of the laid image's snapshot."""
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
    """An image shows what it was registered with, and is found by name, tag, state and no other."""
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
    """An image is encrypted as its snapshot is; RegisterImage takes no word about it."""
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


@pytest.mark.parametrize(("is_shared", "code"), [(False, "success"), (True, "skipped")])
def test_snapshots_go_along(ec2: Any, world: Any, refused: Any, *, is_shared: bool, code: str) -> None:
    """DeregisterImage deletes an image's snapshots if asked to, but for those of other images."""
    snapshot = root_snapshot(ec2, world.image_id)
    if is_shared:
        register(ec2, world)
    answer = ec2.deregister_image(ImageId=world.image_id, DeleteAssociatedSnapshots=True)
    assert answer["DeleteSnapshotResults"] == [{"SnapshotId": snapshot, "ReturnCode": code}]
    if is_shared:
        assert ec2.describe_snapshots(SnapshotIds=[snapshot])["Snapshots"]
    else:
        with refused("InvalidSnapshot.NotFound"):
            ec2.describe_snapshots(SnapshotIds=[snapshot])


def test_snapshot_that_may_not_go(fake_aws: FakeAws, ec2: Any, world: Any) -> None:
    """A test may have a snapshot stay for another reason."""
    snapshot = root_snapshot(ec2, world.image_id)
    fake_aws.rule(action="DeregisterImage", states=["missing-permissions"])
    answer = ec2.deregister_image(ImageId=world.image_id, DeleteAssociatedSnapshots=True)
    found = answer["DeleteSnapshotResults"]
    assert found == [{"SnapshotId": snapshot, "ReturnCode": "missing-permissions"}]
    assert ec2.describe_snapshots(SnapshotIds=[snapshot])["Snapshots"]


def test_snapshots_stay(ec2: Any, world: Any) -> None:
    """DeregisterImage deletes no snapshot unless asked to."""
    snapshot = root_snapshot(ec2, world.image_id)
    assert "DeleteSnapshotResults" not in ec2.deregister_image(ImageId=world.image_id)
    assert ec2.describe_snapshots(SnapshotIds=[snapshot])["Snapshots"]


def test_kernels(ec2: Any, world: Any) -> None:
    """Amazon's kernel images are there for those who look for them, and are nobody else's."""
    filters = [
        {"Name": "image-type", "Values": ["kernel"]},
        {"Name": "architecture", "Values": ["x86_64"]},
    ]
    found = ec2.describe_images(Owners=["amazon"], Filters=filters)["Images"]
    assert {each["ImageType"] for each in found} == {"kernel"}
    assert all(each["ImageId"].startswith("aki-") for each in found)
    assert sorted(each["ImageLocation"].partition("/")[2][:15] for each in found) == [
        "pv-grub-hd00_1.",
        "pv-grub-hd0_1.0",
        "pv-grub-hd0_1.0",
    ]
    assert world.state() == world.empty


def test_unknown(ec2: Any, world: Any, refused: Any) -> None:
    """A filter finds nothing; an id is refused, also among known ones."""
    by_filter = ec2.describe_images(Filters=[{"Name": "image-id", "Values": [UNKNOWN]}])
    assert by_filter["Images"] == []
    with refused("InvalidAMIID.NotFound", UNKNOWN):
        ec2.describe_images(ImageIds=[world.image_id, UNKNOWN])
    with refused("InvalidAMIID.Malformed"):
        ec2.describe_images(ImageIds=["ami-x"])
