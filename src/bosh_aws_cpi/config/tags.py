"""The tags of ``aws.tags``, which everything gets that the CPI creates, and those of a role's session."""

from typing import Final

from bosh_aws_cpi.errors import InvalidCall, not_correct
from bosh_aws_cpi.jsontext import Json, encode
from bosh_aws_cpi.tag_names import DISK_METADATA, VM_METADATA

MOST_CONFIGURED: Final = 30
"""EC2 allows 50 on a resource; the rest is left for the tags of the Director, the manifest and the CPI."""
MOST_OF_SESSION: Final = 50
"""STS's limit (API model, tagListType)."""
LONGEST_KEY: Final = 128
LONGEST_VALUE: Final = 256
"""The limits of EC2 and STS in characters (user guide of EC2, "Tag restrictions"; STS's API model, Tag).

A longer key or value is an error here; `plan.tags` cuts others at 127 and 255, as the Ruby release does.
"""
_RESERVED: Final = ("aws:", "bosh_")


def of_resources(given: Json) -> dict[str, str]:
    """Return the tags of ``aws.tags`` with their values as strings.

    Args:
        given: Value by key; a value is a string, a number or a boolean.

    Raises:
        InvalidCall: EC2 would refuse a tag, or the CPI would take it for one of its own or the Director's.
    """
    for key in given:
        if key.lower().startswith(_RESERVED):
            reserved = " or ".join(_RESERVED)
            raise _wrong("tags", f" has the key '{key}': keys that begin with {reserved} are reserved")
        if key in VM_METADATA | DISK_METADATA:
            raise _wrong("tags", f" has the key '{key}', which the Director sets itself: use another key")
    return _within_limits("tags", given, MOST_CONFIGURED)


def of_session(given: Json) -> dict[str, str]:
    """Return the tags of ``aws.session_tags`` with their values as strings.

    Raises:
        InvalidCall: STS would refuse a tag.
    """
    for key in given:
        if key.lower().startswith("aws:"):
            raise _wrong("session_tags", f" has the key '{key}': keys that begin with aws: are reserved")
    return _within_limits("session_tags", given, MOST_OF_SESSION)


def _within_limits(name: str, given: Json, most: int) -> dict[str, str]:
    if len(given) > most:
        raise _wrong(name, f" has {len(given)} tags: at most {most} are allowed")
    return {key: _value(name, key, value) for key, value in given.items()}


def _value(name: str, key: str, value: object) -> str:
    if not key:
        raise _wrong(name, " has an empty key")
    if len(key) > LONGEST_KEY:
        what = f" has a key of {len(key)} characters, '{key}': at most {LONGEST_KEY} are allowed"
        raise _wrong(name, what)
    if not isinstance(value, str | int | float):
        raise _wrong(name, f": the value of '{key}' must be a string, a number or a boolean")
    text = value if isinstance(value, str) else encode(value)
    if len(text) > LONGEST_VALUE:
        what = f": the value of '{key}' has {len(text)} characters: at most {LONGEST_VALUE} are allowed"
        raise _wrong(name, what)
    return text


def _wrong(name: str, what: str) -> InvalidCall:
    return not_correct(f"configuration parameter aws.{name}{what}")
