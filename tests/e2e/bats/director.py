"""The Director, played: its requests to the CPI and to the agents, in its order.

The requests to the CPI are like those that a whole Director sent (tests/data/recorded, 80 to 88), with only
some of the metadata; `recorded` reads the methods, and the stories compare their order. The requests to the
agent between them follow the Director's source, cloudfoundry/bosh, src/bosh-director/lib/bosh/director:
vm_creator.rb, deployment_plan/steps, disk_manager.rb, instance_updater, stopper.rb and problem_handlers.
"""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from testbed.cloud import FakeAws
from testbed.environment import free_port
from testbed.executable import Cpi, config
from testbed.hypervisor import Hypervisor, Machine
from testbed.replay import ID
from testbed.world import World
from tests.contract.recorded import is_info, read
from tests.e2e import agents
from tests.e2e.bats.contents import Contents

API_VERSION = 3
STEMCELL = 3
"""The versions of the contract and of the stemcell that a Director of today has."""
BLOBS = "/var/vcap/data/tmp/blobs"
"""The folder of the VMs' blobstore."""
SIZE = 2048
"""MiB of a persistent disk."""


def recorded(name: str, *ids: str) -> list[str]:
    """List the methods that a whole Director called for some VMs and disks, without `info`."""
    flow = [line for line in read(name) if not is_info(line)]
    wanted = set(ids)
    return [line["request"]["method"] for line in flow if wanted & set(ID.findall(json.dumps(line)))]


@dataclass(frozen=True, eq=False)
class Vm:
    """A VM, as the Director's database knows it.

    Attributes:
        networks: As create_vm returned them.
        port: Where its agent serves.
    """

    cid: str
    agent_id: str
    networks: dict[str, Any]
    port: int

    def ask(self, method: str, *arguments: Any) -> Any:
        """Ask the agent, and wait for the end of its task."""
        return agents.finished(self.port, method, *arguments)

    @property
    def answers(self) -> bool:
        """Whether the agent answers a ping."""
        try:
            return bool(self.ask("ping") == "pong")
        except OSError:
            return False


@dataclass(eq=False)
class Instance:
    """An instance of a deployment, as the Director's database knows it.

    Attributes:
        networks: As the deployment plan has them.
        properties: The VM type's cloud properties, over the ordinary ones.
        disk: The id of its persistent disk.
    """

    networks: dict[str, Any]
    properties: dict[str, Any] = field(default_factory=dict)
    index: int = 0
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    active: Vm | None = None
    disk: str | None = None

    @property
    def vm(self) -> Vm:
        """The VM that it has."""
        if self.active is None:
            raise AssertionError("the instance has no VM")
        return self.active

    @property
    def spec(self) -> dict[str, Any]:
        """The part of the apply spec that an agent gets before the jobs' templates are rendered."""
        return {
            "deployment": "bat",
            "job": {"name": "batlight", "templates": []},
            "index": self.index,
            "id": self.uuid,
            "networks": self.networks,
        }


