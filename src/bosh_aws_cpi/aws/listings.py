"""Listings for operators' commands, in as few calls as possible."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.sdk.filters import exactly

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import FilterTypeDef

_MOST_VALUES: Final = 200
"""EC2's maximum number of values in one filter (EC2 user guide, "List and filter using the CLI and API")."""
PAGE: Final = 1000
"""EC2's maximum page size for most listings."""


def entries(
    client: Any,  # noqa: ANN401 - the operation is data here
    operation: str,
    key: str,
    *,
    page: int | None = PAGE,
    **asked: Any,  # noqa: ANN401
) -> Iterator[Any]:
    """The entries of a listing.

    Args:
        client: The AWS client.
        operation: The call, by its Python name.
        key: What the entries stand under in the answer.
        page: The page size; None for a listing that has no pages. Without a page size, EC2 may try to return
            everything, and fail if that is too much.
        asked: The call's parameters.
    """
    if page is None:
        yield from getattr(client, operation)(**asked)[key]
        return
    pages = client.get_paginator(operation).paginate(**asked, PaginationConfig={"PageSize": page})
    for each in pages:
        yield from each[key]


def list_by_values(
    client: Any,  # noqa: ANN401 - the operation is data here
    operation: str,
    key: str,
    name: str,
    values: Iterable[str],
    also: Sequence["FilterTypeDef"] = (),
    **more: Any,  # noqa: ANN401
) -> Iterator[Any]:
    """The entries of a listing that have one of some values.

    A filter leaves out what does not exist; an id among a call's own parameters would fail the call.

    Args:
        client: The EC2 client.
        operation: As in `entries`.
        key: As in `entries`.
        name: The filter.
        values: The wanted values.
        also: Other filters.
        more: As in `entries`: other parameters, and the page size.
    """
    wanted = sorted(set(values))
    for start in range(0, len(wanted), _MOST_VALUES):
        part = [exactly(name, *wanted[start : start + _MOST_VALUES])]
        yield from entries(client, operation, key, Filters=[*part, *also], **more)
