"""Bytes to a request, with every check of the envelope in its order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bosh_aws_cpi.errors import BoshError, InvalidCall, MethodNotImplemented
from bosh_aws_cpi.rpc import request
from bosh_aws_cpi.rpc.request import Request

CONTEXT = {"director_uuid": "d"}
GOOD: dict[str, Any] = {"method": "has_vm", "arguments": ["i-1"], "context": CONTEXT, "api_version": 2}
ABSENT = object()
NO_INTEGER = "CPI api_version requested must be an Integer"
NO_CONTEXT = "Request should include context with director uuid"


def envelope(**given: Any) -> dict[str, Any]:
    """Write a request: a good one, but for what is given."""
    return {key: value for key, value in {**GOOD, **given}.items() if value is not ABSENT}


def test_good_request() -> None:
    """A good request is read as it came."""
    document = request.decode(json.dumps(GOOD).encode())
    assert request.check(document) == Request("has_vm", ["i-1"], CONTEXT, 2)


@pytest.mark.parametrize(
    ("raw", "details"),
    [
        (b"", "Expecting value: line 1 column 1 (char 0)"),
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"[]", "expected an object, got Array"),
        (b'"x"', "expected an object, got String"),
        (b"null", "expected an object, got null"),
        (b"1", "expected an object, got Integer"),
        (b"true", "expected an object, got Boolean"),
    ],
)
def test_no_request(raw: bytes, details: str) -> None:
    """What is no JSON object can't be deserialized."""
    with pytest.raises(InvalidCall) as caught:
        request.decode(raw)
    assert caught.value.message == f"Request cannot be deserialized, details: {details}"


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"method": ABSENT}, InvalidCall, "Method must be a String, got: ''"),
        ({"method": None}, InvalidCall, "Method must be a String, got: ''"),
        ({"method": 5}, InvalidCall, "Method must be a String, got: '5'"),
        ({"method": ["info"]}, InvalidCall, """Method must be a String, got: '["info"]'"""),
        ({"method": "nope"}, MethodNotImplemented, "Method is not known, got: 'nope'"),
        ({"method": ""}, MethodNotImplemented, "Method is not known, got: ''"),
        ({"method": "__class__"}, MethodNotImplemented, "Method is not known, got: '__class__'"),
        ({"arguments": ABSENT}, InvalidCall, "Arguments must be an Array"),
        ({"arguments": {}}, InvalidCall, "Arguments must be an Array"),
        ({"api_version": None}, InvalidCall, NO_INTEGER),
        ({"api_version": "2"}, InvalidCall, NO_INTEGER),
        ({"api_version": 2.0}, InvalidCall, NO_INTEGER),
        ({"api_version": True}, InvalidCall, NO_INTEGER),
        ({"context": ABSENT}, InvalidCall, NO_CONTEXT),
        ({"context": []}, InvalidCall, NO_CONTEXT),
        ({"context": {}}, InvalidCall, NO_CONTEXT),
        ({"context": {"director_uuid": 5}}, InvalidCall, NO_CONTEXT),
    ],
)
def test_wrong_envelope(given: dict[str, Any], kind: type[BoshError], message: str) -> None:
    """Whatever is wrong with the envelope is said in the callers' words."""
    with pytest.raises(kind) as caught:
        request.check(envelope(**given))
    assert type(caught.value) is kind
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"method": 1, "arguments": 1, "api_version": "x", "context": 1},
            "Method must be a String, got: '1'",
        ),
        ({"method": "nope", "arguments": 1}, "Method is not known, got: 'nope'"),
        ({"arguments": 1, "api_version": "x", "context": 1}, "Arguments must be an Array"),
        ({"api_version": "x", "context": 1}, NO_INTEGER),
    ],
)
def test_order(given: dict[str, Any], message: str) -> None:
    """Of several things that are wrong the first in the protocol's order is said."""
    with pytest.raises(BoshError) as caught:
        request.check(envelope(**given))
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("version", "contract"), [(ABSENT, 1), (-5, 1), (0, 1), (1, 1), (2, 2), (3, 3), (4, 3), (99, 3)]
)
def test_contract(version: object, contract: int) -> None:
    """The contract is 1 when it is absent or lower, and 3 when it is higher."""
    assert request.check(envelope(api_version=version)).api_version == contract
