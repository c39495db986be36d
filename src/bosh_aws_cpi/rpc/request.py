"""Decodes a request, and checks its envelope in the protocol's order."""

from __future__ import annotations

from typing import Any

from bosh_aws_cpi import jsontext
from bosh_aws_cpi.errors import InvalidCall, MethodNotImplemented
from bosh_aws_cpi.records import Confidential
from bosh_aws_cpi.rpc.methods import METHODS


class Request(Confidential):
    """One call, as the caller sent it."""

    method: str
    arguments: list[Any]
    context: dict[str, Any]
    api_version: int
    """The contract version: 1, 2 or 3."""


def decode(raw: bytes) -> dict[str, Any]:
    """Read the request's JSON.

    Raises:
        InvalidCall: It is not JSON, or not an object.
    """
    try:
        document = jsontext.decode(raw)
    except jsontext.JsonTextError as error:
        raise InvalidCall(f"Request cannot be deserialized, details: {error}") from None
    if not isinstance(document, dict):
        kind = jsontext.type_name(document)
        raise InvalidCall(f"Request cannot be deserialized, details: expected an object, got {kind}")
    return document


def check(document: dict[str, Any]) -> Request:
    """Check a request's envelope, in the order of the protocol's table.

    Raises:
        InvalidCall: A key is missing or has the wrong type.
        MethodNotImplemented: The method is unknown.
    """
    method = _method(document.get("method"))
    arguments = document.get("arguments")
    if not isinstance(arguments, list):
        raise InvalidCall("Arguments must be an Array")
    api_version = _api_version(document)
    context = document.get("context")
    director = context.get("director_uuid") if isinstance(context, dict) else None
    if not isinstance(context, dict) or not isinstance(director, str) or not director:
        raise InvalidCall("Request should include context with director uuid")
    return Request(method, arguments, context, api_version)


def _method(name: object) -> str:
    if not isinstance(name, str):
        shown = "" if name is None else jsontext.encode(name)
        raise InvalidCall(f"Method must be a String, got: '{shown}'")
    if name not in METHODS:
        raise MethodNotImplemented(f"Method is not known, got: '{name}'")
    return name


def _api_version(document: dict[str, Any]) -> int:
    """The contract version, limited to the range from 1 to 3; 1 when it is absent."""
    version = document.get("api_version", 1)
    if not jsontext.is_integer(version):
        raise InvalidCall("CPI api_version requested must be an Integer")
    return max(1, min(version, 3))
