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
        message = f"Request cannot be deserialized, details: {error}"
        raise InvalidCall(message) from None
    if not isinstance(document, dict):
        kind = jsontext.type_name(document)
        message = f"Request cannot be deserialized, details: expected an object, got {kind}"
        raise InvalidCall(message)
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
        message = "Arguments must be an Array"
        raise InvalidCall(message)
    api_version = _api_version(document)
    context = document.get("context")
    if not isinstance(context, dict) or not isinstance(context.get("director_uuid"), str):
        message = "Request should include context with director uuid"
        raise InvalidCall(message)
    return Request(method, arguments, context, api_version)


def _method(name: object) -> str:
    if not isinstance(name, str):
        shown = "" if name is None else jsontext.encode(name)
        message = f"Method must be a String, got: '{shown}'"
        raise InvalidCall(message)
    if name not in METHODS:
        message = f"Method is not known, got: '{name}'"
        raise MethodNotImplemented(message)
    return name


def _api_version(document: dict[str, Any]) -> int:
    """The contract version, limited to the range from 1 to 3; 1 when it is absent."""
    version = document.get("api_version", 1)
    if not jsontext.is_integer(version):
        message = "CPI api_version requested must be an Integer"
        raise InvalidCall(message)
    return max(1, min(version, 3))
