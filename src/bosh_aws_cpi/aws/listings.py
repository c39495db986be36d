"""Listings of EC2 that a filter limits to some values, in as few calls as possible."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

_MOST_VALUES: Final = 200
"""EC2's maximum number of values in one filter (EC2 user guide, "List and filter using the CLI and API")."""
PAGE: Final = 1000
"""EC2's maximum page size for most listings."""


def listed(
    client: Any,  # noqa: ANN401 - the operation is data here
    operation: str,
    key: str,
    name: str,
    values: Iterable[str],
    **more: Any,  # noqa: ANN401
) -> Iterator[Any]:
    """The entries of a listing that have one of some values.

    A filter leaves out what does not exist; an id among a call's own parameters would fail the call.

    Args:
        operation: The call, by its Python name.
        key: What the entries stand under in the answer.
        name: The filter.
        values: The wanted values.
    """
    asked = {"PaginationConfig": {"PageSize": PAGE}, **more}
    for filters in _filters(name, values):
        for page in client.get_paginator(operation).paginate(Filters=filters, **asked):
            yield from page[key]


def unpaged(call: Any, key: str, name: str, values: Iterable[str]) -> Iterator[Any]:  # noqa: ANN401 - any call
    """The same for a listing that EC2 does not divide into pages.

    Args:
        call: The client's method.
    """
    for filters in _filters(name, values):
        yield from call(Filters=filters)[key]


def _filters(name: str, values: Iterable[str]) -> Iterator[list[dict[str, Any]]]:
    wanted = sorted(set(values))
    for start in range(0, len(wanted), _MOST_VALUES):
        yield [{"Name": name, "Values": wanted[start : start + _MOST_VALUES]}]
