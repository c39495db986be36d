"""Images keep what they are made of."""

from typing import Any

UNKNOWN = "ami-0123456789abcdef0"
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"


def image(ec2: Any, image_id: str) -> dict[str, Any]:
    """Describe one image."""
    found: dict[str, Any] = ec2.describe_images(ImageIds=[image_id])["Images"][0]
    return found


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


def test_snapshot_in_use(ec2: Any, world: Any, refused: Any) -> None:
    """A registered image's snapshot is not deleted before the image is."""
    snapshot = image(ec2, world.image_id)["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    with refused("InvalidSnapshot.InUse", world.image_id):
        ec2.delete_snapshot(SnapshotId=snapshot)
    ec2.deregister_image(ImageId=world.image_id)
    ec2.delete_snapshot(SnapshotId=snapshot)
    with refused("InvalidSnapshot.NotFound"):
        ec2.delete_snapshot(SnapshotId=snapshot)


def test_unknown(ec2: Any, world: Any, refused: Any) -> None:
    """A filter finds nothing; an id is refused, also among known ones."""
    by_filter = ec2.describe_images(Filters=[{"Name": "image-id", "Values": [UNKNOWN]}])
    assert by_filter["Images"] == []
    with refused("InvalidAMIID.NotFound", UNKNOWN):
        ec2.describe_images(ImageIds=[world.image_id, UNKNOWN])
    with refused("InvalidAMIID.Malformed"):
        ec2.describe_images(ImageIds=["ami-x"])
