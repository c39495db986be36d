"""Each contract with each stemcell, with a registry and without: what today's agent makes of its settings.

Today's agent does not read a registry any more (bosh-agent, infrastructure/settings_source_factory.go, has
`buildWithoutRegistry` alone). The settings in the registry are those of tests/contract/test_permutations.py.
"""

from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.environment import free_port
from testbed.hypervisor import Hypervisor
from testbed.registry import Registry
from testbed.world import World
from tests.e2e import agents
from tests.permutations import Caller, Permutation, Place, created_vm, placed, vm_arguments


@pytest.mark.parametrize("permutation", placed(Place.USER_DATA), ids=str)
def test_agent_boots_from_user_data(
    permutation: Permutation,
    fake_aws: FakeAws,
    world: World,
    registry: Registry,
    hypervisor: Hypervisor,
    tmp_path: Path,
) -> None:
    """The agent boots with all settings, mounts the disk by the hint of attach_disk, and unmounts it."""
    port = free_port()
    caller = Caller(permutation, fake_aws, registry, {"mbus": agents.mbus(port), "ntp": ["ntp.test"]})
    arguments = vm_arguments(world, agents.environment(tmp_path))
    vm_cid = created_vm(permutation, caller.call("create_vm", *arguments).ok(), arguments[3])
    (machine,) = hypervisor.settle()
    settings = machine.settings
    assert machine.instance_id == vm_cid
    assert (settings["agent_id"], settings["ntp"]) == ("agent-1", ["ntp.test"])
    assert settings["disks"] == {
        "system": world.root_device,
        "ephemeral": "/dev/sdb",
        "persistent": {},
        "raw_ephemeral": None,
    }

    disk_cid = caller.call("create_disk", 1024, {}, vm_cid).ok()
    hint = caller.call("attach_disk", vm_cid, disk_cid).ok()
    agents.finished(port, "add_persistent_disk", disk_cid, hint)
    agents.finished(port, "mount_disk", disk_cid)
    assert machine.disk_hints == {disk_cid: hint}
    assert list(machine.mounts.values()) == [disk_cid]
    agents.finished(port, "unmount_disk", disk_cid)
    agents.finished(port, "remove_persistent_disk", disk_cid)
    assert (machine.disk_hints, machine.mounts) == ({}, {})
    assert caller.call("detach_disk", vm_cid, disk_cid).ok() is None
    assert caller.call("delete_vm", vm_cid).ok() is None
    assert hypervisor.settle() == []
    assert registry.requests == []
