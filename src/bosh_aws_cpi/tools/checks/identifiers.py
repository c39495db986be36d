"""Ids, ARNs, zones and instance types that can't be meant where they stand: another kind's. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Final

from bosh_aws_cpi.plan import type_table
from bosh_aws_cpi.plan.nics import is_group_id
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.bosh.rules import hashes
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.naming import texts
from bosh_aws_cpi.tools.findings import Finding, Severity, as_warning

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
_Kinds = Mapping[tuple[str, ...], str]
_IN_SUBNETS: Final[_Kinds] = {
    ("subnet",): "subnet",
    ("subnet_fallbacks",): "subnet",
    ("security_groups",): "sg",
    ("vpc_id",): "vpc",
    ("route_table",): "rtb",
    ("network_acl",): "acl",
}
_IN_VMS: Final[_Kinds] = {
    ("security_groups",): "sg",
    ("capacity_reservation", "id"): "cr",
    ("dedicated_host", "id"): "h",
    ("launch_template", "id"): "lt",
}
"""Properties that hold ids, and the beginnings of these."""
_BY_NAME: Final = {
    ("instance_type",): "an instance type",
    ("instance_type_fallbacks",): "an instance type",
    ("key_name",): "a key pair",
    ("launch_template", "name"): "a launch template",
    ("placement_group",): "a placement group",
    ("iam_instance_profile",): "an instance profile",
    ("elbs",): "a classic load balancer; those of other load balancers are in lb_target_groups",
    ("availability_zone",): "a zone",
}
"""Properties that hold names."""
_BAD_SUBNET: Final = re.compile(r"(?!subnet-(?:[0-9a-f]{1,8}|[0-9a-f]{17})$).*", re.DOTALL)
_KMS: Final = re.compile(r"arn:[\w-]+:kms:([\w-]+):\d*:(?:key|alias)/.+")
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9-]*\.[a-z0-9-]+")
_REGION: Final = re.compile(r"[a-z]+(-[a-z]+)+-\d+")
_ZONE: Final = re.compile(rf"({_REGION.pattern})[a-z]")
_ANY_ZONE: Final = re.compile(rf"{_REGION.pattern}([a-z]|(-[a-z0-9]+)+)")
"""The name of a zone, also of a local or wavelength zone: us-east-1-bos-1a, us-east-1-wl1-bos-wlz-1."""
_ZONE_ID: Final = re.compile(r"[a-z]+\d-az\d+")


def findings(config: CloudConfig, region: str, *, is_offline: bool) -> Iterator[Finding]:
    """Look at what names something in AWS.

    Args:
        config: The cloud config.
        region: The configuration's.
        is_offline: Whether AWS is not asked which instance types there are.
    """
    for entry in config.of_vms:
        section = entry.at("cloud_properties")
        if entry not in config.azs_of_others:
            yield from _of_vm(section, region, is_offline=is_offline)
    for network in config.lists["networks"]:
        for entry in [network, *hashes(network.get("subnets"))]:
            if not config.is_of_others(entry):
                yield from _of_subnet(entry.get("cloud_properties"))
    for entry in config.lists["disk_types"]:
        yield from _key(entry.get("cloud_properties"), region)


def _of_subnet(properties: Node | None) -> Iterator[Finding]:
    yield from _ids(properties, _IN_SUBNETS)
    yield from _groups(properties)
    for key in ("subnet", "subnet_fallbacks"):
        for node in _texts(properties, (key,)):
            if (
                _BAD_SUBNET.fullmatch(node.value)
                and not _ID.fullmatch(node.value)
                and not name_in_arn(node.value)
            ):
                yield _wrong(node, f"'{node.value}' is not the id of a subnet", "Use the id, subnet-…")


def _groups(properties: Node | None) -> Iterator[Finding]:
    """What is neither id nor name (EC2 API reference, CreateSecurityGroup, GroupName)."""
    for node in _texts(properties, ("security_groups",)):
        if node.value.startswith("sg-") and not is_group_id(node.value):
            what = f"'{node.value}' is not the id of a security group, and no name begins with sg-"
            yield _wrong(node, what, "Use the id, sg-…, or the name")


def _key(disk: Node | None, region: str) -> Iterator[Finding]:
    for node in _texts(disk, ("kms_key_arn",)):
        if what := wrong_key(node.value, region):
            yield _wrong(node, what, f"Use a key of {region}")


def wrong_key(text: str, region: str) -> str:
    """Why EBS can't encrypt with what is named as a KMS key; empty if it perhaps can."""
    found = _KMS.fullmatch(text)
    if not text.startswith("arn:") or (found is not None and found[1] == region):
        return ""
    is_elsewhere = found is not None
    return f"'{text}' is " + (
        f"a key of another region than {region}" if is_elsewhere else "not a KMS key's ARN"
    )


