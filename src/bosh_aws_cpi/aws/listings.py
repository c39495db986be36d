"""Paginated listings, mostly for operators' commands, in as few calls as possible."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.sdk.filters import equals

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import FilterTypeDef

_MAX_FILTER_VALUES: Final = 200
"""EC2's maximum number of values in one filter (EC2 user guide, "List and filter using the CLI and API")."""
PAGE: Final = 1000
"""EC2's maximum page size for most listings."""


def entries(
    client: Any,  # noqa: ANN401 - the operation is data here
    operation: str,
    key: str,
    *,
    page: int | None = PAGE,
    **arguments: Any,  # noqa: ANN401
) -> Iterator[Any]:
    """The entries of a listing.

    Args:
        client: The AWS client.
        operation: The client's method, which makes the call.
        key: The key of the list in the response.
        page: The page size; None for an operation without pages. Without a page size, EC2 may try to return
            all entries at once, and fail if there are too many.
        arguments: The call's parameters.
    """
    if page is None:
        yield from getattr(client, operation)(**arguments)[key]
        return
    pages = client.get_paginator(operation).paginate(**arguments, PaginationConfig={"PageSize": page})
    for each in pages:
        yield from each[key]


def list_by_values(
    client: Any,  # noqa: ANN401 - the operation is data here
    operation: str,
    key: str,
    filter_name: str,
    values: Iterable[str],
    also: Sequence["FilterTypeDef"] = (),
    **more: Any,  # noqa: ANN401
) -> Iterator[Any]:
    """The entries of a listing whose filtered attribute has one of the values.

    A filter ignores ids that do not exist; as a parameter of the call, such an id would fail the call.

    Args:
        client: The EC2 client.
        operation: As in `entries`.
        key: As in `entries`.
        filter_name: The name of the filter.
        values: The values to look for.
        also: Other filters.
        more: Other parameters, and the page size, as in `entries`.
    """
    wanted = sorted(set(values))
    for start in range(0, len(wanted), _MAX_FILTER_VALUES):
        part = [equals(filter_name, *wanted[start : start + _MAX_FILTER_VALUES])]
        yield from entries(client, operation, key, Filters=[*part, *also], **more)
