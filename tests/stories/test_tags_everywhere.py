"""`aws.tags`: an account whose policy denies every untagged creation is no obstacle."""

from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.protocols import ListResources
from tests.stories.own_vm import OwnVm
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story

KEY = "cost-center"
TAGS = {KEY: 4711, "owner": "platform"}
WRITTEN = {KEY: "4711", "owner": "platform"}
DENIED = {"code": "UnauthorizedOperation", "message": "An explicit deny.", "status": 403}
ENCRYPTED = {"encrypted": True}


@pytest.fixture
def strict(fake_aws: FakeAws, world: World) -> None:
    """Have a policy that denies whatever creates something without the tag."""
    del world
    fake_aws.rule(action="*", without_tag=KEY, error=DENIED)


@pytest.fixture
def tagging(story: Story) -> Cpi:
    """Return the executable with `aws.tags`."""
    return story.cpi_with(tags=TAGS)


@pytest.mark.usefixtures("strict")
def test_without_tags(cpi: Cpi, world: World) -> None:
    """Without `aws.tags`, the account denies the creation, and nothing is left."""
    answer = cpi.call("create_disk", 2048, {}, None)
    assert (answer.error["type"], answer.error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert "UnauthorizedOperation" in answer.error["message"]
    assert world.state() == world.empty


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("is_several", [False, True], ids=["one-interface", "two-interfaces"])
def test_vm(story: Story, tagging: Cpi, world: World, *, is_several: bool) -> None:
    """VM, interfaces and volumes are tagged when they are created; a manifest's tag has precedence."""
    networks = {
        "front": story.network("10.0.1.10"),
        **({"back": story.network("10.0.2.10", 1)} if is_several else {}),
    }
    env = {"bosh": {"tags": {"owner": "team-a"}}}
    vm_cid = story.create_vm(networks=networks, env=env, executable=tagging).ok()[0]
    state = world.state()
    assert (len(state["volumes"]), len(state["interfaces"])) == (2, len(networks))
    for resource_id in [vm_cid, *state["volumes"], *state["interfaces"]]:
        tags = story.tags_of(resource_id)
        assert (tags[KEY], tags["owner"]) == ("4711", "team-a")
    tagging.call("delete_vm", vm_cid).ok()
    assert world.state() == world.empty


@pytest.mark.usefixtures("strict")
def test_spot_vm(story: Story, tagging: Cpi) -> None:
    """The launch of a spot VM tags its request, too."""
    story.create_vm({"spot_bid_price": 0.05}, executable=tagging).ok()
    (launch,) = story.parameters_of("RunInstances")
    kinds = {value for name, value in launch.items() if name.endswith("ResourceType")}
    assert kinds == {"instance", "volume", "network-interface", "spot-instances-request"}


@pytest.mark.usefixtures("strict")
def test_disks(story: Story, tagging: Cpi) -> None:
    """Disks, snapshots and copies of disks are tagged, whatever the Director's tags are."""
    vm_cid = story.create_vm(executable=tagging).ok()[0]
    disk_cid = tagging.call("create_disk", 2048, {"tags": {"owner": "team-b"}}, vm_cid).ok()
    tagging.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok()
    snapshot_cid = tagging.call("snapshot_disk", disk_cid, {"deployment": "cf"}).ok()
    tagging.call("detach_disk", vm_cid, disk_cid, stemcell=2).ok()
    copy_cid = tagging.call("update_disk", disk_cid, 2048, ENCRYPTED).ok()
    assert copy_cid != disk_cid
    expected = {disk_cid: "team-b", snapshot_cid: "platform", copy_cid: "team-b"}
    for resource_id, owner in expected.items():
        tags = story.tags_of(resource_id)
        assert (tags[KEY], tags["owner"]) == ("4711", owner)


@pytest.mark.usefixtures("strict")
def test_light_stemcell(story: Story, tagging: Cpi, world: World) -> None:
    """The copy of a light stemcell's AMI and its snapshots are tagged."""
    properties = {"ami": {"us-east-1": world.image_id}, **ENCRYPTED}
    ami_id = tagging.call("create_stemcell", "/var/vcap/image", properties).ok()
    for resource_id in [ami_id, *world.state()["snapshots"]]:
        assert WRITTEN.items() <= story.tags_of(resource_id).items()


@pytest.mark.usefixtures("strict")
def test_heavy_stemcell(story: Story, tagging: Cpi, world: World, fake_aws: FakeAws, tmp_path: Path) -> None:
    """The snapshot and the AMI of a heavy stemcell are tagged."""
    ami_id = Heavy(tagging, fake_aws.endpoint, tmp_path).create().ok()
    for resource_id in [ami_id, *world.state()["snapshots"]]:
        assert WRITTEN.items() <= story.tags_of(resource_id).items()


def test_heavy_stemcell_by_volume(
    story: Story, own_vm: OwnVm, fake_aws: FakeAws, made: ListResources
) -> None:
    """Snapshot and AMI of an upload through a volume are tagged, and so is that volume."""
    fake_aws.rule(action="*", without_tag=KEY, error=DENIED)
    ami_id = own_vm.create(tags=TAGS).ok()
    for resource_id in [ami_id, *made()["snapshots"]]:
        assert WRITTEN.items() <= story.tags_of(resource_id).items()


@pytest.mark.usefixtures("strict")
def test_network(story: Story, tagging: Cpi, world: World) -> None:
    """The subnet of a managed network is tagged."""
    properties = {"vpc_id": world.vpc_id, "availability_zone": world.zone}
    wish = {"type": "manual", "range": "10.0.9.0/24", "gateway": "10.0.9.1", "cloud_properties": properties}
    subnet_id = tagging.call("create_network", wish).ok()[0]
    assert WRITTEN.items() <= story.tags_of(subnet_id).items()


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ("team", " must be an object, got String"),
        ({"aws:team": "a"}, " has the key 'aws:team': keys that begin with aws: or bosh_ are reserved"),
        ({"bosh_call": "a"}, " has the key 'bosh_call': keys that begin with aws: or bosh_ are reserved"),
        ({"job": "a"}, " has the key 'job', which the Director sets itself: use another key"),
        ({"": "a"}, " has an empty key"),
        ({"a" * 128: "a"}, f" has a key of 128 characters, '{'a' * 128}': at most 127 are allowed"),
        ({"team": "a" * 256}, ": the value of 'team' has 256 characters: at most 255 are allowed"),
        ({"team": ["a"]}, ": the value of 'team' must be a string, a number or a boolean"),
        ({f"tag{number}": "a" for number in range(31)}, " has 31 tags: at most 30 are allowed"),
    ],
)
def test_refused(story: Story, world: World, fake_aws: FakeAws, tags: Any, message: str) -> None:
    """Tags that EC2 or the CPI can't use are refused before any AWS call, by the key's name."""
    fake_aws.forget_calls()
    answer = story.cpi_with(tags=tags).call("has_vm", "i-0123456789abcdef0")
    assert answer.error["type"] == "InvalidCall"
    assert f"configuration parameter aws.tags{message}" in answer.error["message"]
    assert fake_aws.actions() == []
    assert world.state() == world.empty


