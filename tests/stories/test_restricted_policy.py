"""docs/iam-policy-restricted.json: a Director works with it, and can't touch what is another Director's."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi
from testbed.world import World
from tests.stories.checked_config import right
from tests.stories.checking import checked
from tests.stories.own_vm import OwnVm
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story

ACCOUNT = "123456789012"
REGION = "us-east-1"
NAMES = {
    "ACCOUNT_ID": ACCOUNT,
    "CPI_ROLE": "bosh-cpi",
    "DIRECTOR_UUID": DIRECTOR_UUID,
    "KEY_ID": "00000000-0000-4000-8000-000000000000",
    "REGION": REGION,
    "VM_ROLE": "bosh-vm",
}
OTHERS = {"director_uuid": "another"}
ENCRYPTED = {"encrypted": True}


@pytest.fixture(autouse=True)
def policy(world: World, fake_aws: FakeAws) -> None:
    """Have the policy, for this Director."""
    del world
    fake_aws.restrict(**NAMES)


@pytest.fixture
def profile(fake_aws: FakeAws, world: World) -> str:
    """Have the role that the policy names in the instance profile."""
    return add_role(fake_aws, world, "bosh-vm")


def add_role(fake_aws: FakeAws, world: World, role: str) -> str:
    """Have a role in the instance profile."""
    iam = fake_aws.client("iam")
    iam.create_role(RoleName=role, AssumeRolePolicyDocument="{}")
    iam.add_role_to_instance_profile(InstanceProfileName=world.instance_profile, RoleName=role)
    return str(world.instance_profile)


def refused(fake_aws: FakeAws) -> set[str]:
    """List the actions that IAM denied."""
    return {f"{call['service']}:{call['action']}" for call in fake_aws.calls() if call["status"] == 403}


def denied(error: dict[str, Any], action: str) -> None:
    """Check that IAM refused an action, which a call then reports."""
    assert error["type"] == "Bosh::Clouds::CloudError"
    assert f"You are not authorized to perform: {action} on resource: " in error["message"]


def test_life_of_a_vm(story: Story, cpi: Cpi, world: World, profile: str, fake_aws: FakeAws) -> None:
    """A VM with a disk comes and goes, with all calls that the Director makes."""
    vm_cid = story.create_vm({"iam_instance_profile": profile, "ephemeral_disk": {"size": 10_240}}).ok()[0]
    disk_cid = cpi.call("create_disk", 2048, {}, vm_cid).ok()
    cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok()
    cpi.call("set_disk_metadata", disk_cid, {"director": "d"}).ok()
    cpi.call("set_vm_metadata", vm_cid, {"job": "router", "index": 0}).ok()
    snapshot_cid = cpi.call("snapshot_disk", disk_cid, {"deployment": "cf"}).ok()
    cpi.call("reboot_vm", vm_cid).ok()
    cpi.call("detach_disk", vm_cid, disk_cid, stemcell=2).ok()
    restored = cpi.call("create_disk", 2048, {"snapshot_id": snapshot_cid}, vm_cid).ok()
    cpi.call("resize_disk", disk_cid, 4096).ok()
    copy_cid = cpi.call("update_disk", disk_cid, 4096, ENCRYPTED).ok()
    cpi.call("delete_snapshot", snapshot_cid).ok()
    for each in (copy_cid, disk_cid, restored):
        cpi.call("delete_disk", each).ok()
    cpi.call("delete_vm", vm_cid).ok()
    assert world.state() == world.empty
    assert refused(fake_aws) == set()


def test_snapshot_of_others(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A disk can be restored from a snapshot without the Director's tag only once it is tagged."""
    where = {"AvailabilityZone": world.zone, "Size": 1}
    snapshot_cid = world.ec2.create_snapshot(VolumeId=world.ec2.create_volume(**where)["VolumeId"])[
        "SnapshotId"
    ]
    before = world.state()
    denied(cpi.call("create_disk", 1024, {"snapshot_id": snapshot_cid}).error, "ec2:CreateVolume")
    assert world.state() == before
    tag = {"Key": "bosh_director_uuid", "Value": DIRECTOR_UUID}
    world.ec2.create_tags(Resources=[snapshot_cid], Tags=[tag])
    cpi.call("create_disk", 1024, {"snapshot_id": snapshot_cid}).ok()
    assert refused(fake_aws) == {"ec2:CreateVolume"}


