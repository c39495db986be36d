"""The whole CPI on one screen: where each method is implemented, "module:function".

None stands for a name that callers know and that is not implemented. The module is
imported only when its method is called: start-up is paid on every call.
"""

from typing import Final

METHODS: Final[dict[str, str | None]] = {
    "info": "info:info",
    "ping": "info:ping",
    "current_vm_id": "vms.current:current_vm_id",
    "calculate_vm_cloud_properties": "vms.sizes:calculate_vm_cloud_properties",
    # stemcells
    "create_stemcell": "stemcells.create:create_stemcell",
    "delete_stemcell": "stemcells.delete:delete_stemcell",
    # VMs
    "create_vm": "vms.create.create_vm:create_vm",
    "delete_vm": "vms.existing:delete_vm",
    "has_vm": "vms.existing:has_vm",
    "reboot_vm": "vms.existing:reboot_vm",
    "set_vm_metadata": "vms.existing:set_vm_metadata",
    "get_disks": "vms.existing:get_disks",
    # disks
    "create_disk": "disks.create:create_disk",
    "delete_disk": "disks.existing:delete_disk",
    "has_disk": "disks.existing:has_disk",
    "attach_disk": "disks.attach:attach_disk",
    "detach_disk": "disks.attach:detach_disk",
    "set_disk_metadata": "disks.existing:set_disk_metadata",
    "resize_disk": "disks.change:resize_disk",
    "update_disk": "disks.change:update_disk",
    # snapshots
    "snapshot_disk": "snapshots:snapshot_disk",
    "delete_snapshot": "snapshots:delete_snapshot",
    # networks
    "configure_networks": "vms.networks:configure_networks",
    "create_network": None,
    "delete_network": None,
}
