"""Heavy stemcells: an image becomes a snapshot by the EBS direct APIs, and the snapshot an AMI."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID
from testbed.world import World
from tests.stories.stemcell_images import (
    FULL_BLOCKS,
    PROPERTIES,
    Heavy,
    read_back,
)
from tests.stories.story import Story

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
OTHER_KEY = "arn:aws:kms:us-east-1:123456789012:key/other"
TITLE = f"{PROPERTIES['name']} {PROPERTIES['version']}"
NEWEST = "aki-499ccb20"
"""Of the kernel images for a partition that the stand-in for AWS has."""
PARAVIRTUAL: dict[str, Any] = {"virtualization_type": "paravirtual"}
ADDED = {"bosh_stemcell", "bosh_director_uuid", "bosh_ami", "Name"}


@pytest.fixture
def registered(story: Story) -> Callable[[], dict[str, str]]:
    """Return a function that reads the one RegisterImage, without tags and what always differs."""

    def read() -> dict[str, str]:
        (parameters,) = story.parameters_of("RegisterImage")
        beside = ("Action", "Version", "Name", "BlockDeviceMapping.1.Ebs.SnapshotId", "TagSpecification.")
        return {name: value for name, value in parameters.items() if not name.startswith(beside)}

    return read


def devices(root: str) -> dict[str, str]:
    """Write the block devices of RegisterImage."""
    return {
        "BlockDeviceMapping.1.DeviceName": root,
        "BlockDeviceMapping.1.Ebs.DeleteOnTermination": "true",
        "BlockDeviceMapping.2.DeviceName": "/dev/sdb",
        "BlockDeviceMapping.2.VirtualName": "ephemeral0",
    }


HVM = {
    "Architecture": "x86_64",
    "VirtualizationType": "hvm",
    "RootDeviceName": "/dev/xvda",
    "SriovNetSupport": "simple",
    "EnaSupport": "true",
    "BootMode": "legacy-bios",
    **devices("/dev/xvda"),
}


def test_made(
    story: Story, heavy: Heavy, world: World, fake_aws: FakeAws, registered: Callable[[], dict[str, str]]
) -> None:
    """The image's blocks, except zeros, become a snapshot, and that becomes an AMI; both are tagged."""
    answer = heavy.create()
    ami_id = answer.ok()
    puts = ["PutSnapshotBlock"] * len(FULL_BLOCKS)
    after = ["CompleteSnapshot", "DescribeSnapshots", "RegisterImage", "DescribeImages", "CreateTags"]
    assert fake_aws.actions() == ["StartSnapshot", *puts, *after]
    (snapshot_id,) = world.state()["snapshots"]
    assert world.state() == {**world.empty, "images": [ami_id], "snapshots": [snapshot_id]}
    assert read_back(fake_aws, snapshot_id) == FULL_BLOCKS
    assert registered() == {**HVM, "Description": TITLE}
    (registering,) = story.parameters_of("RegisterImage")
    assert registering["BlockDeviceMapping.1.Ebs.SnapshotId"] == snapshot_id
    assert UUID(registering["Name"].removeprefix("BOSH-")).version == 4
    mark = story.tags_of(ami_id)["bosh_stemcell"]
    assert UUID(mark).version == 4
    tags = {"distro": "noble", "n": "1", "bosh_director_uuid": DIRECTOR_UUID, "bosh_stemcell": mark}
    assert story.tags_of(snapshot_id) == {**tags, "bosh_ami": ami_id}
    assert story.tags_of(ami_id) == {**tags, "Name": TITLE}
    (snapshot,) = world.ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"]
    assert (snapshot["VolumeSize"], snapshot["Description"], snapshot["Encrypted"]) == (3, TITLE, False)
    assert "Uploaded 1 of 1 MiB (100 %)" in answer.stderr


