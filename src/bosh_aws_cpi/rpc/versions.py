"""What the contract versions differ in: argument limits, kinds and result shapes."""

from collections.abc import Callable
from typing import Any, NamedTuple

from bosh_aws_cpi.errors import not_correct
from bosh_aws_cpi.jsontext import is_integer, type_name


class Kind(NamedTuple):
    """A kind of argument: what it is called, what belongs to it, what a null becomes."""

    noun: str
    accepts: Callable[[Any], bool]
    of_null: Callable[[], Any] | None = None
    complaint: str | None = None


def _is_cid(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _is_hash(value: object) -> bool:
    return isinstance(value, dict)


def _none() -> None:
    return None


CID = Kind("a String that is not empty", _is_cid)
OPTIONAL_CID = Kind("a String that is not empty, or null", _is_cid, _none)
PATH = Kind("a String", lambda value: isinstance(value, str))
HASH = Kind("a Hash", _is_hash, dict)
OPTIONAL_HASH = Kind("a Hash or null", _is_hash, _none)
CIDS = Kind("an Array of Strings", _is_strings, list)
DISK_SIZE = Kind("an Integer", is_integer, complaint="disk size needs to be an integer")


class Signature(NamedTuple):
    """A method's positional arguments by name; the last ``optional`` ones may be left out."""

    arguments: tuple[tuple[str, Kind], ...] = ()
    optional: int = 0
    since: int = 1
    """The last argument is there from this contract version on."""

    def at(self, api_version: int) -> "Signature":
        """The signature in a contract version."""
        if api_version >= self.since:
            return self
        return Signature(self.arguments[:-1], self.optional - 1)


_VM = ("vm_cid", CID)
_DISK = ("disk_cid", CID)
_METADATA = ("metadata", HASH)
_PROPERTIES = ("cloud_properties", HASH)

SIGNATURES: dict[str, Signature] = {
    "info": Signature(),
    "ping": Signature(),
    "current_vm_id": Signature(),
    "calculate_vm_cloud_properties": Signature((("desired_instance_size", HASH),)),
    "create_stemcell": Signature(
        (("image_path", PATH), _PROPERTIES, ("env", OPTIONAL_HASH)), optional=1, since=3
    ),
    "delete_stemcell": Signature((("stemcell_cid", CID),)),
    "create_vm": Signature(
        (
            ("agent_id", CID),
            ("stemcell_cid", CID),
            _PROPERTIES,
            ("networks", HASH),
            ("disk_cids", CIDS),
            ("environment", OPTIONAL_HASH),
        ),
        optional=2,
    ),
    "delete_vm": Signature((_VM,)),
    "has_vm": Signature((_VM,)),
    "reboot_vm": Signature((_VM,)),
    "set_vm_metadata": Signature((_VM, _METADATA)),
    "get_disks": Signature((_VM,)),
    "create_disk": Signature((("size", DISK_SIZE), _PROPERTIES, ("vm_cid", OPTIONAL_CID)), optional=1),
    "delete_disk": Signature((_DISK,)),
    "has_disk": Signature((_DISK,)),
    "attach_disk": Signature((_VM, _DISK)),
    "detach_disk": Signature((_VM, _DISK)),
    "set_disk_metadata": Signature((_DISK, _METADATA)),
    "resize_disk": Signature((_DISK, ("new_size", DISK_SIZE))),
    "update_disk": Signature((_DISK, ("new_size", DISK_SIZE), _PROPERTIES)),
    "snapshot_disk": Signature((_DISK, _METADATA)),
    "delete_snapshot": Signature((("snapshot_cid", CID),)),
    "configure_networks": Signature((_VM, ("networks", HASH))),
}
"""The signature of each method that is implemented."""


def bind(method: str, arguments: list[Any], api_version: int) -> list[Any]:
    """Check a call's arguments and fill in what was left out.

    Returns:
        One value per argument of the signature.

    Raises:
        InvalidCall: There are too few or too many, or one is of the wrong kind; the message
            names it.
    """
    signature = SIGNATURES[method].at(api_version)
    most = len(signature.arguments)
    least = most - signature.optional
    if not least <= len(arguments) <= most:
        expected = f"{least}" if least == most else f"{least} to {most}"
        raise not_correct(f"{method} takes {expected} arguments, got {len(arguments)}")
    missing = [None] * (most - len(arguments))
    given = zip(signature.arguments, [*arguments, *missing], strict=True)
    return [_checked(method, name, kind, value) for (name, kind), value in given]


def shape(method: str, api_version: int, result: Any) -> Any:  # noqa: ANN401 - JSON is what it is
    """Give a verb's result the shape of a contract version.

    create_vm answers the VM's id in V1, ``[id, networks]`` from V2 on; attach_disk answers
    null in V1, the device path from V2 on; everything else is the same in all.
    """
    if method == "create_vm":
        return [result.vm_cid, result.networks] if api_version >= 2 else result.vm_cid  # noqa: PLR2004
    if method == "attach_disk":
        return result if api_version >= 2 else None  # noqa: PLR2004
    return result


def _checked(method: str, name: str, kind: Kind, value: Any) -> Any:  # noqa: ANN401 - JSON is what it is
    if value is None and kind.of_null is not None:
        return kind.of_null()
    if not kind.accepts(value):
        default = f"{method}: {name} must be {kind.noun}, got {type_name(value)}"
        raise not_correct(kind.complaint or default)
    return value
