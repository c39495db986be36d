"""A registry that is not configured, or fails: a repeated call finishes what AWS has already done."""

import json
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.registry import PASSWORD, USER, Registry
from testbed.world import World
from tests.stories.story import Story


@pytest.fixture
def with_registry(registry: Registry, fake_aws: FakeAws) -> Cpi:
    """Return the executable with the registry."""
    section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
    return Cpi(config(fake_aws.endpoint, registry=section))


def where(registry: Registry) -> str:
    """Return what errors say of the registry's place."""
    return f" (registry at http://{registry.endpoint.rpartition('@')[2]})"


def test_without_registry(story: Story, cpi: Cpi, world: World) -> None:
    """Attaching and detaching a disk are refused before AWS changes anything; deleting the VM works."""
    vm_cid, disk_cid, attached = story.lay_vm(), story.lay_disk(), story.lay_disk()
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=attached, Device="/dev/sdf")
    before = world.instance(vm_cid)["BlockDeviceMappings"]
    for method in ("attach_disk", "detach_disk"):
        argument = disk_cid if method == "attach_disk" else attached
        answer = cpi.call(method, vm_cid, argument, stemcell=1)
        assert answer.error == {
            "type": "Bosh::Clouds::CloudError",
            "message": "An attempt to read registry settings has failed "
            f"for instance_id={vm_cid}. The registry is disabled.",
            "ok_to_retry": False,
        }
        assert world.instance(vm_cid)["BlockDeviceMappings"] == before
    assert cpi.call("delete_vm", vm_cid, stemcell=1).ok() is None
    assert world.state() == {**world.empty, "volumes": sorted([disk_cid, attached])}


def test_unknown_stemcell_without_registry(story: Story, cpi: Cpi, world: World) -> None:
    """Without a registry and the stemcell's version, disks are attached and detached as for new stemcells."""
    vm_cid, disk_cid = story.lay_vm("t2.micro"), story.lay_disk()
    assert cpi.call("attach_disk", vm_cid, disk_cid).ok() == "/dev/sdf"
    assert cpi.call("detach_disk", vm_cid, disk_cid).ok() is None
    (volume,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
    assert volume["State"] == "available"


def test_unknown_stemcell_with_registry(
    story: Story, with_registry: Cpi, world: World, registry: Registry
) -> None:
    """Without the stemcell's version, only a VM that has settings in the registry needs it.

    Whether it has some is asked before AWS changes anything.
    """
    new_vm, old_vm, disk_cid = story.lay_vm(), story.lay_vm(), story.lay_disk()
    registry.documents[old_vm] = json.dumps({"agent_id": "a"})
    before = world.instance(new_vm)["BlockDeviceMappings"]
    registry.answer(500)
    refused = with_registry.call("attach_disk", new_vm, disk_cid).error
    assert refused["message"] == f"Cannot read settings for '{new_vm}', got HTTP 500{where(registry)}"
    assert world.instance(new_vm)["BlockDeviceMappings"] == before
    for vm_cid in (new_vm, old_vm):
        path = with_registry.call("attach_disk", vm_cid, disk_cid).ok()
        if vm_cid == old_vm:
            assert registry.settings(old_vm)["disks"]["persistent"] == {disk_cid: path}
        assert with_registry.call("detach_disk", vm_cid, disk_cid).ok() is None
    assert list(registry.documents) == [old_vm]
    assert registry.settings(old_vm)["disks"]["persistent"] == {}


def test_registry_that_fails(story: Story, with_registry: Cpi, world: World, registry: Registry) -> None:
    """When the registry fails, AWS's work stays done, and the repeated call finishes."""
    vm_cid, disk_cid = story.lay_vm(), story.lay_disk()
    registry.documents[vm_cid] = json.dumps({"agent_id": "a", "disks": {"system": "/dev/xvda"}})

    def failed(method: str, *arguments: str) -> Any:
        error = with_registry.call(method, *arguments, stemcell=1).error
        assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
        assert error["message"].endswith(where(registry))
        return error["message"].removesuffix(where(registry))

    def attached() -> list[str]:
        devices = world.instance(vm_cid)["BlockDeviceMappings"]
        return [device["DeviceName"] for device in devices if device["Ebs"]["VolumeId"] == disk_cid]

    registry.answer(500)
    assert failed("attach_disk", vm_cid, disk_cid) == f"Cannot read settings for '{vm_cid}', got HTTP 500"
    assert attached() == ["/dev/sdf"]
    path = with_registry.call("attach_disk", vm_cid, disk_cid, stemcell=1).ok()
    assert registry.settings(vm_cid) == {
        "agent_id": "a",
        "disks": {"system": "/dev/xvda", "persistent": {disk_cid: path}},
    }

    registry.answer(200, json.dumps({"settings": registry.documents[vm_cid]}))
    registry.answer(503)
    assert failed("detach_disk", vm_cid, disk_cid) == f"Cannot update settings for '{vm_cid}', got HTTP 503"
    assert attached() == []
    assert with_registry.call("detach_disk", vm_cid, disk_cid, stemcell=1).ok() is None
    assert registry.settings(vm_cid)["disks"]["persistent"] == {}
    third = with_registry.call("detach_disk", vm_cid, disk_cid, stemcell=1)
    assert third.error["type"] == "Bosh::Clouds::DiskNotAttached"

    registry.answer(500)
    assert failed("delete_vm", vm_cid) == f"Cannot delete settings for '{vm_cid}', got HTTP 500"
    assert with_registry.call("delete_vm", vm_cid, stemcell=1).ok() is None
    assert registry.documents == {}
