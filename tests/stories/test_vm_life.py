"""VMs that are there: deleted, looked for, rebooted, tagged, asked for their disks."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story

UNKNOWN = "i-0123456789abcdef0"
AGENT = {"bosh_agent_id": "agent-0"}
STATE = "<instanceState>.*?</instanceState>"
LIMIT = {"code": "TagLimitExceeded", "message": "The maximum number of tags has been reached."}


def state(code: int, name: str) -> list[str]:
    """Write the replacement of an instance's state."""
    return [STATE, f"<instanceState><code>{code}</code><name>{name}</name></instanceState>"]


def test_delete_vm(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """The VM ends with its own volumes and interfaces, its persistent disk stays; it is waited for."""
    vm_cid, disk_cid = story.lay_vm(), story.lay_disk()
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=disk_cid, Device="/dev/sdf")
    fake_aws.rule(action="DescribeInstances", nth=1, replace=[state(32, "shutting-down")])
    fake_aws.forget_calls()
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert fake_aws.actions() == ["TerminateInstances", "DescribeInstances", "DescribeInstances"]
    assert world.state() == {**world.empty, "volumes": [disk_cid]}
    (volume,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
    assert volume["State"] == "available"
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert cpi.call("has_vm", vm_cid).ok() is False


def test_delete_vm_on_the_fast_path(story: Story, fake_aws: FakeAws) -> None:
    """The fast path terminates, tags, and does not wait."""
    vm_cid = story.lay_vm()
    assert story.cpi_with(fast_path_delete=True).call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert fake_aws.actions() == ["TerminateInstances", "CreateTags"]
    assert story.tags_of(vm_cid) == {**AGENT, "Name": "to be deleted"}


@pytest.mark.parametrize(
    ("method", "vm_cid", "more"),
    [
        ("delete_vm", UNKNOWN, []),
        ("reboot_vm", "i-x", []),
        ("set_vm_metadata", UNKNOWN, [{"a": "b"}]),
        ("get_disks", "i-x", []),
    ],
)
def test_unknown_vm(story: Story, cpi: Cpi, method: str, vm_cid: str, more: list[Any]) -> None:
    """An id that EC2 does not know, or calls malformed, is VMNotFound."""
    answer = cpi.call(method, vm_cid, *more, stemcell=2)
    assert answer.error == story.failure("VMNotFound", f"VM `{vm_cid}' not found")


@pytest.mark.parametrize(
    ("method", "more"), [("reboot_vm", []), ("set_vm_metadata", [{"a": "b"}]), ("get_disks", [])]
)
def test_terminated_vm(story: Story, cpi: Cpi, world: World, method: str, more: list[Any]) -> None:
    """EC2 shows a terminated instance for a while. For BOSH there is no such VM, and nothing tags it."""
    vm_cid = story.lay_vm()
    world.ec2.terminate_instances(InstanceIds=[vm_cid])
    assert cpi.call(method, vm_cid, *more).error == story.failure("VMNotFound", f"VM `{vm_cid}' not found")
    assert story.tags_of(vm_cid) == AGENT
    assert cpi.call("has_vm", vm_cid).ok() is False


def test_has_vm(story: Story, cpi: Cpi, world: World) -> None:
    """A VM is there until it is terminated; an id that is unknown or malformed is not."""
    vm_cid = story.lay_vm()
    world.ec2.stop_instances(InstanceIds=[vm_cid])
    assert cpi.call("has_vm", vm_cid).ok() is True
    assert cpi.call("has_vm", UNKNOWN).ok() is False
    assert cpi.call("has_vm", "i-x").ok() is False


@pytest.mark.parametrize(
    ("is_stopped", "rules", "action"),
    [
        (False, [], "RebootInstances"),
        (True, [], "StartInstances"),
        (True, [state(64, "stopping")], "StartInstances"),
    ],
    ids=["running", "stopped", "stopping"],
)
def test_reboot_vm(
    story: Story,
    cpi: Cpi,
    world: World,
    fake_aws: FakeAws,
    rules: list[list[str]],
    action: str,
    *,
    is_stopped: bool,
) -> None:
    """A running VM is rebooted, one that is stopped is started, as soon as it is stopped."""
    vm_cid = story.lay_vm()
    if is_stopped:
        world.ec2.stop_instances(InstanceIds=[vm_cid])
    if rules:
        fake_aws.rule(action="DescribeInstances", nth=1, replace=rules)
    fake_aws.forget_calls()
    assert cpi.call("reboot_vm", vm_cid).ok() is None
    assert set(fake_aws.actions()) == {"DescribeInstances", action}
    assert fake_aws.actions()[-1] == action
    assert world.instance(vm_cid)["State"]["Name"] == "running"


def test_start_without_capacity(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A VM starts with its own type only, so a fallback needs a new VM."""
    vm_cid = story.lay_vm()
    world.ec2.stop_instances(InstanceIds=[vm_cid])
    fake_aws.refuse("StartInstances", "InsufficientInstanceCapacity", "No capacity.", 500)
    error = cpi.call("reboot_vm", vm_cid).error
    assert error["ok_to_retry"]
    assert ". EC2 can start a stopped VM only with its type and in its zone: retry later" in error["message"]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (
            {"name": "redis/1", "job": "redis", "index": 0, "none": None},
            {"Name": "redis/1", "job": "redis", "index": "0"},
        ),
        ({}, {}),
    ],
    ids=["some", "none"],
)
def test_set_vm_metadata(
    story: Story,
    cpi: Cpi,
    world: World,
    fake_aws: FakeAws,
    metadata: dict[str, Any],
    expected: dict[str, str],
) -> None:
    """The VM and all its volumes are tagged in one call; without tags there is no call."""
    vm_cid = story.lay_vm()
    assert cpi.call("set_vm_metadata", vm_cid, metadata).ok() is None
    assert fake_aws.actions().count("CreateTags") == (1 if expected else 0)
    devices = world.instance(vm_cid)["BlockDeviceMappings"]
    assert devices != []
    for resource in (vm_cid, *(device["Ebs"]["VolumeId"] for device in devices)):
        assert story.tags_of(resource) == {**(AGENT if resource == vm_cid else {}), **expected}


def test_tag_limit(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A tag limit is logged; whatever has not reached it is tagged all the same."""
    vm_cid = story.lay_vm()
    fake_aws.rule(action="CreateTags", where={"ResourceId.1": vm_cid}, error=LIMIT)
    answer = cpi.call("set_vm_metadata", vm_cid, {"a": "b"})
    assert answer.ok() is None
    errors = [line for line in answer.stderr.splitlines() if "ERROR" in line]
    assert len(errors) == 1
    assert vm_cid in errors[0]
    assert "TagLimitExceeded" in errors[0]
    assert story.tags_of(vm_cid) == AGENT
    devices = world.instance(vm_cid)["BlockDeviceMappings"]
    assert [story.tags_of(device["Ebs"]["VolumeId"]) for device in devices] == [{"a": "b"}] * len(devices)


def test_get_disks(story: Story, cpi: Cpi, world: World) -> None:
    """All EBS volumes of a VM are its disks."""
    vm_cid, disk_cid = story.lay_vm(), story.lay_disk()
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=disk_cid, Device="/dev/sdf")
    found = cpi.call("get_disks", vm_cid).ok()
    assert disk_cid in found
    assert sorted(found) == world.state()["volumes"]
