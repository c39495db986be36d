"""The kinds of arguments that methods take."""

from __future__ import annotations

from bosh_aws_cpi.errors import not_correct
from bosh_aws_cpi.jsontext import is_integer, type_name
from bosh_aws_cpi.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Kind(Record):
    """A kind of argument: its name in errors, the check of a value, and the value that replaces null."""

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


def checked(method: str, name: str, kind: Kind, value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Check one argument.

    Raises:
        InvalidCall: It is of another kind; the message names the argument.
    """
    if value is None and kind.of_null is not None:
        return kind.of_null()
    if not kind.accepts(value):
        default = f"{method}: {name} must be {kind.noun}, got {type_name(value)}"
        raise not_correct(kind.complaint or default)
    return value
