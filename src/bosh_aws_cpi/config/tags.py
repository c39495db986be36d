"""The tags of ``aws.tags``, which all resources get that the CPI creates."""

from typing import Final

from bosh_aws_cpi.errors import InvalidCall, not_correct
from bosh_aws_cpi.jsontext import Json, encode
from bosh_aws_cpi.tag_names import DISK_METADATA, VM_METADATA

MAX_TAGS: Final = 30
"""EC2 allows 50 on a resource; the rest is left for the tags of the Director, the manifest and the CPI."""
MAX_KEY: Final = 128
MAX_VALUE: Final = 256
"""EC2's limits in characters (API model: the user guide's "Tag restrictions")."""
_RESERVED: Final = ("aws:", "bosh_")


def checked(given: Json) -> dict[str, str]:
    """Return the tags with their values as strings.

    Args:
        given: Value by key; a value is a string, a number or a boolean.

    Raises:
        InvalidCall: EC2 would refuse a tag, or the CPI would take it for one of its own or the Director's.
    """
    if len(given) > MAX_TAGS:
        raise _wrong(f"has {len(given)} tags, but at most {MAX_TAGS} are allowed")
    return {key: _value(key, value) for key, value in given.items() if _is_allowed(key)}


def _is_allowed(key: str) -> bool:
    if not 0 < len(key) <= MAX_KEY:
        raise _wrong(f"has the key '{key[:MAX_KEY]}' of {len(key)} characters; 1 to {MAX_KEY} are allowed")
    if key.lower().startswith(_RESERVED):
        raise _wrong(f"has the key '{key}': keys that begin with {' or '.join(_RESERVED)} are reserved")
    if key in VM_METADATA | DISK_METADATA:
        raise _wrong(f"has the key '{key}', by which the CPI recognises resources that the Director knows")
    return True


def _value(key: str, value: object) -> str:
    if not isinstance(value, str | int | float):
        raise _wrong(f"needs a string as the value of '{key}'")
    text = value if isinstance(value, str) else encode(value)
    if len(text) > MAX_VALUE:
        raise _wrong(f"has {len(text)} characters as the value of '{key}'; {MAX_VALUE} are allowed")
    return text


def _wrong(what: str) -> InvalidCall:
    return not_correct(f"configuration parameter aws:tags {what}")
