"""The filters of EC2's Describe calls.

EC2 reads ``*`` and ``?`` in a filter's values as wildcards, unless a backslash precedes them (EC2 user guide,
"List and filter using the CLI and API"). The values come from requests, so this module escapes them. Callers
compare the resources that EC2 returns with the values before they use or delete a resource.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import FilterTypeDef


def equals(name: str, *values: str) -> "FilterTypeDef":
    """A filter for any of these values."""
    return {"Name": name, "Values": list(map(_escape, values))}


def starts_with(name: str, text: str) -> "FilterTypeDef":
    """A filter for values that begin with a text."""
    return {"Name": name, "Values": [f"{_escape(text)}*"]}


def by_tags(tags: Mapping[str, str]) -> "list[FilterTypeDef]":
    """Filters for resources with all of these tags."""
    return [equals(f"tag:{key}", tags[key]) for key in sorted(tags)]


def _escape(value: str) -> str:
    return re.sub(r"[*?\\]", r"\\\g<0>", value)
