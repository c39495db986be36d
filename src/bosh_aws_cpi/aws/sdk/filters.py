"""The filters of EC2's Describe calls.

EC2 reads ``*`` and ``?`` in their values as wildcards, unless a backslash precedes them (EC2 user guide,
"List and filter using the CLI and API"). The values come from requests, so they are escaped here. What EC2
returns is compared all the same before it is used or deleted.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import FilterTypeDef


def exactly(name: str, *values: str) -> "FilterTypeDef":
    """The filter for one of these values."""
    return {"Name": name, "Values": list(map(_escaped, values))}


def beginning(name: str, text: str) -> "FilterTypeDef":
    """The filter for values that begin with a text."""
    return {"Name": name, "Values": [f"{_escaped(text)}*"]}


def by_tags(tags: Mapping[str, str]) -> "list[FilterTypeDef]":
    """The filters for resources with all of these tags."""
    return [exactly(f"tag:{key}", tags[key]) for key in sorted(tags)]


def _escaped(value: str) -> str:
    return re.sub(r"[*?\\]", r"\\\g<0>", value)
