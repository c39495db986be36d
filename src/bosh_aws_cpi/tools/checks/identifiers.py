"""Ids, ARNs, zones and instance types that can't be meant where they stand: another kind's. Pure."""

import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Final

from bosh_aws_cpi.plan import type_table
from bosh_aws_cpi.plan.nics import is_group_id
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

_KINDS: Final = {
    "acl": "a network ACL",
    "ami": "an AMI",
    "cr": "a capacity reservation",
    "eni": "a network interface",
    "h": "a Dedicated Host",
    "i": "an instance",
    "igw": "an internet gateway",
    "key": "a key pair",
    "lt": "a launch template",
    "pg": "a placement group",
    "rtb": "a route table",
    "sg": "a security group",
    "snap": "a snapshot",
    "subnet": "a subnet",
    "vol": "a volume",
    "vpc": "a VPC",
}
"""Beginnings of EC2's ids, and what has them."""
_ID: Final = re.compile(rf"({'|'.join(_KINDS)})-(?:[0-9a-f]{{8}}(?<!-20\d{{6}})|[0-9a-f]{{17}})")
"""An id; what may be a date, as in key-20240115, is left out."""
_IDS: Final = {
    "subnet": "subnet",
    "subnet_fallbacks": "subnet",
    "security_groups": "sg",
    "vpc_id": "vpc",
    "route_table": "rtb",
    "network_acl": "acl",
    "capacity_reservation/id": "cr",
    "dedicated_host/id": "h",
    "launch_template/id": "lt",
}
"""Properties that hold ids, and the beginnings of these."""
_NAMES: Final = {
    "instance_type": "an instance type",
    "instance_type_fallbacks": "an instance type",
    "key_name": "a key pair",
    "launch_template/name": "a launch template",
    "placement_group": "a placement group",
    "iam_instance_profile": "an instance profile",
    "elbs": "a classic load balancer; those of other load balancers are in lb_target_groups",
    "availability_zone": "a zone",
}
"""Properties that hold names."""
_SUBNET: Final = re.compile(r"subnet-(?:[0-9a-f]{1,8}|[0-9a-f]{17})")
_KMS: Final = re.compile(r"arn:[\w-]+:kms:([\w-]+):\d*:(?:key|alias)/.+")
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9-]*\.[a-z0-9-]+")
_REGION: Final = re.compile(r"[a-z]+(-[a-z]+)+-\d+")
_ANY_ZONE: Final = re.compile(rf"{_REGION.pattern}([a-z]|(-[a-z0-9]+)+)")
"""The name of a zone, also of a local or wavelength zone: us-east-1-bos-1a, us-east-1-wl1-bos-wlz-1."""


def findings(node: Node, around: Node, key: str, region: str, *, is_offline: bool) -> Iterator[Finding]:
    """Look at a text that names something in AWS.

    Args:
        node: The text.
        around: The hash of cloud properties.
        key: Its key there.
        region: The configuration's.
        is_offline: Whether AWS is not asked which instance types there are.
    """
    text, path = str(node.value), f"{around.route[-1] if around.route else ''}/{key}"
    kind, noun = _IDS.get(path) or _IDS.get(key), _NAMES.get(path) or _NAMES.get(key)
    found = _ID.fullmatch(text)
    if key == "kms_key_arn":
        yield from of_kms_key(text, region, node.place)
    elif (kind or noun) and (text.startswith("arn:") or (found is not None and found[1] != kind)):
        what = f"'{text}' is {f'the id of {_KINDS[found[1]]}' if found is not None else 'an ARN'}"
        wanted = f"the id of {_KINDS[kind]}, {kind}-…" if kind else f"the name of {noun}"
        yield _wrong(node, what, f"Give {wanted}")
    elif kind == "subnet" and not _SUBNET.fullmatch(text):
        yield _wrong(node, f"'{text}' is not the id of a subnet", "Give the id, subnet-…")
    elif kind == "sg" and text.startswith("sg-") and not is_group_id(text):
        what = f"'{text}' is not the id of a security group, and no name begins with sg-"
        yield _wrong(node, what, "Give the id, sg-…, or the name")
    elif key == "elbs" and "." in text:
        yield _wrong(node, f"'{text}' is a DNS name", f"Give the name of {noun}")
    elif key == "availability_zone" and is_no_zone(text):
        yield _wrong(node, f"'{text}' is not a zone's name", f"Give a zone's name, such as {region}a")
    elif key == "availability_zone" and not text.startswith(region):
        what = f"zone '{text}' is not in {region}, the configuration's region"
        yield _wrong(node, what, "Correct the zone, or aws.region", Severity.WARNING)
    elif is_offline and key.startswith("instance_type") and not _is_type(text):
        remedy = near_type(text) or "Use a type of EC2, such as m5.large"
        what = f"'{text}' is not an instance type that is known"
        yield _wrong(node, what, remedy, Severity.WARNING)


def of_kms_key(text: str, region: str, place: Place) -> Iterator[Finding]:
    """An ARN that is not that of a KMS key in the region; EBS takes other names of keys, too."""
    found = _KMS.fullmatch(text)
    if text.startswith("arn:") and (found is None or found[1] != region):
        what = f"'{text}' is not the ARN of a KMS key in {region}"
        yield Finding(Severity.ERROR, what, f"Use a key of {region}", place, "AWS")


def is_no_zone(text: str) -> bool:
    """Whether a text is a region, a zone's id, or no zone's name (EC2 user guide, "Regions and zones")."""
    return not _ANY_ZONE.fullmatch(text) or bool(_REGION.fullmatch(text))


def _is_type(name: str) -> bool:
    """Whether a text has the form of a type, and a size that some type has; AWS may have newer families."""
    return _TYPE.fullmatch(name) is not None and name.partition(".")[2] in _sizes()


@cache
def near_type(name: str) -> str:
    """The remedy for an unknown instance type: the nearest one; empty if none is near."""
    return near(name, type_table.names())


@cache
def _sizes() -> Collection[str]:
    return frozenset(name.partition(".")[2] for name in type_table.names())


def near(name: str, known: Collection[str]) -> str:
    """The remedy for an unknown name: the nearest of the known ones; empty if none is near."""
    lower = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), lower, n=1, cutoff=0.75)
    return f"Did you mean {lower[found[0]]}?" if found else ""


def name_in_arn(text: str) -> str:
    """The name at the end of an ARN; empty for another text (IAM user guide, "IAM ARNs")."""
    return text.rpartition("/")[2] if text.startswith("arn:") else ""


def _wrong(node: Node, what: str, remedy: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(severity, what, remedy, node.place, "AWS")
