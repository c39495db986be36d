"""The whole CPI on one screen: where each method is implemented, "module:function".

None stands for a name that callers know and that is not implemented. The module is
imported only when its method is called: start-up is paid on every call.
"""

from typing import Final

METHODS: Final[dict[str, str | None]] = {
    "info": "info:info",
    "ping": "info:ping",
    "current_vm_id": "current_vm:current_vm_id",
    "calculate_vm_cloud_properties": "vm_sizes:calculate_vm_cloud_properties",
    # stemcells
    "create_stemcell": "stemcell_creation:create_stemcell",
    "delete_stemcell": "stemcells:delete_stemcell",
    # VMs
    "create_vm": "vm_creation:create_vm",
    "delete_vm": "vms:delete_vm",
    "has_vm": "vms:has_vm",
    "reboot_vm": "vms:reboot_vm",
    "set_vm_metadata": "vms:set_vm_metadata",
    "get_disks": "vms:get_disks",
    # disks
    "create_disk": "disk_creation:create_disk",
    "delete_disk": "disks:delete_disk",
    "has_disk": "disks:has_disk",
    "attach_disk": "attachments:attach_disk",
    "detach_disk": "attachments:detach_disk",
    "set_disk_metadata": "disks:set_disk_metadata",
    "resize_disk": "disk_changes:resize_disk",
    "update_disk": "disk_changes:update_disk",
    # snapshots
    "snapshot_disk": "snapshots:snapshot_disk",
    "delete_snapshot": "snapshots:delete_snapshot",
    # networks
    "configure_networks": "networks:configure_networks",
    "create_network": None,
    "delete_network": None,
}
