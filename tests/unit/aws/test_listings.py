"""Listings by more values than one filter may have."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws.listings import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class KeyPairs:
    """EC2 with every key pair that it is asked for, in pages of 7.

    Attributes:
        asked: The number of values of each call's filter.
    """

    def __init__(self) -> None:
        """Begin without calls."""
        self.asked: list[int] = []

    def describe_key_pairs(self, *, Filters: Sequence[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        """List all key pairs of the filter."""
        (by_name,) = Filters
        assert by_name["Name"] == "key-name"
        self.asked.append(len(by_name["Values"]))
        return {"KeyPairs": [{"KeyName": name} for name in by_name["Values"]]}

    def get_paginator(self, operation: str) -> KeyPairs:
        """Return what asks for pages."""
        assert operation == "describe_key_pairs"
        return self

    def paginate(self, **parameters: Any) -> Iterator[dict[str, Any]]:
        """List the key pairs of the filter by pages."""
        assert parameters.pop("PaginationConfig") == {"PageSize": 1000}
        found = self.describe_key_pairs(**parameters)["KeyPairs"]
        for start in range(0, len(found), 7):
            yield {"KeyPairs": found[start : start + 7]}


@pytest.mark.parametrize("is_paged", [True, False], ids=["paged", "unpaged"])
@pytest.mark.parametrize(
    ("count", "asked"),
    [(0, []), (1, [1]), (199, [199]), (200, [200]), (201, [200, 1]), (401, [200, 200, 1])],
)
def test_every_value(count: int, asked: list[int], *, is_paged: bool) -> None:
    """Every value is asked for once, 200 in a call at most, and every entry is listed."""
    ec2 = KeyPairs()
    names = [f"key-{number:03}" for number in range(count)]
    twice = chain(reversed(names), names)
    page = 1000 if is_paged else None
    found = listed(ec2, "describe_key_pairs", "KeyPairs", "key-name", twice, page=page)
    assert [entry["KeyName"] for entry in found] == names
    assert ec2.asked == asked