def test_tags(story: Story, heavy: Heavy, world: World) -> None:
    """Since version 3 the Director gives the tags; before that the stemcell has them."""
    ami_id = heavy.create({"tags": {"a": True, "none": None}}, api_version=3).ok()
    for made in (ami_id, *world.state()["snapshots"]):
        assert {name: value for name, value in story.tags_of(made).items() if name not in ADDED} == {
            "a": "true"
        }


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (
            {"architecture": "arm64", "boot_mode": "uefi-preferred", "version": None},
            {**HVM, "Architecture": "arm64", "BootMode": "uefi-preferred"},
        ),
        (
            {**PARAVIRTUAL, "kernel_id": "aki-given", "name": ""},
            {"Architecture": "x86_64", "RootDeviceName": "/dev/sda1", "KernelId": "aki-given"},
        ),
        (
            {**PARAVIRTUAL, "name": None},
            {"Architecture": "x86_64", "RootDeviceName": "/dev/sda1", "KernelId": NEWEST},
        ),
    ],
    ids=["arm-and-boot-mode", "given-kernel", "newest-kernel"],
)
def test_registration(
    heavy: Heavy,
    registered: Callable[[], dict[str, str]],
    properties: dict[str, Any],
    expected: dict[str, str],
) -> None:
    """The AMI has the stemcell's properties; a paravirtual one has a kernel image."""
    heavy.create(**properties).ok()
    if properties.get("virtualization_type"):
        expected = {"VirtualizationType": "paravirtual", **devices("/dev/sda"), **expected}
    assert registered() == expected


def test_key_by_its_id(story: Story, heavy: Heavy, fake_aws: FakeAws) -> None:
    """A key's id is completed to an ARN of the call's account and region."""
    key = "mrk-1234abcd12ab34cd56ef1234567890ab"
    heavy.create(encrypted=True, kms_key_arn=key).ok()
    (starting,) = story.parameters_of("StartSnapshot")
    assert starting["KmsKeyArn"] == f"arn:aws:kms:us-east-1:123456789012:key/{key}"
    assert fake_aws.actions()[0] == "GetCallerIdentity"


def test_key_of_an_unknown_account(heavy: Heavy, fake_aws: FakeAws, world: World) -> None:
    """If STS does not tell the account, the error asks for the key's ARN before the upload."""
    fake_aws.refuse("GetCallerIdentity", "RegionDisabledException", "Not here.", 403)
    message = heavy.create(encrypted=True, kms_key_arn="1234abcd-12ab-34cd-56ef-1234567890ab").error[
        "message"
    ]
    assert "GetCallerIdentity failed with RegionDisabledException" in message
    assert message.endswith("Set kms_key_arn to the key's ARN")
    assert (fake_aws.actions(), world.state()) == (["GetCallerIdentity"], world.empty)


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("arn:aws:kms:us-east-1:123456789012:alias/bosh", "an alias"),
        ("arn:aws:iam::123456789012:role/bosh", "neither a key's ARN nor its id"),
    ],
)
def test_key_that_ebs_does_not_take(
    story: Story, heavy: Heavy, fake_aws: FakeAws, key: str, what: str
) -> None:
    """An alias, which the EBS direct APIs don't accept, is refused before the upload."""
    message = (
        f"kms_key_arn '{key}' is {what}: the EBS direct APIs, which create the snapshot of a heavy stemcell, "
        "need a key's ARN. Set kms_key_arn to the key's ARN or id (aws kms describe-key), or "
        "aws.stemcell_upload to volume"
    )
    assert heavy.create(encrypted=True, kms_key_arn=key).error == story.failure("CloudError", message)
    assert fake_aws.actions() == []


def test_no_kernel(story: Story, heavy: Heavy, fake_aws: FakeAws) -> None:
    """A paravirtual stemcell without a kernel image is refused before anything is created."""
    answer = heavy.create(**PARAVIRTUAL, architecture="i386")
    assert answer.error == story.failure("CloudError", "unable to find AKI")
    assert fake_aws.actions() == ["DescribeImages"]


@pytest.mark.parametrize(
    ("defaults", "own"),
    [
        ({"encrypted": True, "kms_key_arn": OTHER_KEY}, {"kms_key_arn": KEY}),
        ({"stemcell": {"encrypted": True, "kms_key_arn": KEY}}, {"encrypted": False}),
    ],
    ids=["own-key", "configured"],
)
def test_encrypted(
    story: Story,
    heavy: Heavy,
    registered: Callable[[], dict[str, str]],
    defaults: dict[str, Any],
    own: dict[str, Any],
) -> None:
    """StartSnapshot encrypts the snapshot; RegisterImage, which would refuse it, has no encryption."""
    heavy.create(cpi=story.cpi_with(**defaults), **own).ok()
    (starting,) = story.parameters_of("StartSnapshot")
    assert (starting["Encrypted"], starting["KmsKeyArn"]) == ("true", KEY)
    assert registered() == {**HVM, "Description": TITLE}
    assert story.parameters_of("GetCallerIdentity") == []
