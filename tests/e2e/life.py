"""An environment and its checks, for tests that change one from run to run."""

from collections.abc import Callable
from typing import Any

from testbed.bosh_cli import Run
from testbed.environment import Environment, part
from testbed.hypervisor import Hypervisor, Machine
from testbed.world import World

FRESH = [
    *("create_stemcell", "create_vm", "set_vm_metadata"),
    *("create_disk", "attach_disk", "set_disk_metadata"),
]
"""What a first create-env calls."""
NEW_VM = ["has_vm", "delete_vm", "create_vm", "set_vm_metadata", "attach_disk", "set_disk_metadata"]
"""What it calls for a VM in place of another one."""
NEW_DISK = ["create_disk", "attach_disk", "set_disk_metadata", "detach_disk", "delete_disk"]
"""What it calls besides for a disk in place of another one."""
GONE = ["has_vm", "delete_vm", "delete_disk", "delete_stemcell"]
"""What delete-env calls."""


class Life:
    """An environment, and what is true of it after every run that made or changed it."""

    def __init__(
        self,
        environment: Environment,
        hypervisor: Hypervisor,
        world: World,
        disk_of: Callable[[Environment], dict[str, Any]],
    ) -> None:
        """Begin with nothing."""
        self.environment = environment
        self._hypervisor = hypervisor
        self._world = world
        self._disk_of = disk_of
        self._laid = world.state()

    def create(self, *methods: str) -> tuple[Run, Machine, dict[str, Any]]:
        """Run create-env, which must make these calls; returns the run, the machine and the disk."""
        run = self.environment.create()
        run.ok()
        assert run.methods == list(methods)
        (machine,) = self._hypervisor.settle()
        disk = self._disk_of(self.environment)
        state = self._world.state()
        assert state["instances"] == [machine.instance_id] == [self.environment.state["current_vm_cid"]]
        assert len(state["volumes"]) == 3, "root, ephemeral and persistent"
        assert len(state["interfaces"]) == 1
        assert state["images"] == self._laid["images"]
        assert machine.running
        expected = self.environment.agent_settings
        assert part(machine.settings, expected) == expected
        assert [each["InstanceId"] for each in disk["Attachments"]] == [machine.instance_id]
        assert disk["VolumeId"] in machine.mounts.values()
        return run, machine, disk

    def delete(self) -> Run:
        """Run delete-env, after which nothing may be left."""
        run = self.environment.delete()
        run.ok()
        assert self._hypervisor.settle() == []
        assert self._world.state() == self._laid
        return run
