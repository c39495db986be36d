"""The tags of ``aws.tags``, which everything gets that the CPI creates, and those of a role's session."""

from typing import Final

from bosh_aws_cpi.errors import InvalidCall, not_correct
from bosh_aws_cpi.jsontext import Json, encode
from bosh_aws_cpi.tag_names import DISK_METADATA, VM_METADATA

MAX_TAGS: Final = 30
"""EC2 allows 50 on a resource; the rest is left for the tags of the Director, the manifest and the CPI."""
MAX_KEY: Final = 128
MAX_VALUE: Final = 256
"""The limits of EC2 and STS in characters (user guide of EC2, "Tag restrictions"; STS's API model, Tag)."""
MAX_SESSION_TAGS: Final = 50
"""STS's limit (API model, tagListType)."""
_RESERVED: Final = ("aws:", "bosh_")


def checked(given: Json) -> dict[str, str]:
    """Return the tags of ``aws.tags`` with their values as strings.

    Args:
        given: Value by key; a value is a string, a number or a boolean.

    Raises:
        InvalidCall: EC2 would refuse a tag, or the CPI would take it for one of its own or the Director's.
    """
    for key in given:
        if key.lower().startswith(_RESERVED):
            reserved = " or ".join(_RESERVED)
            raise _wrong("tags", f"has the key '{key}': keys that begin with {reserved} are reserved")
        if key in VM_METADATA | DISK_METADATA:
            what = f"has the key '{key}', by which the CPI recognises resources that the Director knows"
            raise _wrong("tags", what)
    return _within_limits("tags", given, MAX_TAGS)


def of_session(given: Json) -> dict[str, str]:
    """Return the tags of ``aws.session_tags`` with their values as strings.

    Raises:
        InvalidCall: STS would refuse a tag.
    """
    for key in given:
        if key.lower().startswith("aws:"):
            raise _wrong("session_tags", f"has the key '{key}': keys that begin with aws: are reserved")
    return _within_limits("session_tags", given, MAX_SESSION_TAGS)


def _within_limits(name: str, given: Json, max_tags: int) -> dict[str, str]:
    if len(given) > max_tags:
        raise _wrong(name, f"has {len(given)} tags, but at most {max_tags} are allowed")
    return {key: _value(name, key, value) for key, value in given.items()}


def _value(name: str, key: str, value: object) -> str:
    if not 0 < len(key) <= MAX_KEY:
        what = f"has the key '{key[:MAX_KEY]}' of {len(key)} characters; 1 to {MAX_KEY} are allowed"
        raise _wrong(name, what)
    if not isinstance(value, str | int | float):
        raise _wrong(name, f"needs a string as the value of '{key}'")
    text = value if isinstance(value, str) else encode(value)
    if len(text) > MAX_VALUE:
        raise _wrong(name, f"has {len(text)} characters as the value of '{key}'; {MAX_VALUE} are allowed")
    return text


def _wrong(name: str, what: str) -> InvalidCall:
    return not_correct(f"configuration parameter aws:{name} {what}")