class Director:
    """A Director with one deployment.

    Attributes:
        methods: The methods of the CPI that were called, without `info`.
        stemcell_cid: The stemcell of new VMs.
        contents: What is on the disks.
        snapshots: The snapshots that it knows, by disk.
    """

    def __init__(
        self,
        fake_aws: FakeAws,
        world: World,
        hypervisor: Hypervisor,
        env: dict[str, Any],
        contents: Contents,
    ) -> None:
        """Agree with the CPI on a version of the contract."""
        self.methods: list[str] = []
        self.stemcell_cid = f"{world.image_id} light"
        self.contents = contents
        self.snapshots: dict[str, list[str]] = {}
        self._fake_aws = fake_aws
        self._world = world
        self._hypervisor = hypervisor
        self._env = env
        self._cpi = self._executable(free_port())
        self._requests = 0
        announced = self._cpi.call("info", api_version=None).ok()["api_version"]
        if announced != API_VERSION:
            raise AssertionError(f"the CPI announces V{announced}")

    def machine(self, instance: Instance) -> Machine:
        """Return the machine of an instance's VM."""
        return self._hypervisor.machines[instance.vm.cid]

    # The CPI

    def call(self, method: str, *arguments: Any, stemcell: bool = False, cpi: Cpi | None = None) -> Any:
        """Call a method of the CPI, which must succeed, and return its result.

        Args:
            method: Its name.
            *arguments: Its arguments.
            stemcell: Whether the context names the stemcell's version: the Director does so for some methods.
            cpi: The executable, with another configuration than usual.
        """
        self.methods.append(method)
        self._requests += 1
        context: dict[str, Any] = {"request_id": f"cpi-{self._requests:06}"}
        if stemcell:
            context["vm"] = {"stemcell": {"api_version": STEMCELL}}
        answer = (cpi or self._cpi).call(method, *arguments, api_version=API_VERSION, context=context)
        if answer.document.keys() != {"result", "error", "log"}:
            raise AssertionError(f"not the response's schema: {answer.document}")
        return answer.ok()

    def create_vm(self, instance: Instance) -> Vm:
        """Create a VM, tag it, and wait for its agent (deployment_plan/steps/create_vm_step.rb)."""
        agent_id, port = str(uuid.uuid4()), free_port()
        properties = {
            "availability_zone": self._world.zone,
            "ephemeral_disk": {"size": 3000, "type": "gp2"},
            "instance_type": "m5.large",
            **instance.properties,
        }
        disks = [instance.disk] if instance.disk else []
        vm_cid, answered = self.call(
            "create_vm",
            agent_id,
            self.stemcell_cid,
            properties,
            instance.networks,
            disks,
            self._env,
            stemcell=True,
            cpi=self._executable(port),
        )
        vm = Vm(vm_cid, agent_id, answered, port)
        name = {"deployment": "bat", "job": "batlight", "index": str(instance.index), "id": instance.uuid}
        self.call("set_vm_metadata", vm_cid, {"director": "under-test", "name": "batlight", **name})
        self._hypervisor.settle()
        if not vm.answers:
            raise AssertionError("the agent does not answer")
        return vm

    def create_disk(self, instance: Instance, size: int = SIZE) -> str:
        """Create a persistent disk near the instance's VM."""
        disk_cid: str = self.call("create_disk", size, {"type": "gp3"}, instance.vm.cid)
        return disk_cid

    def attach_disk(self, instance: Instance, disk_cid: str) -> str:
        """Attach a disk, and tell the agent its path (deployment_plan/steps/attach_disk_step.rb).

        Returns:
            The path.
        """
        path: str = self.call("attach_disk", instance.vm.cid, disk_cid, stemcell=True)
        instance.vm.ask("add_persistent_disk", disk_cid, path)
        tags = {"director": "under-test", "deployment": "bat", "instance_id": instance.uuid}
        self.call("set_disk_metadata", disk_cid, tags)
        return path

    def mount(self, instance: Instance, disk_cid: str) -> None:
        """Attach a disk, and have the agent mount it."""
        self.attach_disk(instance, disk_cid)
        instance.vm.ask("mount_disk", disk_cid)

    def detach_disk(self, instance: Instance, disk_cid: str) -> None:
        """Have the agent unmount and forget a disk, and detach it (disk_manager.rb, detach_disk)."""
        if disk_cid in instance.vm.ask("list_disk"):
            instance.vm.ask("unmount_disk", disk_cid)
        instance.vm.ask("remove_persistent_disk", disk_cid)
        self.call("detach_disk", instance.vm.cid, disk_cid, stemcell=True)

    def delete_vm(self, instance: Instance) -> None:
        """Delete the instance's VM; its agent must end with it."""
        self.call("delete_vm", instance.vm.cid, stemcell=True)
        self.forget_vm(instance)
        self._hypervisor.settle()

    def forget_vm(self, instance: Instance) -> None:
        """Delete the Director's own record of the VM."""
        instance.active = None

    # Stemcells and deployments

    def upload_stemcell(self) -> None:
        """Upload a light stemcell (jobs/update_stemcell.rb)."""
        properties = {"infrastructure": "aws", "ami": {"us-east-1": self._world.image_id}}
        self.stemcell_cid = self.call("create_stemcell", "/nowhere/image", properties, {"tags": {}})

    def delete_stemcell(self) -> None:
        """Delete it."""
        self.call("delete_stemcell", self.stemcell_cid)

    def deploy(self, instance: Instance, size: int = SIZE) -> None:
        """Deploy a new instance: its VM, its disk if it has a size, and its jobs."""
        self._create(instance)
        if size:
            instance.disk = self.create_disk(instance, size)
            self.mount(instance, instance.disk)
        self.start(instance)

    def start(self, instance: Instance) -> None:
        """Start the jobs of an instance (instance_updater/state_applier.rb, starter.rb)."""
        vm = instance.vm
        vm.ask("run_script", "pre-start", {})
        vm.ask("start")
        vm.ask("run_script", "post-start", {})

    def stop(self, instance: Instance) -> None:
        """Stop the jobs (stopper.rb), and take a snapshot of the disk, as a Director with snapshots does."""
        vm = instance.vm
        vm.ask("run_script", "pre-stop", {})
        vm.ask("drain", "shutdown", instance.spec)
        vm.ask("stop")
        vm.ask("run_script", "post-stop", {})
        if instance.disk:
            tags = {"deployment": "bat", "job": "batlight", "index": instance.index, "agent_id": vm.agent_id}
            snapshot_cid: str = self.call("snapshot_disk", instance.disk, tags)
            self.snapshots.setdefault(instance.disk, []).append(snapshot_cid)

    def detach(self, instance: Instance) -> None:
        """Detach the disk, and delete the VM, as for `bosh stop --hard` (instance_updater, detached)."""
        if instance.disk:
            self.detach_disk(instance, instance.disk)
        self.delete_vm(instance)

    def attach(self, instance: Instance) -> None:
        """Create a VM for an instance that has none, with its disk, and start the jobs."""
        self._create(instance)
        self.start(instance)

    def recreate(self, instance: Instance) -> None:
        """Replace the VM of an instance whose agent answers (instance_updater/recreate_handler.rb)."""
        self.stop(instance)
        self.detach(instance)
        self.attach(instance)

    def delete(self, instance: Instance) -> None:
        """Delete an instance, and orphan its disk (instance_deleter.rb): the disk is still attached."""
        self.stop(instance)
        self.delete_vm(instance)
        instance.disk = None

    def copy_disk(self, instance: Instance, size: int) -> str:
        """Copy the files to a new disk of another size (disk_manager.rb, update_disk).

        Returns:
            The old disk, which is an orphan now.
        """
        old, new = self._disk(instance), self.create_disk(instance, size)
        self.mount(instance, new)
        instance.vm.ask("migrate_disk", old, new)
        self.contents.follow_migrations(instance.vm.cid)
        self.detach_disk(instance, old)
        instance.disk = new
        return old

    def resize_disk(self, instance: Instance, size: int) -> str:
        """Resize a disk in place, detached (disk_manager.rb, resize_disk).

        Returns:
            The disk.
        """
        disk = self._disk(instance)
        self.detach_disk(instance, disk)
        self.call("resize_disk", disk, size)
        self.mount(instance, disk)
        return disk

    def update_disk(self, instance: Instance, size: int, properties: dict[str, Any]) -> None:
        """Change a disk in the CPI, detached (disk_manager.rb, update_disk_cpi): it may get another id."""
        disk = self._disk(instance)
        self.detach_disk(instance, disk)
        instance.disk = self.call("update_disk", disk, size, properties) or disk
        self.mount(instance, instance.disk)

    def replace_disk(self, instance: Instance, disk_cid: str) -> str:
        """Give a stopped instance an orphaned disk in place of its own (jobs/attach_disk.rb).

        Returns:
            Its own disk, which is an orphan now.
        """
        own = self._disk(instance)
        self.detach_disk(instance, own)
        instance.disk = disk_cid
        self.mount(instance, disk_cid)
        return own

    def hot_swap(self, instance: Instance, networks: dict[str, Any], size: int) -> str:
        """Replace a VM with `vm_strategy: create-swap-delete`, and its disk by one of another size.

        Returns:
            The old disk, which is an orphan now.
        """
        old_vm, old_disk = instance.vm, self._disk(instance)
        new_vm = self.create_vm(Instance(networks, instance.properties, instance.index, instance.uuid))
        self._settle_in(instance, new_vm)
        self.stop(instance)
        self.detach_disk(instance, old_disk)
        instance.networks, instance.active = networks, new_vm
        self.mount(instance, old_disk)
        instance.disk = self.create_disk(instance, size)
        self.mount(instance, instance.disk)
        new_vm.ask("migrate_disk", old_disk, instance.disk)
        self.contents.follow_migrations(new_vm.cid)
        self.call("delete_vm", old_vm.cid, stemcell=True)
        self._hypervisor.settle()
        self.detach_disk(instance, old_disk)
        self.start(instance)
        return old_disk

    # cloud-check

    def scan(self, instance: Instance) -> Iterator[str]:
        """Look for problems, as `bosh cloud-check` does (problem_scanner)."""
        vm = instance.vm
        answers = vm.answers
        if not answers:
            yield "unresponsive_agent" if self.call("has_vm", vm.cid) else "missing_vm"
        if instance.disk is None:
            return
        if not self.call("has_disk", instance.disk):
            yield "missing_disk"
        elif answers and instance.disk not in vm.ask("list_disk"):
            yield "mount_info_mismatch"

    def recreate_vm(self, instance: Instance) -> None:
        """Replace a VM whose agent does not answer (cloudcheck_helper.rb, recreate_vm)."""
        self.delete_vm(instance)
        self.attach(instance)

    def reboot_vm(self, instance: Instance) -> None:
        """Reboot a VM (cloudcheck_helper.rb, reboot_vm): its machine follows what EC2 was asked for."""
        before = len(self._rebooted())
        self.call("reboot_vm", instance.vm.cid)
        if self._rebooted()[before:] != [instance.vm.cid]:
            raise AssertionError("EC2 was not asked to reboot the VM")
        self._hypervisor.restart(self.machine(instance), rebooted=True)

    @staticmethod
    def _disk(instance: Instance) -> str:
        if instance.disk is None:
            raise AssertionError("the instance has no disk")
        return instance.disk

    def _create(self, instance: Instance) -> None:
        """Create the VM of an instance that has none, and mount its disk, if it has one (vm_creator.rb)."""
        vm = self.create_vm(instance)
        instance.active = vm
        if instance.disk:
            self.mount(instance, instance.disk)
        self._settle_in(instance, vm)

    def _settle_in(self, instance: Instance, vm: Vm) -> None:
        """Give a VM's agent its settings and the first part of its spec."""
        vm.ask("update_settings", {"trusted_certs": "", "disk_associations": []})
        vm.ask("apply", {**instance.spec, "networks": vm.networks})

    def _rebooted(self) -> list[str]:
        """List the instances that EC2 was asked to reboot."""
        calls = self._fake_aws.calls()
        return [call["parameters"]["InstanceId.1"] for call in calls if call["action"] == "RebootInstances"]

    def _executable(self, port: int) -> Cpi:
        """Return the executable with the address of an agent.

        A Director's agents share a NATS server. There is none here: each agent serves a port of its own.
        """
        agent = {"mbus": agents.mbus(port), "ntp": ["ntp.test"]}
        return Cpi(config(self._fake_aws.endpoint, agent=agent))
