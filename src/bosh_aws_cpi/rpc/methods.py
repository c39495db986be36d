"""All methods of the CPI, one row each.

A method's module is imported only when the method is called, because every call pays for its imports.
"""

from __future__ import annotations

from bosh_aws_cpi.records import Record
from bosh_aws_cpi.rpc.arguments import CID, CIDS, DISK_SIZE, HASH, OPTIONAL_CID, OPTIONAL_HASH, PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from bosh_aws_cpi.rpc.arguments import Kind


class Method(Record):
    """A method of the contract.

    Attributes:
        target: Where it is implemented, "module:function" below `cpi`.
        arguments: Its positional arguments, by name.
        optional: The number of arguments at the end that may be omitted.
        last_since: The contract version that introduced the last argument.
        result: Converts the function's result to the form of V2 and later.
        result_in_v1: The same for V1, where it differs.
    """

    target: str
    arguments: tuple[tuple[str, Kind], ...] = ()
    optional: int = 0
    last_since: int = 1
    result: Callable[[Any], Any] | None = None
    result_in_v1: Callable[[Any], Any] | None = None


_VM = ("vm_cid", CID)
_DISK = ("disk_cid", CID)
_METADATA = ("metadata", HASH)
_PROPERTIES = ("cloud_properties", HASH)
_CREATE_STEMCELL = (("image_path", PATH), _PROPERTIES, ("env", OPTIONAL_HASH))
_CREATE_VM = (
    ("agent_id", CID),
    ("stemcell_cid", CID),
    _PROPERTIES,
    ("networks", HASH),
    ("disk_cids", CIDS),
    ("environment", OPTIONAL_HASH),
)


def _vm_and_networks(created: Any) -> list[Any]:  # noqa: ANN401 - the protocol knows no verb's types
    return [created.vm_cid, created.networks]


def _vm_cid(created: Any) -> Any:  # noqa: ANN401 - the same
    return created.vm_cid


def _null(_: object) -> None:
    return None


METHODS: Final[dict[str, Method]] = {
    "info": Method("info:info"),
    "ping": Method("info:ping"),
    "current_vm_id": Method("current_vm:current_vm_id"),
    "calculate_vm_cloud_properties": Method(
        "vms.sizes:calculate_vm_cloud_properties", (("desired_instance_size", HASH),)
    ),
    # stemcells
    "create_stemcell": Method("stemcells.create:create_stemcell", _CREATE_STEMCELL, optional=1, last_since=3),
    "delete_stemcell": Method("stemcells.delete:delete_stemcell", (("stemcell_cid", CID),)),
    # VMs
    "create_vm": Method(
        "vms.create.create_vm:create_vm",
        _CREATE_VM,
        optional=2,
        result=_vm_and_networks,
        result_in_v1=_vm_cid,
    ),
    "delete_vm": Method("vms.delete:delete_vm", (_VM,)),
    "has_vm": Method("vms.existing:has_vm", (_VM,)),
    "reboot_vm": Method("vms.existing:reboot_vm", (_VM,)),
    "set_vm_metadata": Method("vms.existing:set_vm_metadata", (_VM, _METADATA)),
    "get_disks": Method("vms.existing:get_disks", (_VM,)),
    # disks
    "create_disk": Method(
        "disks.create:create_disk", (("size", DISK_SIZE), _PROPERTIES, ("vm_cid", OPTIONAL_CID)), optional=1
    ),
    "delete_disk": Method("disks.existing:delete_disk", (_DISK,)),
    "has_disk": Method("disks.existing:has_disk", (_DISK,)),
    "attach_disk": Method("disks.attach:attach_disk", (_VM, _DISK), result_in_v1=_null),
    "detach_disk": Method("disks.attach:detach_disk", (_VM, _DISK)),
    "set_disk_metadata": Method("disks.existing:set_disk_metadata", (_DISK, _METADATA)),
    "resize_disk": Method("disks.change:resize_disk", (_DISK, ("new_size", DISK_SIZE))),
    "update_disk": Method("disks.change:update_disk", (_DISK, ("new_size", DISK_SIZE), _PROPERTIES)),
    # snapshots
    "snapshot_disk": Method("snapshots:snapshot_disk", (_DISK, _METADATA)),
    "delete_snapshot": Method("snapshots:delete_snapshot", (("snapshot_cid", CID),)),
    # networks
    "configure_networks": Method("vms.networks:configure_networks", (_VM, ("networks", HASH))),
    "create_network": Method("networks:create_network", (("network", HASH),)),
    "delete_network": Method("networks:delete_network", (("subnet_id", CID),)),
}