def test_too_many_together(story: Story, fake_aws: FakeAws) -> None:
    """Configured tags count towards EC2's 50 tags of a disk, before there is one."""
    cpi = story.cpi_with(tags={f"common-{number}": "a" for number in range(30)})
    fake_aws.forget_calls()
    own = {f"own-{number}": "a" for number in range(19)}
    error = cpi.call("create_disk", 2048, {"tags": own}).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith("EC2 allows 50 tags, but there are 51, with those of aws.tags")
    assert fake_aws.actions() == []
    cpi.call("create_disk", 2048, {"tags": dict(list(own.items())[1:])}).ok()


def test_too_many_for_a_copy(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """All tags of a light stemcell's copy are counted before there is one, the CPI's later one, too."""
    light = {"ami": {"us-east-1": world.image_id}, **ENCRYPTED}
    tags = {f"own-{number}": "a" for number in range(46)}
    error = cpi.call("create_stemcell", "/x/image", light, {"tags": tags}, api_version=3).error
    assert error["message"].startswith("EC2 allows 50 tags, but there are 51, with those of aws.tags")
    assert "CopyImage" not in fake_aws.actions()
    tags.popitem()
    cpi.call("create_stemcell", "/x/image", light, {"tags": tags}, api_version=3).ok()


@pytest.mark.parametrize("method", ["snapshot_disk", "update_disk"])
def test_no_room(story: Story, world: World, method: str) -> None:
    """A snapshot or a copy whose own tags leave no room for all of them gets as many as EC2 allows."""
    own = {f"own-{number}": "a" for number in range(25)}
    zone = world.zone
    given = [{"ResourceType": "volume", "Tags": [{"Key": key, "Value": "a"} for key in own]}]
    disk_cid = world.ec2.create_volume(AvailabilityZone=zone, Size=2, TagSpecifications=given)["VolumeId"]
    arguments = [own] if method == "snapshot_disk" else [2048, ENCRYPTED]
    cpi = story.cpi_with(tags={f"common-{number:02}": "b" for number in range(30)})
    answer = cpi.call(method, disk_cid, *arguments)
    tags = story.tags_of(answer.ok())
    assert len(tags) == 50
    assert own.items() <= tags.items()
    (said,) = [line for line in story.warnings(answer) if "aws.tags" in line]
    left_out = said.partition("EC2 allows 50 tags: these of aws.tags are left out: ")[2].split(", ")
    assert left_out[-1] == "common-29"
    assert not tags.keys() & set(left_out)
