"""A registry that is not there, or fails: AWS's work is done first, and a repeated call finishes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import Cpi, config
from testbed.registry import PASSWORD, USER, Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testbed.world import World
    from tests.protocols import CreateVolume, RunInstance


@pytest.fixture
def registry() -> Iterator[Registry]:
    """Run a registry."""
    with Registry() as running:
        yield running


@pytest.mark.parametrize("version", [1, 2])
def test_without_registry(cpi: Cpi, world: World, vm: RunInstance, disk: CreateVolume, version: int) -> None:
    """Disks do what AWS can do and then say what is missing; deleting works all the same."""
    vm_cid, disk_cid = vm(), disk()
    for method, state in (("attach_disk", "in-use"), ("detach_disk", "available")):
        answer = cpi.call(method, vm_cid, disk_cid, api_version=version, stemcell=1)
        assert answer.error == {
            "type": "Bosh::Clouds::CloudError",
            "message": "An attempt to read registry settings has failed "
            f"for instance_id={vm_cid}. The registry is disabled.",
            "ok_to_retry": False,
        }
        (volume,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
        assert volume["State"] == state
    assert cpi.call("delete_vm", vm_cid, api_version=version, stemcell=1).ok() is None
    assert world.state() == {**world.empty, "volumes": [disk_cid]}


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
        return error["message"]

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