def test_vm_with_everything(
    story: Story, cpi: Cpi, exposed: dict[str, Any], world: World, fake_aws: FakeAws
) -> None:
    """The policy allows a VM with all that leads to it, and a tagged spot VM in a spread group."""
    cpi.call("delete_vm", story.create_vm(**exposed).ok()[0]).ok()
    env = {"bosh": {"group": "bosh-1-db-etcd"}}
    cpi = story.cpi_with(tags={"cost-center": "4711"})  # with tags, EC2 judges the spot request, too
    vm_cid = story.create_vm({"spread": True, "spot_bid_price": 0.05}, env=env, executable=cpi).ok()[0]
    cpi.call("delete_vm", vm_cid).ok()
    assert world.state()["instances"] == []
    assert refused(fake_aws) == set()


def test_stemcells(cpi: Cpi, server: FakeAws, world: World, tmp_path: Path, fake_aws: FakeAws) -> None:
    """The policy allows heavy stemcells, shared and deprecated ones, and encrypted copies of light ones."""
    at = f"{datetime.now(UTC).year + 1}-01-31T00:00:00Z"
    light = {"ami": {REGION: world.image_id}, **ENCRYPTED}
    for ami_id in (
        Heavy(cpi, server.endpoint, tmp_path).create(share_with=[ACCOUNT], deprecate_at=at).ok(),
        cpi.call("create_stemcell", "", light).ok(),
    ):
        cpi.call("delete_stemcell", ami_id).ok()
    assert world.state() == world.empty
    assert refused(fake_aws) == set()


def test_stemcell_by_volume(own_vm: OwnVm, fake_aws: FakeAws) -> None:
    """The policy allows a heavy stemcell by a volume on the Director's VM, which somebody else created."""
    own_vm.create().ok()
    assert refused(fake_aws) == set()


