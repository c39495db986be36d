"""Copies of light stemcells' AMIs: found again, and from other regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import DIRECTOR_UUID
from testbed.killing import kill_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Cpi
    from testbed.world import World

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
NO_AMI = "Stemcell does not contain an AMI in region us-east-1"
ELSEWHERE = "ami-0123456789abcdef0"
FROM_ELSEWHERE = {"copy_from_region": True}


@pytest.fixture
def elsewhere(fake_aws: FakeAws, world: World) -> Callable[[str], str]:
    """Return a function that has an AMI in another region."""
    del world

    def register(region: str) -> str:
        ec2: Any = fake_aws.client("ec2", region)
        volume_id = ec2.create_volume(AvailabilityZone=f"{region}a", Size=3)["VolumeId"]
        snapshot_id = ec2.create_snapshot(VolumeId=volume_id)["SnapshotId"]
        device = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot_id}}
        answer = ec2.register_image(
            Name="light", RootDeviceName="/dev/xvda", VirtualizationType="hvm", BlockDeviceMappings=[device]
        )
        fake_aws.forget_calls()
        return str(answer["ImageId"])

    return register


def test_found_again(
    cpi: Cpi, world: World, fake_aws: FakeAws, tags_of: Callable[[str], dict[str, str]]
) -> None:
    """A copy of the same AMI with the same key, of the same Director, is used again, and tagged anew."""
    light = {"ami": {"us-east-1": world.image_id}, "encrypted": True}

    def create(tags: dict[str, str], director: str = DIRECTOR_UUID, **properties: Any) -> str:
        context = {"director_uuid": director}
        answer = cpi.call(
            "create_stemcell",
            "/x/image",
            {**light, **properties},
            {"tags": tags},
            api_version=3,
            context=context,
        )
        ami_id: str = answer.ok()
        return ami_id

    first = create({"a": "1"})
    assert create({"a": "2", "b": "3"}) == first
    others = [create({}, kms_key_arn=KEY), create({}, "another-director")]
    assert sorted([first, *others]) == world.state()["images"]
    assert fake_aws.actions().count("CopyImage") == 3
    marks = {
        "bosh_director_uuid": DIRECTOR_UUID,
        "bosh_source_ami": world.image_id,
        "bosh_kms_key": "default",
    }
    (image,) = world.ec2.describe_images(ImageIds=[first])["Images"]
    snapshot_id = image["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    assert [tags_of(made) for made in (first, snapshot_id)] == [{"a": "2", "b": "3", **marks}] * 2


def test_copy_that_failed_after_a_killed_call(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A copy that an earlier call began, and that failed meanwhile, is made anew."""
    properties = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    arguments = ("create_stemcell", "/x/image", properties)
    fake_aws.rule(action="CopyImage", nth=1, states=["failed: the key is disabled"])
    kill_at(fake_aws, lambda: cpi.start(*arguments), action="CopyImage", when="after")
    (begun,) = world.state()["images"]
    ami_id = cpi.call(*arguments).ok()
    assert ami_id != begun
    assert world.ec2.describe_images(ImageIds=[ami_id])["Images"][0]["State"] == "available"


def test_answer_that_never_comes(
    cpi: Cpi, world: World, fake_aws: FakeAws, left: Callable[[], dict[str, list[str]]]
) -> None:
    """When no answer of CopyImage ever comes, no copy stays unused."""
    fake_aws.rule(action="CopyImage", times=None, drop="after")
    properties = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    answer = cpi.call("create_stemcell", "/x/image", properties)
    found = left()
    used = [] if answer.error else [answer.result]
    assert (found.get("images", []), len(found.get("snapshots", []))) == (used, len(used))


