"""Typed values out of the configuration; one that has the wrong type is named."""

import re
from urllib.parse import urlsplit

from bosh_aws_cpi.errors import InvalidCall, not_correct
from bosh_aws_cpi.jsontext import Json, type_name

_HOST = re.compile(r"[A-Za-z0-9._:%-]+")


def sub_object(parent: Json, key: str, path: str | None = None) -> Json:
    """The object below a key; an absent or null one is empty.

    Raises:
        InvalidCall: It is no object.
    """
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong_type(path or key, "an object", value)
    return value


def string(parent: Json, key: str, path: str = "aws") -> str | None:
    """A string, or None for one that is absent, null or empty.

    Raises:
        InvalidCall: It is no string.
    """
    value = parent.get(key)
    if value is not None and not isinstance(value, str):
        raise wrong_type(f"{path}:{key}", "a string", value)
    return value or None


def strings(parent: Json, key: str, path: str = "aws") -> list[str]:
    """A list of strings; an absent or null one is empty.

    Raises:
        InvalidCall: It is something else.
    """
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise wrong_type(f"{path}:{key}", "a list of strings", value)
    return value


def url(parent: Json, key: str, path: str, scheme: str) -> str | None:
    """An endpoint as a URL: the scheme is put before one that has none; None when there is none.

    Raises:
        InvalidCall: It is no string, or has no host, or a port that is none.
    """
    endpoint = string(parent, key, path)
    if endpoint is None:
        return None
    full = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    if not (full.isprintable() and _is_url(full)):
        raise not_correct(f"configuration parameter {path}:{key} must be a host, host:port or http(s) URL")
    return full


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        has_port = parts.port != 0
    except ValueError:
        return False
    return has_port and parts.scheme in {"http", "https"} and bool(_HOST.fullmatch(parts.hostname or ""))


def wrong_type(path: str, expected: str, value: object) -> InvalidCall:
    """The error for a value that is not what it should be; the value itself may be a secret."""
    return not_correct(f"configuration parameter {path} must be {expected}, got {type_name(value)}")
