"""Persistent disks by themselves: made, looked for, tagged, deleted."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi
from testbed.world import World
from tests.stories.story import Story

UNKNOWN = "vol-0123456789abcdef0"
KEY = "arn:aws:kms:us-east-1:123456789012:key/default"
OWN_KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
BY_OWN_KEY = {"Encrypted": "true", "KmsKeyId": OWN_KEY}
GP3 = {"Size": "1", "VolumeType": "gp3", "Encrypted": "false"}
IN_USE = {"code": "VolumeInUse", "message": "Volume is currently attached."}


def test_mistyped_encryption(cpi: Cpi, fake_aws: FakeAws) -> None:
    """A disk whose key of encryption is mistyped is refused; another CPI's key is not."""
    error = cpi.call("create_disk", 1024, {"encrypt": True, "storage_account_type": "a"}, None).error
    said = "cloud_properties.encrypt: is unknown: did you mean encrypted?"
    assert error["message"] == f"Invalid properties: {said}"
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("asked", "defaults", "expected"),
    [
        ((1024, {}), {}, {}),
        (
            (3073, {"type": "io2", "iops": "500", "encrypted": True}),
            {"kms_key_arn": KEY},
            {"Size": "4", "VolumeType": "io2", "Iops": "500", "Encrypted": "true", "KmsKeyId": KEY},
        ),
        (
            (8 * 1024, {"iops_per_gib": 500, "throughput": 300, "kms_key_arn": OWN_KEY}),
            {"encrypted": True, "kms_key_arn": KEY},
            {"Size": "8", "Iops": "4000", "Throughput": "300", **BY_OWN_KEY},
        ),
    ],
    ids=["defaults", "default-key", "own"],
)
def test_create_disk(
    story: Story,
    world: World,
    asked: tuple[int, dict[str, Any]],
    defaults: dict[str, Any],
    expected: dict[str, str],
) -> None:
    """A disk is made in its VM's zone, rounded up to GiB, with its own properties over the defaults."""
    vm_cid = story.lay_vm(SubnetId=world.subnet_ids[2])
    disk_cid = story.cpi_with(**defaults).call("create_disk", *asked, vm_cid).ok()
    (parameters,) = story.parameters_of("CreateVolume")
    given = {
        name: value
        for name, value in parameters.items()
        if name not in {"Action", "Version", "ClientToken"} and not name.startswith("TagSpecification.")
    }
    assert given == {**GP3, "AvailabilityZone": world.other_zone, **expected}
    (volume,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
    assert volume["State"] == "available"


def test_create_disk_for_no_vm(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """Without a VM any ordinary zone will do; a new disk is tagged from the beginning, and waited for."""
    fake_aws.rule(action="DescribeVolumes", nth=1, replace=[[">available<", ">creating<"]])
    answer = cpi.call("create_disk", 1024, {"name": 7, "tags": {"a": 1}})
    assert "Unknown properties" not in answer.stderr
    disk_cid = answer.ok()
    assert fake_aws.actions().count("DescribeVolumes") == 2
    assert "CreateTags" not in fake_aws.actions()
    tags = story.tags_of(disk_cid)
    assert tags.pop("bosh_call") != ""
    assert tags == {"Name": "7", "a": "1", "bosh_director_uuid": DIRECTOR_UUID}
    (asked,) = story.parameters_of("DescribeAvailabilityZones")
    filters = {asked[f"Filter.{n}.Name"]: asked[f"Filter.{n}.Value.1"] for n in (1, 2)}
    assert filters == {"state": "available", "zone-type": "availability-zone"}
    (volume,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
    zones = world.ec2.describe_availability_zones()["AvailabilityZones"]
    assert volume["AvailabilityZone"] in [zone["ZoneName"] for zone in zones]


def test_create_disk_without_any_zone(cpi: Cpi, fake_aws: FakeAws, world: World) -> None:
    """A region without an ordinary zone is an error, and so is a VM that is unknown."""
    fake_aws.rule(
        action="DescribeAvailabilityZones",
        replace=[["<availabilityZoneInfo>.*</availabilityZoneInfo>", "<availabilityZoneInfo/>"]],
    )
    assert cpi.call("create_disk", 1024, {}, None).error["type"] == "Bosh::Clouds::CloudError"
    missing = cpi.call("create_disk", 1024, {}, "i-0123456789abcdef0")
    assert missing.error["type"] == "Bosh::Clouds::VMNotFound"
    assert world.state() == world.empty


def test_create_disk_that_fails(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A volume that EBS could not make is an error that names it, and is removed."""
    vm_cid = story.lay_vm()
    before = world.state()
    fake_aws.rule(action="DescribeVolumes", nth=1, replace=[[">available<", ">error<"]])
    fake_aws.forget_calls()
    error = cpi.call("create_disk", 1024, {}, vm_cid).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert "vol-" in error["message"]
    assert "error" in error["message"]
    assert fake_aws.actions()[:3] == ["DescribeInstances", "CreateVolume", "DescribeVolumes"]
    assert world.state() == before


def test_delete_disk(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A disk that EBS still holds is deleted once it is free."""
    disk_cid, other = story.lay_disk(), story.lay_disk()
    fake_aws.rule(action="DeleteVolume", times=2, error=IN_USE)
    assert cpi.call("delete_disk", disk_cid).ok() is None
    assert fake_aws.actions().count("DeleteVolume") == 3
    assert world.state() == {**world.empty, "volumes": [other]}
    assert cpi.call("has_disk", disk_cid).ok() is False
    assert cpi.call("has_disk", other).ok() is True


ATTACHED = """<attachmentSet><item><status>{}</status><volumeId>v</volumeId><instanceId>{}</instanceId>
<device>/dev/sdf</device></item></attachmentSet>"""


@pytest.mark.parametrize(
    ("is_alive", "state"), [(True, "attached"), (False, "attached"), (True, "detaching")]
)
def test_delete_disk_that_is_attached(
    story: Story, cpi: Cpi, world: World, fake_aws: FakeAws, state: str, *, is_alive: bool
) -> None:
    """A disk that a VM keeps is refused at once, with the VM; one that is being released is waited for."""
    disk_cid, vm_cid, is_kept = story.lay_disk(), story.lay_vm(), is_alive and state == "attached"
    if not is_alive:
        world.ec2.terminate_instances(InstanceIds=[vm_cid])
    fake_aws.rule(action="DeleteVolume", nth=1, error=IN_USE)
    attached = ["<attachmentSet ?/>|<attachmentSet>\\s*</attachmentSet>", ATTACHED.format(state, vm_cid)]
    fake_aws.rule(action="DescribeVolumes", nth=1, replace=[attached])
    answer = cpi.call("delete_disk", disk_cid)
    if is_kept:
        message = f"'{disk_cid}' is attached to instance '{vm_cid}': detach it first"
        assert (message in answer.error["message"], answer.error["ok_to_retry"]) == (True, False)
    assert cpi.call("has_disk", disk_cid).ok() is is_kept


@pytest.mark.parametrize(("state", "expected"), [("deleting", True), ("deleted", False)])
def test_has_disk(story: Story, cpi: Cpi, fake_aws: FakeAws, state: str, *, expected: bool) -> None:
    """A disk exists in every state but `deleted`, in which EC2 may show it for a while."""
    disk_cid = story.lay_disk()
    fake_aws.rule(
        action="DescribeVolumes", replace=[["<status>available</status>", f"<status>{state}</status>"]]
    )
    assert cpi.call("has_disk", disk_cid).ok() is expected
    assert fake_aws.actions() == ["DescribeVolumes"]


def test_delete_disk_on_the_fast_path(story: Story, fake_aws: FakeAws, world: World) -> None:
    """The fast path deletes, tags, and minds neither that the disk is gone by then nor waits."""
    cpi = story.cpi_with(fast_path_delete=True)
    assert cpi.call("delete_disk", story.lay_disk()).ok() is None
    assert fake_aws.actions() == ["DeleteVolume", "CreateTags"]
    (tagging,) = [call["parameters"] for call in fake_aws.calls() if call["action"] == "CreateTags"]
    assert (tagging["Tag.1.Key"], tagging["Tag.1.Value"]) == ("Name", "to be deleted")
    assert world.state() == world.empty


@pytest.mark.parametrize(
    ("method", "disk_cid", "more"),
    [
        ("delete_disk", UNKNOWN, []),
        ("set_disk_metadata", "vol-x", [{"a": "b"}]),
    ],
)
def test_unknown_disk(story: Story, cpi: Cpi, method: str, more: list[Any], disk_cid: str) -> None:
    """An id that EC2 does not know, or calls malformed, is DiskNotFound, which is not retriable."""
    answer = cpi.call(method, disk_cid, *more)
    assert answer.error == story.failure("DiskNotFound", f"Disk '{disk_cid}' not found")


def test_set_disk_metadata(story: Story, cpi: Cpi, fake_aws: FakeAws) -> None:
    """Metadata become tags; a limit is logged and no error."""
    disk_cid = story.lay_disk()
    metadata = {"name": "redis", "instance_index": 0, "none": None, "flag": False}
    assert cpi.call("set_disk_metadata", disk_cid, metadata).ok() is None
    assert story.tags_of(disk_cid) == {"name": "redis", "instance_index": "0", "flag": "false"}
    fake_aws.refuse("CreateTags", "TagLimitExceeded", "too many")
    answer = cpi.call("set_disk_metadata", disk_cid, {"more": "x"})
    assert answer.ok() is None
    assert "TagLimitExceeded" in answer.stderr


DEFAULT = {"type": "io2", "iops_per_gib": 100, "encrypted": True, "kms_key_arn": OWN_KEY}


@pytest.mark.parametrize(
    ("default", "properties", "expected"),
    [
        (DEFAULT, {}, {"VolumeType": "io2", "Iops": "800", **BY_OWN_KEY}),
        (DEFAULT, {"type": "gp2", "encrypted": None}, {"VolumeType": "gp2"}),
        ({"iops": 4000, "throughput": 500}, {"iops_per_gib": 450}, {"Iops": "3600", "Throughput": "500"}),
    ],
    ids=["all", "own-encryption", "own-iops-by-size"],
)
def test_default_persistent_disk(
    story: Story, default: dict[str, Any], properties: dict[str, Any], expected: dict[str, str]
) -> None:
    """A disk has the configuration's defaults, key by key under its own, and update_disk finds it right."""
    cpi = story.cpi_with(default_persistent_disk=default, encrypted=False, kms_key_arn=KEY)
    disk_cid = cpi.call("create_disk", 8 * 1024, properties).ok()
    (parameters,) = story.parameters_of("CreateVolume")
    known = ("VolumeType", "Iops", "Throughput", "Encrypted", "KmsKeyId")
    given = {name: parameters[name] for name in known if name in parameters}
    assert given == {"VolumeType": "gp3", "Encrypted": "false", **expected}
    answer = cpi.call("update_disk", disk_cid, 8 * 1024, properties)
    assert (answer.ok(), story.parameters_of("ModifyVolume")) == (None, [])
    assert f"Disk '{disk_cid}' needs no change" in answer.stderr


OWN = "aws.default_persistent_disk"
NAMES = ("type", "iops", "iops_per_gib", "throughput", "encrypted", "kms_key_arn")
REFUSED = f"EBS would refuse the disk: {OWN}"
REMEDY = "; give the disk its own cloud_properties.iops"


@pytest.mark.parametrize(
    ("default", "reason"),
    [
        (
            {"size": 1},
            f"{OWN}.size is unknown: a default is one of {', '.join(NAMES)}",
        ),
        (
            {"iops": 3001},
            f"{REFUSED}.iops is 3001, but a 1 GiB volume of type gp3 allows at most 3000{REMEDY}",
        ),
    ],
    ids=["unknown", "size"],
)
def test_wrong_default_persistent_disk(story: Story, default: dict[str, Any], reason: str) -> None:
    """A default that EBS would refuse is an error that names it, before EBS is asked."""
    cpi = story.cpi_with(default_persistent_disk=default)
    assert story.check_refusal(cpi.call("create_disk", 1024, {}), reason) == []
