"""Filters of the Describe calls: wildcards, and the backslash that escapes them."""

import re
from functools import cache
from typing import Any

from moto.ec2 import utils
from moto.ec2.models import security_groups
from moto.ec2.responses._base_response import EC2BaseResponse

from testbed.moto_patches.patching import Original, Patches

PATCHES = Patches()

MEANINGS = {"*": ".*", "?": ".?"}


@cache
def expression(pattern: str) -> str:
    r"""A filter's value as a regular expression.

    In EC2, `*` matches zero or more characters, `?` zero or one, and a backslash escapes them and itself
    (EC2 user guide, "List and filter using the CLI and API").
    """
    parts = re.findall(r"\\(.)|(.)", pattern, re.DOTALL)
    return (
        "(?s:"
        + "".join(re.escape(one) or MEANINGS.get(other, re.escape(other)) for one, other in parts)
        + r")\Z"
    )


class Wanted(list[str]):
    """The values of a filter, as a list that contains all that they match."""

    def __contains__(self, value: object) -> bool:
        return any(re.match(expression(pattern), str(value)) for pattern in self)


@PATCHES.around(EC2BaseResponse, "_filters_from_querystring")
def read(original: Original, response: Any) -> Any:
    """EC2's wildcards work in each filter; moto compared the values of many literally."""
    return {name: Wanted(values) for name, values in original(response).items()}


@PATCHES.around(utils, "is_filter_matching")
def any_value(original: Original, resource: Any, name: str, wanted: Any) -> Any:
    """EC2's filters match a resource with any of the values; moto's needed all of them, or no others.

    moto's wildcards were those of file names, without an escape.
    """
    value = resource.get_filter_value(name)
    values = value if isinstance(value, list) else [value]
    if isinstance(wanted, Wanted) and all(isinstance(each, str) for each in values):
        return any(each in wanted for each in values)
    return original(resource, name, wanted)


@PATCHES.around(utils, "simple_aws_filter_to_re")
def of_tags(original: Original, pattern: str) -> str:
    """The same for tags: moto had no escape for a backslash, and brackets were a set of characters."""
    del original
    return expression(pattern)


@PATCHES.around(security_groups, "aws_api_matches")
def of_groups(original: Original, pattern: str, value: object) -> bool:
    """The same for security groups, where moto took all other characters for a regular expression."""
    del original
    return value in Wanted([pattern])
