"""The checks of a request's envelope."""

from typing import Any

import pytest

from bosh_aws_cpi.errors import BoshError
from bosh_aws_cpi.rpc.request import check

GOOD: dict[str, Any] = {"method": "info", "arguments": [], "context": {"director_uuid": "d"}}
NO_CONTEXT = "Request should include context with director uuid"
NO_INTEGER = "CPI api_version requested must be an Integer"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("method", None, "Method must be a String, got: ''"),
        ("method", ["info"], "Method must be a String, got: '[\"info\"]'"),
        ("method", "INFO", "Method is not known, got: 'INFO'"),
        ("method", "__class__", "Method is not known, got: '__class__'"),
        ("arguments", None, "Arguments must be an Array"),
        ("arguments", {}, "Arguments must be an Array"),
        ("api_version", None, NO_INTEGER),
        ("api_version", True, NO_INTEGER),
        ("api_version", 2.0, NO_INTEGER),
        ("context", None, NO_CONTEXT),
        ("context", [], NO_CONTEXT),
        ("context", {"director_uuid": 5}, NO_CONTEXT),
    ],
)
def test_refused(key: str, value: Any, message: str) -> None:
    """A key that is absent or of another kind is refused."""
    with pytest.raises(BoshError) as refused:
        check({**GOOD, key: value})
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("given", "contract"),
    [
        ({}, 1),
        ({"api_version": -1}, 1),
        ({"api_version": 2}, 2),
        ({"api_version": 3}, 3),
        ({"api_version": 10**30}, 3),
    ],
)
def test_contract(given: dict[str, Any], contract: int) -> None:
    """An api_version selects the contract; absent or low is V1, high is V3."""
    assert check({**GOOD, **given}).api_version == contract
