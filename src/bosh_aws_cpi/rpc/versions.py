"""The differences between contract versions: which arguments a method takes, and its result's shape."""

from __future__ import annotations

from bosh_aws_cpi.errors import not_correct
from bosh_aws_cpi.rpc.arguments import checked
from bosh_aws_cpi.rpc.methods import METHODS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def bind(method: str, arguments: list[Any], api_version: int) -> list[Any]:
    """Check a call's arguments and fill in those that were omitted.

    Returns:
        One value per argument of the method.

    Raises:
        InvalidCall: There are too few or too many arguments, or one is of the wrong kind; the message
            names it.
    """
    row = METHODS[method]
    expected, optional = row.arguments, row.optional
    if api_version < row.last_since:
        expected, optional = expected[:-1], optional - 1
    most = len(expected)
    least = most - optional
    if not least <= len(arguments) <= most:
        numbers = f"{least}" if least == most else f"{least} to {most}"
        raise not_correct(f"{method} takes {numbers} arguments, got {len(arguments)}")
    missing = [None] * (most - len(arguments))
    given = zip(expected, [*arguments, *missing], strict=True)
    return [checked(method, name, kind, value) for (name, kind), value in given]


def shape(method: str, api_version: int, result: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Give a verb's result the shape of a contract version."""
    row = METHODS[method]
    convert = row.result_in_v1 if api_version == 1 and row.result_in_v1 else row.result
    return convert(result) if convert else result
