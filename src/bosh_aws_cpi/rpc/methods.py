"""All methods of the CPI, one row each, and what a contract version changes of arguments and results.

A method's module is imported only when the method is called, because every call pays for its imports.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final

from bosh_aws_cpi.errors import not_correct
from bosh_aws_cpi.jsontext import is_integer, type_name
from bosh_aws_cpi.records import Record


class ArgumentKind(Record):
    """A kind of argument: its name in errors, the check of a value, and the value that replaces null."""

    noun: str
    accepts: Callable[[Any], bool]
    of_null: Callable[[], Any] | None = None
    complaint: str | None = None


def _is_cid(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_list_of_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _is_hash(value: object) -> bool:
    return isinstance(value, dict)


CID = ArgumentKind("a String that is not empty", _is_cid)
OPTIONAL_CID = ArgumentKind("a String that is not empty, or null", _is_cid, lambda: None)
PATH = ArgumentKind("a String", lambda value: isinstance(value, str))
HASH = ArgumentKind("a Hash", _is_hash, dict)
OPTIONAL_HASH = ArgumentKind("a Hash or null", _is_hash, lambda: None)
CIDS = ArgumentKind("an Array of Strings", _is_list_of_strings, list)
DISK_SIZE = ArgumentKind("an Integer", is_integer, complaint="disk size needs to be an integer")


class Method(Record):
    """A method of the contract."""

    target: str
    """Where it is implemented, "module:function" below `cpi`."""
    arguments: tuple[tuple[str, ArgumentKind], ...] = ()
    """Its positional arguments, by name."""
    optional: int = 0
    """The number of arguments at the end that may be omitted."""
    last_since: int = 1
    """The contract version that introduced the last argument."""
    result_in_v1: Callable[[Any], Any] | None = None
    """Converts the function's result to the form of V1, where that differs from V2's."""


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
    "create_vm": Method("vms.create.create_vm:create_vm", _CREATE_VM, optional=2, result_in_v1=itemgetter(0)),
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
    "attach_disk": Method("disks.attach:attach_disk", (_VM, _DISK), result_in_v1=lambda _: None),
    "detach_disk": Method("disks.attach:detach_disk", (_VM, _DISK)),
    "set_disk_metadata": Method("disks.existing:set_disk_metadata", (_DISK, _METADATA)),
    "resize_disk": Method("disks.change:resize_disk", (_DISK, ("new_size", DISK_SIZE))),
    "update_disk": Method("disks.change:update_disk", (_DISK, ("new_size", DISK_SIZE), _PROPERTIES)),
    # snapshots
    "snapshot_disk": Method("snapshots:snapshot_disk", (_DISK, _METADATA)),
    "delete_snapshot": Method("snapshots:delete_snapshot", (("snapshot_cid", CID),)),
    # networks
    "configure_networks": Method("vms.existing:configure_networks", (_VM, ("networks", HASH))),
    "create_network": Method("networks:create_network", (("network", HASH),)),
    "delete_network": Method("networks:delete_network", (("subnet_id", CID),)),
}


def bind(method: str, arguments: list[Any], api_version: int) -> list[Any]:
    """Check a call's arguments, and fill in those that were omitted.

    Returns:
        One value per argument of the method.

    Raises:
        InvalidCall: There are too few or too many arguments, or one is of the wrong kind; the message
            names it.
    """
    row = METHODS[method]
    expected, optional = row.arguments, row.optional
    if api_version < row.last_since:
        expected, optional = expected[:-1], optional - 1
    most = len(expected)
    least = most - optional
    if not least <= len(arguments) <= most:
        numbers = f"{least}" if least == most else f"{least} to {most}"
        noun = "argument" if numbers == "1" else "arguments"
        raise not_correct(f"{method} takes {numbers} {noun}, got {len(arguments)}")
    missing = [None] * (most - len(arguments))
    given = zip(expected, [*arguments, *missing], strict=True)
    return [_check_argument(method, name, kind, value) for (name, kind), value in given]


def _check_argument(method: str, name: str, kind: ArgumentKind, value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if value is None and kind.of_null is not None:
        return kind.of_null()
    if not kind.accepts(value):
        default = f"{method}: {name} must be {kind.noun}, got {type_name(value)}"
        raise not_correct(kind.complaint or default)
    return value


def shape(method: str, api_version: int, result: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Give a method's result the shape of a contract version."""
    convert = METHODS[method].result_in_v1
    return convert(result) if convert and api_version == 1 else result
