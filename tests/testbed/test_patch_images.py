"""Images: registration, copies, states and deregistration."""

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
    """A copy has its own devices, encryption and tags."""
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
    """The description of a copy's snapshot names the copy and both sources; a wildcard filter finds it."""
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
    """An image is copied from another region; the copy's description names the source."""
    far = fake_aws.client("ec2", "eu-west-1")
    source = far.register_image(Name="far", Description="d", RootDeviceName="/dev/xvda")["ImageId"]
    copy_id = ec2.copy_image(Name="copy", SourceImageId=source, SourceRegion="eu-west-1")["ImageId"]
    assert image(ec2, copy_id)["Description"] == f"[Copied {source} from eu-west-1] d"
    assert world.state()["images"] == [copy_id]


def test_copied_once(ec2: Any, world: Any) -> None:
    """A repeated client token returns the first copy."""
    first, again = (
        ec2.copy_image(
            Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1", ClientToken="token"
        )["ImageId"]
        for _ in range(2)
    )
    assert (again, world.state()["images"]) == (first, [first])


def test_copy_of_a_deregistered_image(ec2: Any, world: Any, refused: Any) -> None:
    """A deregistered image can't be copied."""
    ec2.deregister_image(ImageId=world.image_id)
    with refused("InvalidAMIID.Unavailable", world.image_id):
        ec2.copy_image(Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1")


def test_key_without_encryption(ec2: Any, world: Any, refused: Any) -> None:
    """CopyImage refuses a key without Encrypted."""
    with refused("InvalidParameterDependency", "KmsKeyId"):
        ec2.copy_image(Name="copy", SourceImageId=world.image_id, SourceRegion="us-east-1", KmsKeyId=KEY)
    assert world.state() == world.empty


def test_disabled(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """A disabled image is shown only with IncludeDisabled, and can't be launched."""
    ec2.disable_image(ImageId=world.image_id)
    assert ec2.describe_images(ImageIds=[world.image_id])["Images"] == []
    (found,) = ec2.describe_images(ImageIds=[world.image_id], IncludeDisabled=True)["Images"]
    assert found["State"] == "disabled"
    with refused("InvalidAMIID.Unavailable", world.image_id):
        run()


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


@pytest.mark.parametrize(("is_shared", "code"), [(False, "success"), (True, "skipped")])
def test_snapshots_go_along(ec2: Any, world: Any, refused: Any, *, is_shared: bool, code: str) -> None:
    """On request DeregisterImage deletes an image's snapshots that no other image uses."""
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
    """A rule can let DeregisterImage keep a snapshot for another reason."""
    snapshot = root_snapshot(ec2, world.image_id)
    fake_aws.rule(action="DeregisterImage", states=["missing-permissions"])
    answer = ec2.deregister_image(ImageId=world.image_id, DeleteAssociatedSnapshots=True)
    found = answer["DeleteSnapshotResults"]
    assert found == [{"SnapshotId": snapshot, "ReturnCode": "missing-permissions"}]
    assert ec2.describe_snapshots(SnapshotIds=[snapshot])["Snapshots"]


def test_snapshots_stay(ec2: Any, world: Any) -> None:
    """Without the request DeregisterImage deletes no snapshot."""
    snapshot = root_snapshot(ec2, world.image_id)
    assert "DeleteSnapshotResults" not in ec2.deregister_image(ImageId=world.image_id)
    assert ec2.describe_snapshots(SnapshotIds=[snapshot])["Snapshots"]


def test_kernels(ec2: Any, world: Any) -> None:
    """A search for kernel images finds Amazon's, which the account does not own."""
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
    """For an unknown image a filter finds nothing; its id is refused, together with known ones too."""
    by_filter = ec2.describe_images(Filters=[{"Name": "image-id", "Values": [UNKNOWN]}])
    assert by_filter["Images"] == []
    with refused("InvalidAMIID.NotFound", UNKNOWN):
        ec2.describe_images(ImageIds=[world.image_id, UNKNOWN])
    with refused("InvalidAMIID.Malformed"):
        ec2.describe_images(ImageIds=["ami-x"])
