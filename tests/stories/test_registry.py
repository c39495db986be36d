"""A registry that is not configured, or fails: a repeated call finishes what AWS has already done."""

import json
from typing import Any

import pytest

from testbed.executable import Cpi, config
from testbed.registry import PASSWORD, USER, Registry
from testbed.world import World
from tests.protocols import CreateVolume, RunInstance


@pytest.mark.parametrize("version", [1, 2])
def test_without_registry(cpi: Cpi, world: World, vm: RunInstance, disk: CreateVolume, version: int) -> None:
    """Attaching and detaching a disk are refused before AWS changes anything; deleting the VM works."""
    vm_cid, disk_cid, attached = vm(), disk(), disk()
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=attached, Device="/dev/sdf")
    before = world.instance(vm_cid)["BlockDeviceMappings"]
    for method in ("attach_disk", "detach_disk"):
        argument = disk_cid if method == "attach_disk" else attached
        answer = cpi.call(method, vm_cid, argument, api_version=version, stemcell=1)
        assert answer.error == {
            "type": "Bosh::Clouds::CloudError",
            "message": "An attempt to read registry settings has failed "
            f"for instance_id={vm_cid}. The registry is disabled.",
            "ok_to_retry": False,
        }
        assert world.instance(vm_cid)["BlockDeviceMappings"] == before
    assert cpi.call("delete_vm", vm_cid, api_version=version, stemcell=1).ok() is None
    assert world.state() == {**world.empty, "volumes": sorted([disk_cid, attached])}


@pytest.mark.parametrize("version", [2, 3])
def test_unknown_stemcell_without_registry(
    cpi: Cpi, world: World, vm: RunInstance, disk: CreateVolume, version: int
) -> None:
    """Without a registry and the stemcell's version, disks are attached and detached as for new stemcells."""
    vm_cid, disk_cid = vm("t2.micro"), disk()
    assert cpi.call("attach_disk", vm_cid, disk_cid, api_version=version).ok() == "/dev/sdf"
    assert cpi.call("detach_disk", vm_cid, disk_cid, api_version=version).ok() is None
    (volume,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
    assert volume["State"] == "available"


def test_unknown_stemcell_with_registry(
    cpi: Cpi, world: World, registry: Registry, vm: RunInstance, disk: CreateVolume
) -> None:
    """Without the stemcell's version, only a VM that has settings in the registry needs it.

    Whether it has some is asked before AWS changes anything.
    """
    new_vm, old_vm, disk_cid = vm(), vm(), disk()
    registry.documents[old_vm] = json.dumps({"agent_id": "a"})
    document = json.loads(cpi.config_path.read_text())
    endpoint = document["cloud"]["properties"]["aws"]["ec2_endpoint"]
    section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
    with_registry = Cpi(config(endpoint, registry=section))
    before = world.instance(new_vm)["BlockDeviceMappings"]
    registry.answer(500)
    refused = with_registry.call("attach_disk", new_vm, disk_cid).error
    where = f" (registry at http://{registry.endpoint.rpartition('@')[2]})"
    assert refused["message"] == f"Cannot read settings for '{new_vm}', got HTTP 500{where}"
    assert world.instance(new_vm)["BlockDeviceMappings"] == before
    for vm_cid in (new_vm, old_vm):
        path = with_registry.call("attach_disk", vm_cid, disk_cid).ok()
        if vm_cid == old_vm:
            assert registry.settings(old_vm)["disks"]["persistent"] == {disk_cid: path}
        assert with_registry.call("detach_disk", vm_cid, disk_cid).ok() is None
    assert list(registry.documents) == [old_vm]
    assert registry.settings(old_vm)["disks"]["persistent"] == {}


def test_registry_that_fails(
    cpi: Cpi, world: World, registry: Registry, vm: RunInstance, disk: CreateVolume
) -> None:
    """When the registry fails, AWS's work stays done, and the repeated call finishes."""
    vm_cid, disk_cid = vm(), disk()
    registry.documents[vm_cid] = json.dumps({"agent_id": "a", "disks": {"system": "/dev/xvda"}})
    document = json.loads(cpi.config_path.read_text())
    endpoint = document["cloud"]["properties"]["aws"]["ec2_endpoint"]
    section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
    old_cpi = Cpi(config(endpoint, registry=section))

    def failed(method: str, *arguments: str) -> Any:
        error = old_cpi.call(method, *arguments, stemcell=1).error
        assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
        where = f" (registry at http://{registry.endpoint.rpartition('@')[2]})"
        assert error["message"].endswith(where)
        return error["message"].removesuffix(where)

    def attached() -> list[str]:
        devices = world.instance(vm_cid)["BlockDeviceMappings"]
        return [device["DeviceName"] for device in devices if device["Ebs"]["VolumeId"] == disk_cid]

    registry.answer(500)
    assert failed("attach_disk", vm_cid, disk_cid) == f"Cannot read settings for '{vm_cid}', got HTTP 500"
    assert attached() == ["/dev/sdf"]
    path = old_cpi.call("attach_disk", vm_cid, disk_cid, stemcell=1).ok()
    assert registry.settings(vm_cid) == {
        "agent_id": "a",
        "disks": {"system": "/dev/xvda", "persistent": {disk_cid: path}},
    }

    registry.answer(200, json.dumps({"settings": registry.documents[vm_cid]}))
    registry.answer(503)
    assert failed("detach_disk", vm_cid, disk_cid) == f"Cannot update settings for '{vm_cid}', got HTTP 503"
    assert attached() == []
    assert old_cpi.call("detach_disk", vm_cid, disk_cid, stemcell=1).ok() is None
    assert registry.settings(vm_cid)["disks"]["persistent"] == {}
    third = old_cpi.call("detach_disk", vm_cid, disk_cid, stemcell=1)
    assert third.error["type"] == "Bosh::Clouds::DiskNotAttached"

    registry.answer(500)
    assert failed("delete_vm", vm_cid) == f"Cannot delete settings for '{vm_cid}', got HTTP 500"
    assert old_cpi.call("delete_vm", vm_cid, stemcell=1).ok() is None
    assert registry.documents == {}