def _of_vm(properties: Node, region: str, *, is_offline: bool) -> Iterator[Finding]:
    yield from _ids(properties, _IN_VMS)
    yield from _groups(properties)
    for disk in ("root_disk", "ephemeral_disk"):
        yield from _key(properties.get(disk), region)
    for route, what in _BY_NAME.items():
        for node in _texts(properties, route):
            if found := _ID.fullmatch(node.value):
                yield _wrong(
                    node, f"'{node.value}' is the id of {_KINDS[found[1]]}", f"Give the name of {what}"
                )
            elif node.value.startswith("arn:"):
                is_own = ":instance-profile/" in node.value
                remedy = f"Use {name_in_arn(node.value)}" if is_own else f"Give the name of {what}"
                yield _wrong(node, f"'{node.value}' is an ARN, but AWS gets the name", remedy)
            elif route == ("availability_zone",):
                yield from _zone(node, region)
            elif route == ("elbs",) and "." in node.value:
                yield _wrong(node, f"'{node.value}' is a DNS name", f"Give the name of {what}")
            elif is_offline and route[0].startswith("instance_type"):
                yield from _type(node)


def _ids(properties: Node | None, kinds: _Kinds) -> Iterator[Finding]:
    for route, kind in kinds.items() if properties is not None else ():
        for node in _texts(properties, route):
            found = _ID.fullmatch(node.value)
            if name := name_in_arn(node.value):
                yield _wrong(node, f"'{node.value}' is an ARN, but EC2 gets the id", f"Use {name}")
            elif found is not None and found[1] != kind:
                what = f"'{node.value}' is the id of {_KINDS[found[1]]}, not of {_KINDS[kind]}"
                yield _wrong(node, what, f"Use the id of {_KINDS[kind]}, {kind}-…")


def _texts(properties: Node | None, route: tuple[str, ...]) -> Iterator[Node]:
    node = properties.get(*route) if properties is not None else None
    yield from texts(node) if node is not None else ()


def _zone(node: Node, region: str) -> Iterator[Finding]:
    """A region, or a zone of another region; zones of other forms, such as local ones, are not looked at."""
    if is_no_zone(node.value):
        is_region = _REGION.fullmatch(node.value) is not None
        kind = "the id of a zone, and not its name" if _ZONE_ID.fullmatch(node.value) else "not a zone's name"
        kind = "a region, and not a zone" if is_region else kind
        one = node.value if is_region else region
        lower = node.value.lower()
        remedy = f"Use {lower}" if _ANY_ZONE.fullmatch(lower) else f"Use a zone's name, such as {one}a"
        yield _wrong(node, f"'{node.value}' is {kind}", remedy)
    elif (found := _ZONE.fullmatch(node.value)) is not None and found[1] != region:
        what = f"zone '{node.value}' is not in {region}, the configuration's region"
        yield as_warning(_wrong(node, what, "Correct the zone, or aws.region"))


def is_no_zone(text: str) -> bool:
    """Whether a text is a region, a zone's id, or no zone's name (EC2 user guide, "Regions and zones")."""
    return not _ANY_ZONE.fullmatch(text) or bool(_REGION.fullmatch(text))


def _type(node: Node) -> Iterator[Finding]:
    """A text without the form of a type, or of a size that no type has; AWS may have newer families."""
    name = str(node.value)
    if _TYPE.fullmatch(name) is None or name.partition(".")[2] not in _sizes():
        remedy = near_type(name) or "Use a type of EC2, such as m5.large"
        yield as_warning(_wrong(node, f"'{name}' is not an instance type that is known", remedy))


@cache
def near_type(name: str) -> str:
    """The remedy for an unknown instance type: the nearest one; empty if none is near."""
    return near(name, _types())


@cache
def _types() -> Collection[str]:
    return frozenset(type_table.names())


@cache
def _sizes() -> Collection[str]:
    return frozenset(name.partition(".")[2] for name in _types())


def near(name: str, known: Collection[str]) -> str:
    """The remedy for an unknown name: the nearest of the known ones; empty if none is near."""
    lower = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), lower, n=1, cutoff=0.75)
    return f"Did you mean {lower[found[0]]}?" if found else ""


def name_in_arn(text: str) -> str:
    """The name at the end of an ARN; empty for another text (IAM user guide, "IAM ARNs")."""
    return text.rpartition("/")[2] if text.startswith("arn:") else ""


def _wrong(node: Node, what: str, remedy: str) -> Finding:
    return Finding(Severity.ERROR, what, remedy, node.place, "AWS")
