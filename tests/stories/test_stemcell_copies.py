"""Copies of light stemcells' AMIs: found again, and from other regions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi, finish
from testbed.killing import abandon_at, act_at, kill_at, leave
from testbed.world import World
from tests.stories.story import Story

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
NO_AMI = "Stemcell does not contain an AMI in region us-east-1"
ELSEWHERE = "ami-0123456789abcdef0"
NOBLE = {"name": "bosh-noble", "version": "1.2"}
FROM_ELSEWHERE = {"copy_from_region": True}


@pytest.fixture
def elsewhere(fake_aws: FakeAws, world: World) -> Callable[[str], str]:
    """Return a function that has an encrypted AMI in another region."""
    del world

    def register(region: str) -> str:
        ec2: Any = fake_aws.client("ec2", region)
        volume_id = ec2.create_volume(AvailabilityZone=f"{region}a", Size=3, Encrypted=True)["VolumeId"]
        snapshot_id = ec2.create_snapshot(VolumeId=volume_id)["SnapshotId"]
        device = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot_id}}
        answer = ec2.register_image(
            Name="light", RootDeviceName="/dev/xvda", VirtualizationType="hvm", BlockDeviceMappings=[device]
        )
        fake_aws.forget_calls()
        return str(answer["ImageId"])

    return register


@pytest.fixture
def copied(cpi: Cpi, world: World) -> Callable[..., str]:
    """Return a function that has the world's AMI copied, for a stemcell with these properties."""

    def create(tags: dict[str, str] | None = None, **properties: Any) -> str:
        context = {"director_uuid": properties.pop("director", DIRECTOR_UUID)}
        if "request_id" in properties:
            context["request_id"] = properties.pop("request_id")
        light = {"ami": {"us-east-1": world.image_id}, "encrypted": True, **properties}
        env = {"tags": tags or {}}
        ami_id: str = cpi.call("create_stemcell", "/x/image", light, env, api_version=3, context=context).ok()
        return ami_id

    return create


