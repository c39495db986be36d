"""The tags of ``aws.tags``, which everything gets that the CPI creates, and those of a role's session."""

import re
from typing import Final

from bosh_aws_cpi.errors import InvalidCall, not_correct
from bosh_aws_cpi.jsontext import Json, encode
from bosh_aws_cpi.tag_names import DISK_METADATA, OWN, VM_METADATA, fold

MOST_CONFIGURED: Final = 30
"""EC2 allows 50 on a resource; the rest is left for the tags of the Director, the manifest and the CPI."""
MOST_OF_SESSION: Final = 50
"""STS's limit (API model, tagListType)."""
_OF_EC2: Final = (127, 255)
"""The longest key and value in characters (API models: Tag.Key of EC2, StartSnapshot of EBS).

A longer one is an error here; `plan.tags` cuts others, as the Ruby release does.
"""
_OF_STS: Final = (128, 256)
"""The longest key and value of a session's tag (API model of STS, tagKeyType, tagValueType)."""
_ALLOWED_BY_STS: Final = r"[\w .:/=+@-]*"
"""Letters, digits, spaces and these characters (API model of STS, tagKeyType)."""
_RESERVED: Final = ("aws:", "bosh_")


def of_resources(given: Json) -> dict[str, str]:
    """Return the tags of ``aws.tags`` with their values as strings.

    Args:
        given: Value by key; a value is a string, a number or a boolean.

    Raises:
        InvalidCall: EC2 would refuse a tag, or the CPI would take it for one of its own or the Director's.
    """
    for key in given:
        if fold(key).startswith(_RESERVED):
            reserved = " or ".join(_RESERVED)
            raise _wrong("tags", f" has the key '{key}': keys that begin with {reserved} are reserved")
        if key in VM_METADATA | DISK_METADATA or fold(key) in OWN:
            raise _wrong("tags", f" has the key '{key}', which the Director sets itself: use another key")
    return _within_limits("tags", given, MOST_CONFIGURED, _OF_EC2)


def of_session(given: Json) -> dict[str, str]:
    """Return the tags of ``aws.session_tags`` with their values as strings.

    Raises:
        InvalidCall: STS would refuse a tag.
    """
    lowered: dict[str, str] = {}
    for key in given:
        if key.lower().startswith("aws:"):
            raise _wrong("session_tags", f" has the key '{key}': keys that begin with aws: are reserved")
        if (other := lowered.setdefault(key.lower(), key)) != key:
            what = f" has the keys '{other}' and '{key}', which STS takes for one: remove one of them"
            raise _wrong("session_tags", what)
    tags = _within_limits("session_tags", given, MOST_OF_SESSION, _OF_STS)
    for key, text in tags.items():
        if not (re.fullmatch(_ALLOWED_BY_STS, key) and re.fullmatch(_ALLOWED_BY_STS, text)):
            what = f": the tag '{key}' may have only letters, digits, spaces and _.:/=+-@ in key and value"
            raise _wrong("session_tags", what)
    return tags


def _within_limits(name: str, given: Json, most: int, longest: tuple[int, int]) -> dict[str, str]:
    if len(given) > most:
        raise _wrong(name, f" has {len(given)} tags: at most {most} are allowed")
    return {key: _value(name, key, value, longest) for key, value in given.items()}


def _value(name: str, key: str, value: object, longest: tuple[int, int]) -> str:
    longest_key, longest_value = longest
    if not key:
        raise _wrong(name, " has an empty key")
    if len(key) > longest_key:
        what = f" has a key of {len(key)} characters, '{key}': at most {longest_key} are allowed"
        raise _wrong(name, what)
    if not isinstance(value, str | int | float):
        raise _wrong(name, f": the value of '{key}' must be a string, a number or a boolean")
    text = value if isinstance(value, str) else encode(value)
    if len(text) > longest_value:
        what = f": the value of '{key}' has {len(text)} characters: at most {longest_value} are allowed"
        raise _wrong(name, what)
    return text


def _wrong(name: str, what: str) -> InvalidCall:
    return not_correct(f"configuration parameter aws.{name}{what}")
