"""Checks of ``aws.tags``, for everything that the CPI creates, and of ``aws.session_tags``."""

import re
from typing import Final

from bosh_aws_cpi.errors import InvalidCall, not_correct
from bosh_aws_cpi.jsontext import Json, encode
from bosh_aws_cpi.tag_names import DISK_METADATA, MAX_KEY, MAX_VALUE, VM_METADATA, fold

MAX_CONFIGURED: Final = 30
"""Of EC2's 50 tags on a resource, 20 remain for the Director, the manifest and the CPI."""
MAX_SESSION_TAGS: Final = 50
"""The maximum number of a session's tags (STS's API model, tagListType)."""
_STS_LENGTHS: Final = (128, 256)
"""The maximum lengths of key and value for a session's tag (API model of STS, tagKeyType, tagValueType)."""
_STS_PATTERN: Final = r"[\w .:/=+@-]*"
"""Letters, digits, spaces and these characters (API model of STS, tagKeyType)."""
_RESERVED_PREFIXES: Final = ("aws:", "bosh_")


def of_resources(given: Json) -> dict[str, str]:
    """Return the tags of ``aws.tags`` with their values as strings.

    Args:
        given: The values by key; a value is a string, a number or a boolean.

    Raises:
        InvalidCall: EC2 would refuse a tag, or the CPI or the Director uses the key of a tag.
    """
    for key in given:
        if fold(key).startswith(_RESERVED_PREFIXES):
            reserved = " or ".join(_RESERVED_PREFIXES)
            raise _wrong("tags", f" has the key '{key}': keys that begin with {reserved} are reserved")
        if key in VM_METADATA | DISK_METADATA:
            raise _wrong("tags", f" has the key '{key}', which the Director sets itself: use another key")
    return _within_limits("tags", given, MAX_CONFIGURED, (MAX_KEY, MAX_VALUE))


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
    tags = _within_limits("session_tags", given, MAX_SESSION_TAGS, _STS_LENGTHS)
    for key, text in tags.items():
        if not (re.fullmatch(_STS_PATTERN, key) and re.fullmatch(_STS_PATTERN, text)):
            what = f": the tag '{key}' may have only letters, digits, spaces and _.:/=+-@ in key and value"
            raise _wrong("session_tags", what)
    return tags


def _within_limits(name: str, given: Json, max_tags: int, max_lengths: tuple[int, int]) -> dict[str, str]:
    if len(given) > max_tags:
        raise _wrong(name, f" has {len(given)} tags: at most {max_tags} are allowed")
    return {key: _value(name, key, value, max_lengths) for key, value in given.items()}


def _value(name: str, key: str, value: object, max_lengths: tuple[int, int]) -> str:
    max_key, max_value = max_lengths
    if not key:
        raise _wrong(name, " has an empty key")
    if len(key) > max_key:
        what = f" has a key of {len(key)} characters, '{key}': at most {max_key} are allowed"
        raise _wrong(name, what)
    if not isinstance(value, str | int | float):
        raise _wrong(name, f": the value of '{key}' must be a string, a number or a boolean")
    text = value if isinstance(value, str) else encode(value)
    if len(text) > max_value:
        what = f": the value of '{key}' has {len(text)} characters: at most {max_value} are allowed"
        raise _wrong(name, what)
    return text


def _wrong(name: str, what: str) -> InvalidCall:
    return not_correct(f"configuration parameter aws.{name}{what}")
