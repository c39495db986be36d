"""What VMs write on their persistent disks: the agent's dummy platform keeps no files.

A text is on a volume, not on a VM. It is written and read as on a VM: the agent's note of its mounts names
the disk, the agent's note of its hints the disk's path, and EC2's attachments the volume at this path in the
guest. So a text can't be read if the disk is deleted, not attached, not mounted, or at another path than the
agent was told. Copying a text from one disk to another follows the agent's note that it copied the files, or
EC2's that it copied the volume. testbed/moto_patches/copies.py notes less: which VMs had a volume.
"""

from testbed.hypervisor import Hypervisor, Machine
from testbed.world import World
from tests.contract.recorded import NVME

STORE = "/var/vcap/store"
NEW_STORE = "/var/vcap/store_migration_target"
"""Where the agent mounts a further disk, to which it then copies the files."""


class Contents:
    """The texts on the disks of a world."""

    def __init__(self, world: World, hypervisor: Hypervisor) -> None:
        """Begin with empty disks."""
        self._world = world
        self._machines = hypervisor.machines
        self._texts: dict[str, str] = {}
        self._copied: dict[str, int] = {}

    def write(self, vm_cid: str, text: str) -> None:
        """Write a text into the VM's store."""
        self._texts[self._volume(vm_cid)] = text

    def read(self, vm_cid: str) -> str | None:
        """Read the text in the VM's store; None if the disk is empty."""
        volume_id = self._volume(vm_cid)
        (volume,) = self._world.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
        return self._texts.get(volume_id, self._texts.get(volume.get("SourceVolumeId", "")))

    def follow_migrations(self, vm_cid: str) -> None:
        """Copy the texts of the disks whose files the agent has copied since the last time."""
        machine = self._machines[vm_cid]
        done = self._copied.get(vm_cid, 0)
        for source, target in machine.migrations[done:]:
            for disk_cid in (source, target):
                self._attached(machine, disk_cid)
            self._texts[target] = self._texts[source]
        self._copied[vm_cid] = len(machine.migrations)

    def paths(self, vm_cid: str) -> dict[str, str]:
        """List the paths of the VM's disks in the guest, with the id of the volume at each.

        On Xen, the agent itself finds /dev/xvdf for /dev/sdf (bosh-agent, mapped_device_path_resolver.go).
        """
        instance = self._world.instance(vm_cid)
        volumes = {each["DeviceName"]: each["Ebs"]["VolumeId"] for each in instance["BlockDeviceMappings"]}
        (described,) = self._world.ec2.describe_instance_types(InstanceTypes=[instance["InstanceType"]])[
            "InstanceTypes"
        ]
        if described["Hypervisor"] == "nitro":
            return {NVME + volume.replace("-", ""): volume for volume in volumes.values()}
        return volumes

    def _volume(self, vm_cid: str) -> str:
        machine = self._machines[vm_cid]
        stores = [disk for folder, disk in machine.mounts.items() if folder in {STORE, NEW_STORE}]
        if len(stores) != 1:
            raise AssertionError(f"not one disk is mounted: {machine.mounts}")
        return self._attached(machine, stores[0])

    def _attached(self, machine: Machine, disk_cid: str) -> str:
        """Return the volume at the path that the agent was told for a disk: it must be that disk."""
        path = machine.disk_hints[disk_cid]
        found = self.paths(machine.instance_id).get(path)
        if found != disk_cid:
            raise AssertionError(f"the agent was told {path} for {disk_cid}; there is {found or 'nothing'}")
        return found
