"""Stemcells: light ones, their encrypted copies, and what deleting leaves."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi
from testbed.world import World
from tests.stories.story import Story

KEY = "arn:aws:kms:us-east-1:123456789012:key/default"
ELSEWHERE = "ami-0123456789abcdef0"
DENIED = {"code": "UnauthorizedOperation", "message": "You are not authorized to do this.", "status": 403}
UNKNOWN = {"code": "UnknownParameter", "message": "DeleteAssociatedSnapshots is not recognized"}
NOT_IN_USE_YET = {"code": "InvalidSnapshot.InUse", "message": "The snapshot is currently in use"}


@pytest.mark.parametrize(
    ("version", "more", "tags"), [(2, [], {}), (3, [{"tags": {"a": 1, "none": None}}], {"a": "1"})]
)
def test_light(
    story: Story, cpi: Cpi, world: World, version: int, more: list[Any], tags: dict[str, str]
) -> None:
    """A light stemcell is its AMI of the region; only with contract V3 it is tagged."""
    properties = {"ami": {"eu-west-1": ELSEWHERE, "us-east-1": world.image_id}, "tags": {"own": "x"}}
    answer = cpi.call("create_stemcell", "/x/image", properties, *more, api_version=version)
    assert answer.ok() == f"{world.image_id} light"
    assert story.tags_of(world.image_id) == tags
    assert world.state() == world.empty


@pytest.mark.parametrize(
    ("version", "tags", "more"),
    [(2, ["a"], []), (3, {}, [{"tags": "a=b"}])],
    ids=["own", "of-the-environment"],
)
def test_tags_that_are_none(
    cpi: Cpi, world: World, version: int, tags: object, more: list[Any], fake_aws: FakeAws
) -> None:
    """Tags must be a hash, even if they are ignored."""
    properties = {"ami": {"us-east-1": world.image_id}, "tags": tags}
    error = cpi.call("create_stemcell", "/x/image", properties, *more, api_version=version).error
    assert error["type"] == "Bosh::Clouds::CloudError"
    assert error["message"].startswith("Invalid value for 'tags': expected a Hash but got ")
    assert fake_aws.actions() == []


def test_encrypted_copy(story: Story, world: World, fake_aws: FakeAws) -> None:
    """An encrypted stemcell is a copy, which is tagged, waited for, found again, and deleted completely."""
    cpi = story.cpi_with(encrypted=True, stemcell={"kms_key_arn": KEY})
    fake_aws.rule(action="DescribeImages", nth=3, replace=[[">available<", ">pending<"]])
    named = {"name": "bosh-noble", "version": "1.2"}
    properties = {"ami": {"us-east-1": world.image_id}, "kms_key_arn": "another", **named}
    answer = cpi.call("create_stemcell", "/x/image", properties, {"tags": {"a": "b"}}, api_version=3)
    copy = answer.ok()
    before, after = ["DescribeImages"] * 2, ["DescribeImages"] * 2
    assert fake_aws.actions() == [*before, "CopyImage", *after, "CreateTags"]
    (parameters,) = story.parameters_of("CopyImage")
    assert {name: parameters[name] for name in ("Name", "SourceImageId", "SourceRegion")} == {
        "Name": f"Copied from SourceAMI {world.image_id}",
        "SourceImageId": world.image_id,
        "SourceRegion": "us-east-1",
    }
    assert (parameters["Encrypted"], parameters["KmsKeyId"]) == ("true", KEY)
    (image,) = world.ec2.describe_images(ImageIds=[copy])["Images"]
    snapshots = [d["Ebs"]["SnapshotId"] for d in image["BlockDeviceMappings"] if "Ebs" in d]
    assert world.state() == {**world.empty, "images": [copy], "snapshots": snapshots}
    marks = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_source_ami": world.image_id, "bosh_kms_key": KEY}
    assert {"a": "b", **marks}.items() <= story.tags_of(copy).items()
    assert [story.tags_of(snapshot) for snapshot in snapshots] == [{**story.tags_of(copy), "bosh_ami": copy}]
    (snapshot,) = world.ec2.describe_snapshots(SnapshotIds=snapshots)["Snapshots"]
    assert (snapshot["Encrypted"], snapshot["KmsKeyId"]) == (True, KEY)

    assert cpi.call("create_stemcell", "/x/image", properties).ok() == copy
    assert len(story.parameters_of("CopyImage")) == 1

    fake_aws.forget_calls()
    assert cpi.call("delete_stemcell", copy).ok() is None
    assert fake_aws.actions() == ["DescribeImages", "DeregisterImage", "DescribeImages"]
    assert world.state() == world.empty
    gone = cpi.call("delete_stemcell", copy)
    assert gone.ok() is None
    assert copy in gone.stderr


def test_copy_that_fails(story: Story, world: World, fake_aws: FakeAws) -> None:
    """A copy that EC2 could not create is an error with its reason, and is deleted."""
    reason = "<stateReason><message>The key is disabled</message></stateReason>"
    failed = "<imageState>failed</imageState>" + reason
    fake_aws.rule(action="DescribeImages", nth=2, replace=[["<imageState>available</imageState>", failed]])
    properties = {"ami": {"us-east-1": world.image_id}}
    error = story.cpi_with(encrypted=True).call("create_stemcell", "/x/image", properties).error
    (copy,) = [word.strip("',") for word in error["message"].split() if word.startswith("'ami-")]
    assert copy != world.image_id
    message = f"EC2 could not create AMI '{copy}', its state is failed: The key is disabled"
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith(f"{message}. A usual cause is a KMS key that EC2 can't use: check ")
    assert error["message"].endswith("create grants. The call encrypts with the account's default key")
    assert world.state() == world.empty


def test_delete_stemcell(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """The AMI of a light stemcell stays, without an AWS call; an unknown AMI is no error."""
    assert cpi.call("delete_stemcell", f"{world.image_id} light").ok() is None
    assert fake_aws.actions() == []
    assert cpi.call("delete_stemcell", ELSEWHERE).ok() is None
    assert world.ec2.describe_images(ImageIds=[world.image_id])["Images"] != []


def test_delete_half_deleted_stemcell(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """If a snapshot can't be deleted, the call fails; the next call finds and deletes it.

    Where EC2 does not delete snapshots with an AMI, it counts them as the AMI's for a while.
    """
    properties = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    copy = cpi.call("create_stemcell", "/x/image", properties).ok()
    (snapshot,) = world.state()["snapshots"]
    world.ec2.delete_tags(Resources=[snapshot], Tags=[{"Key": "bosh_ami"}])  # as after an error of this tag
    fake_aws.rule(action="DeregisterImage", nth=1, error=UNKNOWN)
    fake_aws.rule(action="DeleteSnapshot", nth=1, error=NOT_IN_USE_YET)
    fake_aws.rule(action="DeleteSnapshot", nth=2, error=DENIED)
    error = cpi.call("delete_stemcell", copy).error
    assert "DeleteSnapshot failed with UnauthorizedOperation" in error["message"]
    assert world.state() == {**world.empty, "snapshots": [snapshot]}
    assert story.tags_of(snapshot)["bosh_ami"] == copy
    assert cpi.call("delete_stemcell", copy).ok() is None
    assert world.state() == world.empty


def test_delete_no_stemcell(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A wildcard of EC2's filters is no stemcell's id: nothing is deleted."""
    volume_id = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    described = f"Copied for DestinationAmi {ELSEWHERE} from SourceAmi ami-1 for SourceSnapshot snap-1."
    tag: Any = {"ResourceType": "snapshot", "Tags": [{"Key": "bosh_ami", "Value": ELSEWHERE}]}
    for more in ({"Description": described}, {"TagSpecifications": [tag]}):
        world.ec2.create_snapshot(VolumeId=volume_id, **more)
    ebs = fake_aws.client("ebs")
    uploaded = ebs.start_snapshot(VolumeSize=1, Tags=tag["Tags"])["SnapshotId"]
    ebs.complete_snapshot(SnapshotId=uploaded, ChangedBlocksCount=0)
    before = world.state()
    assert len(before["snapshots"]) == 3
    assert cpi.call("delete_stemcell", "ami-0*").ok() is None
    assert world.state() == before
