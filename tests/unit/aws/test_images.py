"""What is read of an AMI, in which order copies count, and whose snapshots a deletion takes."""

from typing import Any

import pytest

from bosh_aws_cpi.aws import images
from bosh_aws_cpi.model import Image
from tests.unit.aws.looks import AMI, OF_AMI, VM, image, tagged
from tests.unit.conftest import Clock, Stub

OTHER = "ami-0fedcba9876543210"
GONE = "InvalidAMIID.NotFound"
DEREGISTER = {"ImageId": AMI, "DeleteAssociatedSnapshots": True}


def shown(*found: dict[str, Any]) -> dict[str, Any]:
    """Answer DescribeImages."""
    return {"Images": list(found)}


def test_find(ec2: Stub) -> None:
    """An AMI has the names of all its devices, their snapshots and encryption, and its root disk's size.

    One that was made of an instance is no copy of the AMI that EC2 shows as its source.
    """
    look = image(RootDeviceName="/dev/sda1", VirtualizationType="paravirtual", Architecture="arm64")
    look["BlockDeviceMappings"] = [
        {"DeviceName": "/dev/sda1", "Ebs": {"SnapshotId": "snap-1", "VolumeSize": 5}},
        {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"},
        {"DeviceName": "/dev/sdc", "Ebs": {"VolumeSize": 7}},
        {"DeviceName": "/dev/sdd", "Ebs": {"SnapshotId": "snap-2"}},
    ]
    of_vm = image(SourceImageId=OTHER, SourceImageRegion="us-east-1", SourceInstanceId=VM)
    ec2.lay("describe_images", shown(look), shown(of_vm), **OF_AMI)
    names, snapshots = ["/dev/sda1", "/dev/sdb", "/dev/sdc", "/dev/sdd"], ["snap-1", "snap-2"]
    whole = Image(
        AMI, "/dev/sda1", "paravirtual", "arm64", names, snapshots, root_gib=5, has_plain_disks=True
    )
    assert images.find(ec2.client, AMI) == whole
    assert images.find(ec2.client, AMI) == Image(AMI, "", "hvm", "", [], [])


def test_find_first(ec2: Stub) -> None:
    """Of several AMIs that exist the first one given counts, however EC2 lists them."""
    ids = ["ami-1", "ami-3", "ami-2"]
    asked: dict[str, Any] = {"Filters": [{"Name": "image-id", "Values": ids}], "IncludeDeprecated": True}
    ec2.lay("describe_images", shown({"ImageId": "ami-2"}, {"ImageId": "ami-3"}), **asked)
    assert images.find_first(ec2.client, ids) == "ami-3"


def test_register_without_an_answer(ec2: Stub, clock: Clock) -> None:
    """RegisterImage takes no client token: an AMI is looked for by name, and registered again if unseen."""
    asked: dict[str, Any] = {"Owners": ["self"], "Filters": [{"Name": "name", "Values": ["BOSH-1"]}]}
    ec2.lay("register_image", "lost", Name="BOSH-1")
    other, own = {"ImageId": "ami-other", "Name": "BOSH-10"}, {"ImageId": AMI, "Name": "BOSH-1"}
    ec2.lay("describe_images", shown(other), shown(other, own), **asked)
    assert images.register(ec2.client, {"Name": "BOSH-1"}) == AMI
    assert len(clock.pauses) == 1
    ec2.lay("register_image", "fault InternalError", {"ImageId": AMI}, Name="BOSH-1")
    ec2.keeps("describe_images", shown())
    assert images.register(ec2.client, {"Name": "BOSH-1"}) == AMI


MARKED: dict[str, Any] = {
    "Owners": ["self"],
    "Filters": [
        {"Name": "tag:a", "Values": ["1"]},
        {"Name": "tag:b", "Values": ["2"]},
        {"Name": "state", "Values": ["available", "pending"]},
    ],
}


def test_marked(ec2: Stub) -> None:
    """Copies are found by all their tags: available ones before pending ones, then the oldest."""
    states = {"ami-1": "pending 2026-01-01", "ami-2": "available 2026-01-03", "ami-3": "available 2026-01-02"}
    entries = [{"ImageId": "ami-0", "State": "available", "Tags": tagged(a="1")}]
    for ami_id, each in states.items():
        state, date = each.split()
        made = {"ImageId": ami_id, "State": state, "CreationDate": date}
        entries.append({**made, "Tags": tagged(a="1", b="2")})
    ec2.lay("describe_images", shown(*entries), **MARKED)
    found = images.find_marked(ec2.client, {"b": "2", "a": "1"})
    assert [each.ami_id for each in found] == ["ami-3", "ami-2", "ami-1"]


def lay_deletions(ec2: Stub, *snapshot_ids: str) -> None:
    """Lay out the deletion of each snapshot."""
    for each in snapshot_ids:
        ec2.lay("delete_snapshot", {}, SnapshotId=each)


@pytest.mark.parametrize("last", [GONE, shown(image("deregistered"))])
def test_delete(ec2: Stub, clock: Clock, last: dict[str, Any] | str) -> None:
    """An AMI is deregistered, waited for until it is gone, and then each of its snapshots is deleted."""
    ec2.lay("describe_images", shown(image("available", "snap-1", "snap-2")), **OF_AMI)
    ec2.lay("deregister_image", "InvalidAMIID.Unavailable", **DEREGISTER)  # somebody else was faster
    ec2.lay("describe_images", shown(image()), last, **OF_AMI)
    lay_deletions(ec2, "snap-1", "snap-2")
    images.delete(ec2.client, AMI)
    assert len(clock.pauses) == 2


def test_delete_what_was_half_deleted(ec2: Stub) -> None:
    """The snapshots of an AMI that is gone are found by EC2's description of a copy, and by our tag.

    One that EC2 shows as another AMI's stays, whatever its tag.
    """
    ec2.lay("describe_images", GONE, **OF_AMI)
    searches = {"description": f"Copied for DestinationAmi {AMI} *", "tag:bosh_ami": AMI}
    said = {
        "VolumeId": "vol-ffffffff",
        "Description": f"Copied for DestinationAmi {AMI} from SourceAmi ami-1",
    }
    others = {**said, "Description": said["Description"].replace(AMI, OTHER), "Tags": tagged(bosh_ami=AMI)}
    for name, value in searches.items():
        found = {"Snapshots": [{"SnapshotId": name, **said}, {"SnapshotId": "snap-2", **others}]}
        filters: list[Any] = [{"Name": name, "Values": [value]}]
        ec2.lay("describe_snapshots", found, OwnerIds=["self"], Filters=filters)
    lay_deletions(ec2, *searches)
    images.delete(ec2.client, AMI)