def test_same_stemcell(story: Story, copied: Callable[..., str], world: World, fake_aws: FakeAws) -> None:
    """A copy is reused for the stemcell of the same name and version, and gets new tags."""
    first = copied({"a": "1"}, **NOBLE)
    call = story.tags_of(first)["bosh_call"]
    assert copied({"a": "2", "b": "3"}, **NOBLE) == first
    creator, call = call, story.tags_of(first)["bosh_call"]
    assert call != creator
    others = [copied(**NOBLE, kms_key_arn=KEY), copied(**NOBLE, director="another")]
    assert sorted([first, *others]) == world.state()["images"]
    assert fake_aws.actions().count("CopyImage") == 3
    marks = {
        "bosh_call": call,
        "bosh_director_uuid": DIRECTOR_UUID,
        "bosh_source_ami": world.image_id,
        "bosh_kms_key": "default",
        "bosh_stemcell_name": "bosh-noble/1.2",
    }
    (image,) = world.ec2.describe_images(ImageIds=[first])["Images"]
    snapshot_id = image["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]
    assert story.tags_of(first) == {"a": "2", "b": "3", **marks}
    assert story.tags_of(snapshot_id) == {"a": "2", "b": "3", **marks, "bosh_ami": first}


def test_copy_that_another_call_uses(
    cpi: Cpi, copied: Callable[..., str], world: World, fake_aws: FakeAws
) -> None:
    """A call whose caller is gone keeps its copy if another call has returned it meanwhile."""
    light = {"ami": {"us-east-1": world.image_id}, "encrypted": True, **NOBLE}
    fake_aws.rule(action="CopyImage", hold=True)
    process = cpi.start("create_stemcell", "/x/image", light, context={"request_id": "cpi-1"})
    assert fake_aws.wait_until_held() == ["CopyImage"]
    ami_id = copied(**NOBLE, request_id="cpi-2")
    leave(process)
    fake_aws.release()
    answer = finish(process)
    assert answer.returncode == 1
    assert f"AMI '{ami_id}' is not deleted: another call has adopted it" in answer.stderr
    assert world.state()["images"] == [ami_id]
    assert len(world.state()["snapshots"]) == 1


def test_copy_that_its_call_discards(
    cpi: Cpi, copied: Callable[..., str], world: World, fake_aws: FakeAws
) -> None:
    """A call does not return a copy that its creator has just discarded."""
    light = {"ami": {"us-east-1": world.image_id}, "encrypted": True, **NOBLE}
    first = copied(**NOBLE, request_id="cpi-1")
    start = partial(cpi.start, "create_stemcell", "/x/image", light, context={"request_id": "cpi-2"})
    delete = partial(world.ec2.deregister_image, ImageId=first)
    message = act_at(fake_aws, start, delete, action="CreateTags", when="after").error["message"]
    expected = f"The call that created AMI '{first}' has deleted it: upload the stemcell again"
    assert message == expected
    assert world.state()["images"] == []


def test_two_stemcells_of_one_source(cpi: Cpi, copied: Callable[..., str], world: World) -> None:
    """Two stemcells never share a copy: deleting one leaves the other's AMI."""
    first, second = copied(**NOBLE), copied(**{**NOBLE, "version": "1.3"})
    assert first != second
    cpi.call("delete_stemcell", first).ok()
    assert world.state()["images"] == [second]
    assert len(world.state()["snapshots"]) == 1


def test_plain_copy_with_the_tags_of_an_encrypted_one(
    story: Story, cpi: Cpi, copied: Callable[..., str], world: World
) -> None:
    """An AMI that is not encrypted is never taken for the encrypted copy, whatever its tags are."""
    first = copied(**NOBLE)
    tags = [{"Key": key, "Value": value} for key, value in story.tags_of(first).items()]
    plain = world.ec2.copy_image(Name="plain", SourceImageId=world.image_id, SourceRegion="us-east-1")[
        "ImageId"
    ]
    world.ec2.create_tags(Resources=[plain], Tags=tags)
    cpi.call("delete_stemcell", first).ok()
    assert copied(**NOBLE) != plain


@pytest.mark.parametrize(("key", "is_reused"), [(KEY, False), ("alias/own", True)])
def test_copy_with_a_key(copied: Callable[..., str], fake_aws: FakeAws, key: str, *, is_reused: bool) -> None:
    """A copy with another key is not reused; which key an alias stands for is not known."""
    first = copied(**NOBLE, kms_key_arn=key)
    shown = [["<kmsKeyId>.*?</kmsKeyId>", f"<kmsKeyId>{KEY}-other</kmsKeyId>"]]
    fake_aws.rule(action="DescribeSnapshots", replace=shown)
    assert (copied(**NOBLE, kms_key_arn=key) == first) is is_reused


def test_same_request_again(copied: Callable[..., str], world: World, fake_aws: FakeAws) -> None:
    """A repeated request with an id finds its copy, if that is new, even if the stemcell has no name."""
    first = copied(request_id="cpi-1")
    assert copied(request_id="cpi-1") == first
    second = copied(request_id="cpi-2")
    assert world.state()["images"] == sorted([first, second])
    created = world.ec2.describe_images(ImageIds=[first])["Images"][0]["CreationDate"]
    fake_aws.rule(action="DescribeImages", times=None, replace=[[created, "2020-01-01T00:00:00.000Z"]])
    assert copied(request_id="cpi-1") not in {first, second}


def test_copy_that_failed_after_a_killed_call(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """An earlier call's copy that failed is replaced."""
    properties = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    arguments = ("create_stemcell", "/x/image", properties)
    context = {"request_id": "cpi-1"}
    fake_aws.rule(action="CopyImage", nth=1, states=["failed: the key is disabled"])
    kill_at(fake_aws, lambda: cpi.start(*arguments, context=context), action="CopyImage", when="after")
    (begun,) = world.state()["images"]
    ami_id = cpi.call(*arguments, context=context).ok()
    assert ami_id != begun
    assert world.ec2.describe_images(ImageIds=[ami_id])["Images"][0]["State"] == "available"


@pytest.mark.parametrize(("request_id", "is_error"), [("cpi-1", True), ("cpi-2", False)])
def test_earlier_copy_that_fails(
    cpi: Cpi, copied: Callable[..., str], world: World, fake_aws: FakeAws, request_id: str, *, is_error: bool
) -> None:
    """If an earlier copy fails while it is waited for, that is the error; another request's is replaced."""
    light = {"ami": {"us-east-1": world.image_id}, "encrypted": True, **NOBLE}
    first = copied(**NOBLE, request_id="cpi-1")
    failed = [["<imageState>available<", "<imageState>failed<"]]
    fake_aws.rule(action="DescribeImages", nth=3, replace=failed)
    answer = cpi.call("create_stemcell", "/x/image", light, context={"request_id": request_id})
    said = f"EC2 could not create AMI '{first}'"
    if is_error:
        assert answer.error["message"].startswith(said)
    else:
        assert said in answer.stderr
        assert answer.ok() != first
    assert fake_aws.actions().count("CopyImage") == (1 if is_error else 2)


def test_copy_that_may_not_be_waited_for(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A copy that can't be waited for is deleted with its snapshots, which are found by their tag."""
    fake_aws.rule(action="CopyImage", nth=1, states=["pending"])
    fake_aws.rule(action="DeregisterImage", states=["internal-error"])
    said = story.deny("DescribeImages", nth=2)
    fake_aws.rule(
        action="DescribeSnapshots",
        where={"Filter.1.Name": "description"},
        replace=[["<snapshotSet>.*</snapshotSet>", "<snapshotSet/>"]],
    )
    properties = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    assert cpi.call("create_stemcell", "/x/image", properties).error["message"].startswith(said[:40])
    assert story.leftovers() == {}


def test_copy_whose_snapshots_may_not_be_listed(
    story: Story, cpi: Cpi, world: World, fake_aws: FakeAws
) -> None:
    """If the snapshots of a copy that is given up can't be listed, the log names their tag."""
    fake_aws.rule(action="CopyImage", nth=1, states=["pending"])
    fake_aws.rule(action="DeregisterImage", states=["missing-permissions"])
    story.deny("DescribeImages", nth=2)
    story.deny("DescribeSnapshots")
    properties = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    answer = cpi.call("create_stemcell", "/x/image", properties)
    assert "DescribeImages failed with UnauthorizedOperation" in answer.error["message"]
    fake_aws.clear_rules()
    (snapshot_id,) = world.state()["snapshots"]
    assert world.state()["images"] == []
    assert f"with the tag bosh_call={story.tags_of(snapshot_id)['bosh_call']} may be left" in answer.stderr


def test_from_another_region(
    story: Story, world: World, fake_aws: FakeAws, elsewhere: Callable[[str], str]
) -> None:
    """An AMI that the region lacks is copied once from the nearest region that has it."""
    ami = {"eu-west-1": ELSEWHERE, "us-west-2": elsewhere("us-west-2"), "cn-north-1": ELSEWHERE}
    cpi = story.cpi_with(stemcell=FROM_ELSEWHERE)
    properties = {"ami": ami, **NOBLE}
    answer = cpi.call("create_stemcell", "/x/image", properties, {"tags": {"a": "b"}}, api_version=3)
    copy = answer.ok()
    (parameters,) = story.parameters_of("CopyImage")
    named = ("SourceImageId", "SourceRegion", "Encrypted")
    assert [parameters.get(name) for name in named] == [ami["us-west-2"], "us-west-2", None]
    (snapshot_id,) = world.state()["snapshots"]
    assert world.state() == {**world.empty, "images": [copy], "snapshots": [snapshot_id]}
    marks = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_source_ami": ami["us-west-2"], "bosh_kms_key": "none"}
    assert {"a": "b", **marks}.items() <= story.tags_of(copy).items()
    assert story.tags_of(snapshot_id) == {**story.tags_of(copy), "bosh_ami": copy}
    assert cpi.call("create_stemcell", "/x/image", properties).ok() == copy
    assert len(story.parameters_of("CopyImage")) == 1
    assert cpi.call("delete_stemcell", copy).ok() is None
    assert world.state() == world.empty
    others: Any = fake_aws.client("ec2", "us-west-2")
    assert len(others.describe_images(ImageIds=[ami["us-west-2"]])["Images"]) == 1


@pytest.mark.parametrize(
    ("setting", "ami", "said"),
    [
        (
            {},
            {"eu-west-1": ELSEWHERE},
            "in eu-west-1: use a light stemcell for this region, set aws.stemcell.copy_from_region, or",
        ),
        (
            FROM_ELSEWHERE,
            {"cn-north-1": ELSEWHERE, "us-gov-west-1": ELSEWHERE, "us-iso-east-1": ELSEWHERE},
            "in cn-north-1, us-gov-west-1, us-iso-east-1, in other partitions: use a light stemcell",
        ),
        (
            FROM_ELSEWHERE,
            {"us-east-1": ELSEWHERE, "us-a": ELSEWHERE},
            f"Its AMI '{ELSEWHERE}' does not exist there",
        ),
    ],
    ids=["default", "other-partitions", "in-the-map"],
)
def test_not_to_be_copied(
    story: Story, world: World, setting: dict[str, Any], ami: dict[str, str], said: str
) -> None:
    """Nothing is copied without the property, between partitions, or if the map names the region."""
    answer = story.cpi_with(stemcell=setting).call("create_stemcell", "/x/image", {"ami": ami})
    assert answer.error == story.failure("CloudError", NO_AMI)
    assert said in answer.error["message"]
    assert world.state() == world.empty


def test_within_minutes(story: Story, world: World, fake_aws: FakeAws) -> None:
    """A copy can be requested within some minutes; the log says that other copies may come first."""
    fake_aws.rule(action="CopyImage", states=["pending", "available"])
    cpi = story.cpi_with(stemcell={"copy_completion_minutes": 15})
    properties = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    answer = cpi.call("create_stemcell", "/image", properties)
    answer.ok()
    (copying,) = story.parameters_of("CopyImage")
    assert copying["SnapshotCopyCompletionDurationMinutes"] == "15"
    waiting = "Waiting for the copy for up to 240 minutes: its 15 minutes begin when earlier"
    assert answer.stderr.count(waiting) == 1


def test_caller_gone_while_an_earlier_copy_is_pending(
    cpi: Cpi, copied: Callable[..., str], world: World, fake_aws: FakeAws
) -> None:
    """A call that waits for an earlier call's copy ends when its caller is gone; the copy stays."""
    first = copied(**NOBLE)
    pending = [["<imageState>available<", "<imageState>pending<"]]
    fake_aws.rule(action="DescribeImages", replace=pending)
    light = {"ami": {"us-east-1": world.image_id}, "encrypted": True, **NOBLE}
    start = partial(cpi.start, "create_stemcell", "/x/image", light)
    answer = abandon_at(fake_aws, start, 4, action="DescribeImages", when="after")
    fake_aws.clear_rules()
    assert answer.returncode == 1
    assert "interrupted by the loss of its caller" in answer.stderr
    assert world.state()["images"] == [first]


def test_no_such_minutes(story: Story, fake_aws: FakeAws) -> None:
    """Other numbers of minutes are refused by the key's name, before any AWS call."""
    answer = story.cpi_with(stemcell={"copy_completion_minutes": 20}).call("has_vm", "i-0123456789abcdef0")
    assert answer.error["type"] == "InvalidCall"
    said = "aws.stemcell.copy_completion_minutes must be 15, 30 or 45, got 20"
    assert said in answer.error["message"]
    assert fake_aws.actions() == []