def test_light_stemcell_of_others(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """The AMI of a light stemcell may not be tagged: the log says so, and it can be used."""
    properties = {"ami": {REGION: world.image_id}}
    answer = cpi.call("create_stemcell", "", properties, {"tags": {"a": "b"}}, api_version=3)
    assert answer.ok() == f"{world.image_id} light"
    assert refused(fake_aws) == {"ec2:CreateTags"}
    assert f"AMI '{world.image_id}' stays without the stemcell's tags: CreateTags" in answer.stderr
    assert ". Allow ec2:CreateTags in the policy of the CPI's user or role" in answer.stderr
    assert "a" not in story.tags_of(world.image_id)


@pytest.mark.parametrize("director", [(), ("--director", DIRECTOR_UUID)])
def test_check(cpi: Cpi, world: World, fake_aws: FakeAws, director: tuple[str, ...]) -> None:
    """The policy allows the dry runs of a check that knows the Director; without it, they tell nothing."""
    found = checked(cpi, right(world), "--stemcell", f"{world.image_id} light", *director)
    dry = {call["action"] for call in fake_aws.calls() if "DryRun" in call["parameters"]}
    assert dry == {"RunInstances", "CreateVolume"}
    assert {each["severity"] for each in found} == (set() if director else {"not checked"})
    assert refused(fake_aws) == (set() if director else {f"ec2:{action}" for action in dry})


def test_network(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """The policy allows managed networks."""
    acl = world.ec2.create_network_acl(VpcId=world.vpc_id)["NetworkAcl"]["NetworkAclId"]
    properties = {
        "vpc_id": world.vpc_id,
        "route_table": world.route_table_id,
        "network_acl": acl,
        "auto_assign_public_ip": True,
    }
    wish = {"type": "manual", "range": "10.0.9.0/24", "gateway": "10.0.9.1", "cloud_properties": properties}
    cpi.call("delete_network", cpi.call("create_network", wish).ok()[0]).ok()
    assert world.state() == world.empty
    assert refused(fake_aws) == set()


OF_ANOTHER = [
    ("delete_vm", "vm", "ec2:TerminateInstances"),
    ("reboot_vm", "vm", "ec2:RebootInstances"),
    ("delete_disk", "disk", "ec2:DeleteVolume"),
    ("resize_disk", "disk", "ec2:ModifyVolume"),
    ("update_disk", "disk", "ec2:CopyVolumes"),
    ("snapshot_disk", "disk", "ec2:CreateSnapshot"),
    ("attach_disk", "vm disk", "ec2:AttachVolume"),
    ("delete_snapshot", "snapshot", "ec2:DeleteSnapshot"),
    ("delete_stemcell", "stemcell", "ec2:DeregisterImage"),
    ("delete_network", "network", "ec2:DeleteSubnet"),
]
MORE: dict[str, list[Any]] = {
    "resize_disk": [4096],
    "snapshot_disk": [{}],
    "update_disk": [2048, ENCRYPTED],
}


def test_others(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """What belongs to another Director stays as it was."""
    theirs = made(world)
    before = world.state()
    for method, arguments, action in OF_ANOTHER:
        fake_aws.forget_calls()
        given = [theirs[each] for each in arguments.split()]
        answer = cpi.call(method, *given, *MORE.get(method, []), stemcell=2)
        assert answer.error["type"] in {"Bosh::Clouds::CloudError", "Bosh::Clouds::NotSupported"}, method
        assert refused(fake_aws) == {action}, method
    assert world.state() == before


def made(world: World) -> dict[str, str]:
    """Have resources with another Director's tag."""
    ec2 = world.ec2
    launched = ec2.run_instances(
        ImageId=world.image_id, InstanceType="t3.micro", MinCount=1, MaxCount=1, SubnetId=world.subnet_id
    )
    found = {
        "vm": launched["Instances"][0]["InstanceId"],
        "disk": ec2.create_volume(AvailabilityZone=world.zone, Size=2, VolumeType="gp3")["VolumeId"],
        "network": ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.0/24")["Subnet"]["SubnetId"],
    }
    found["snapshot"] = ec2.create_snapshot(VolumeId=found["disk"])["SnapshotId"]
    found["stemcell"] = ec2.create_image(InstanceId=found["vm"], Name="stemcell")["ImageId"]
    tags = [{"Key": "bosh_director_uuid", "Value": "another"}]
    ec2.create_tags(Resources=list(found.values()), Tags=tags)
    return {key: str(each) for key, each in found.items()}


@pytest.mark.parametrize(
    ("method", "arguments", "action"),
    [
        ("create_disk", [2048, {}], "ec2:CreateVolume"),
        ("set_vm_metadata", ["vm", {"job": "a"}], "ec2:CreateTags"),
        ("set_disk_metadata", ["disk", {"director": "a"}], "ec2:CreateTags"),
    ],
)
def test_in_the_name_of_another(
    cpi: Cpi, world: World, fake_aws: FakeAws, method: str, arguments: list[Any], action: str
) -> None:
    """Keys can't create with another Director's tag, nor write tags of another Director's resources."""
    theirs = made(world)
    fake_aws.forget_calls()
    given = [theirs.get(each, each) if isinstance(each, str) else each for each in arguments]
    answer = cpi.call(method, *given, context=OTHERS)
    assert refused(fake_aws) == {action}
    if method == "create_disk":
        denied(answer.error, action)


def test_in_another_region(story: Story, fake_aws: FakeAws) -> None:
    """Keys are of no use in another region."""
    answer = story.cpi_with(region="eu-west-1").call("create_disk", 2048, {})
    denied(answer.error, "ec2:DescribeAvailabilityZones")
    assert "CreateVolume" not in fake_aws.actions()


def test_another_role(story: Story, fake_aws: FakeAws, world: World) -> None:
    """A role that the policy does not name can't be handed to a VM."""
    profile = add_role(fake_aws, world, "administrator")
    denied(story.create_vm({"iam_instance_profile": profile}).error, "iam:PassRole")
    assert world.state() == world.empty


def test_roles_of_the_cpi(story: Story) -> None:
    """The CPI can assume the role that the policy names, with session tags, and no other."""
    role = f"arn:aws:iam::{ACCOUNT}:role"
    tags = {"session_tags": {"team": "a"}}
    assert (
        story.cpi_with(role_arn=f"{role}/bosh-cpi", **tags).call("has_disk", "vol-1234567890abcdef0").ok()
        is False
    )
    error = story.cpi_with(role_arn=f"{role}/administrator").call("has_disk", "vol-1234567890abcdef0").error
    assert "AssumeRole failed with AccessDenied: " in error["message"]
    assert "sts:AssumeRole" in error["message"]