def test_from_another_region(
    cpi_with: Callable[..., Cpi],
    world: World,
    fake_aws: FakeAws,
    elsewhere: Callable[[str], str],
    sent: Callable[[str], list[dict[str, str]]],
    tags_of: Callable[[str], dict[str, str]],
) -> None:
    """An AMI that the region lacks is copied from the nearest one that has it, once; the copy is ours."""
    ami = {"eu-west-1": ELSEWHERE, "us-west-2": elsewhere("us-west-2"), "cn-north-1": ELSEWHERE}
    cpi = cpi_with(stemcell=FROM_ELSEWHERE)
    answer = cpi.call("create_stemcell", "/x/image", {"ami": ami}, {"tags": {"a": "b"}}, api_version=3)
    copy = answer.ok()
    (parameters,) = sent("CopyImage")
    named = ("SourceImageId", "SourceRegion", "Encrypted")
    assert [parameters[name] for name in named] == [ami["us-west-2"], "us-west-2", "false"]
    (snapshot_id,) = world.state()["snapshots"]
    assert world.state() == {**world.empty, "images": [copy], "snapshots": [snapshot_id]}
    marks = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_source_ami": ami["us-west-2"], "bosh_kms_key": "none"}
    assert [tags_of(made) for made in (copy, snapshot_id)] == [{"a": "b", **marks}] * 2
    assert cpi.call("create_stemcell", "/x/image", {"ami": ami}).ok() == copy
    assert len(sent("CopyImage")) == 1
    assert cpi.call("delete_stemcell", copy).ok() is None
    assert world.state() == world.empty
    others: Any = fake_aws.client("ec2", "us-west-2")
    assert len(others.describe_images(ImageIds=[ami["us-west-2"]])["Images"]) == 1


def test_encrypted_from_another_region(
    cpi_with: Callable[..., Cpi],
    elsewhere: Callable[[str], str],
    sent: Callable[[str], list[dict[str, str]]],
) -> None:
    """One copy does both: it comes from the other region, and is encrypted."""
    cpi = cpi_with(stemcell=FROM_ELSEWHERE, encrypted=True, kms_key_arn=KEY)
    cpi.call("create_stemcell", "/x/image", {"ami": {"eu-west-1": elsewhere("eu-west-1")}}).ok()
    (parameters,) = sent("CopyImage")
    named = ("SourceRegion", "Encrypted", "KmsKeyId")
    assert [parameters[name] for name in named] == ["eu-west-1", "true", KEY]


def test_own_region_comes_first(cpi_with: Callable[..., Cpi], world: World, fake_aws: FakeAws) -> None:
    """What is in the region is used as it is, also when other regions might be asked."""
    ami = {"eu-west-1": ELSEWHERE, "us-east-1": world.image_id}
    cpi = cpi_with(stemcell=FROM_ELSEWHERE)
    assert cpi.call("create_stemcell", "/x/image", {"ami": ami}).ok() == f"{world.image_id} light"
    assert "CopyImage" not in fake_aws.actions()


@pytest.mark.parametrize(
    ("setting", "ami"),
    [
        ({}, {"eu-west-1": ELSEWHERE}),
        ({"copy_from_region": False}, {"eu-west-1": ELSEWHERE}),
        (FROM_ELSEWHERE, {"cn-north-1": ELSEWHERE, "us-gov-west-1": ELSEWHERE, "us-iso-east-1": ELSEWHERE}),
        (FROM_ELSEWHERE, {"us-east-1": ELSEWHERE, "eu-west-1": ELSEWHERE}),
    ],
    ids=["default", "switched-off", "other-partitions", "in-the-map"],
)
def test_not_to_be_copied(
    cpi_with: Callable[..., Cpi],
    world: World,
    failure: Callable[..., dict[str, Any]],
    setting: dict[str, Any],
    ami: dict[str, str],
) -> None:
    """Nothing is copied unless it is asked for, between partitions, or for a region that the map names."""
    answer = cpi_with(stemcell=setting).call("create_stemcell", "/x/image", {"ami": ami})
    assert answer.error == failure("CloudError", NO_AMI)
    assert world.state() == world.empty


def test_source_that_is_gone(cpi_with: Callable[..., Cpi], world: World) -> None:
    """An AMI that the other region does not have, or does not share, is told with EC2's words."""
    cpi = cpi_with(stemcell=FROM_ELSEWHERE)
    error = cpi.call("create_stemcell", "/x/image", {"ami": {"eu-west-1": ELSEWHERE}}).error
    assert error["type"] == "Bosh::Clouds::CloudError"
    assert error["message"].startswith("CopyImage failed with InvalidAMIID.NotFound")
    assert world.state() == world.empty
