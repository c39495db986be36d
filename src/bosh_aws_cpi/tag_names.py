"""Names of tags by which the CPI recognises resources that the Director knows."""

from typing import Final

VM_METADATA: Final = frozenset({"compiling", "created_at", "id", "index", "job"})
"""Tags of set_vm_metadata, which always writes some of these; a manifest's own tags have other names."""
DISK_METADATA: Final = frozenset(
    {"attached_at", "director", "instance_id", "instance_index", "instance_name"}
)
"""Tags of set_disk_metadata, likewise."""
