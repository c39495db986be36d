"""JSON: a strict reader, and a writer of portable JSON."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, TypeGuard

Json = dict[str, Any]
"""A JSON object."""

_INFINITE = float("inf")
MAX_DEPTH = 100
"""The maximum depth of a document: the program must be able to write every document that it reads."""

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_OPENING_BRACKET = re.compile(r"[\[{]")
_TYPE_NAMES = {dict: "Hash", list: "Array", str: "String", bool: "Boolean", int: "Integer", float: "Float"}


class JsonTextError(ValueError):
    """The text is not JSON. The message never quotes the text, which may contain secrets."""


def decode(raw: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Read one JSON document.

    Unlike Python's own reader, refuse NaN, infinite numbers, duplicate keys and lone surrogates, which would
    not reach AWS or the agent unchanged.

    Args:
        raw: The document in UTF-8.

    Raises:
        JsonTextError: The document is not JSON, has one of these values, or has more than `MAX_DEPTH`
            levels.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonTextError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    try:
        document = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_refuse_duplicates
        )
    except RecursionError:
        raise _depth_error() from None
    except ValueError as error:
        raise JsonTextError(str(error)) from None
    if len(_OPENING_BRACKET.findall(text)) > MAX_DEPTH:
        _check_depth(document)
    if _SURROGATE_ESCAPE.search(text):
        _check_surrogates(document)
    return document


def encode(value: object, *, ascii_only: bool = False) -> str:
    """Return a value as JSON on one line, without spaces.

    Args:
        ascii_only: Whether to escape all non-ASCII characters, so that the text suits every encoding.
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only, allow_nan=False)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is a JSON integer; unlike Python's, JSON's booleans are not integers."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_true(value: object) -> bool:
    """Whether a value is true in Ruby, as manifests expect: only null and false are not."""
    return value is not None and value is not False


def type_name(value: object) -> str:
    """The JSON type of a value, in BOSH's terms: Hash, Array, String and so on."""
    return "null" if value is None else _TYPE_NAMES.get(type(value), type(value).__name__)


def _refuse_constant(name: str) -> NoReturn:
    raise JsonTextError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if abs(number) == _INFINITE:
        raise JsonTextError("a number is too large")
    return number


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise JsonTextError("an object has the same key twice")
    return document


def _check_depth(document: object) -> None:
    level = _containers([document])
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return
    raise _depth_error()


def _containers(value: Any) -> list[Any]:  # noqa: ANN401 - any JSON value
    inner = value.values() if isinstance(value, dict) else value
    return [entry for entry in inner if isinstance(entry, dict | list)]


def _depth_error() -> JsonTextError:
    return JsonTextError(f"nested deeper than {MAX_DEPTH} levels")


def _check_surrogates(document: object) -> None:
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise JsonTextError("a string contains half a surrogate pair") from None
