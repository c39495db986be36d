"""Values that AWS refuses, or reads differently: unknown words, sizes in GiB, ids of another kind. Pure.

What these properties can be is known by their keys, each of which means the same in all hashes. The words are
those of EC2's API model (botocore, data/ec2/2016-11-15/service-2.json), written out because the check without
AWS needs no SDK. They are warnings: AWS may accept more than this version knows.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import MIB_PER_GIB
from bosh_aws_cpi.plan import type_table
from bosh_aws_cpi.plan.ebs import VOLUME_TYPES, limits_of
from bosh_aws_cpi.plan.nics import is_group_id
from bosh_aws_cpi.properties.types import Properties, Truth
from bosh_aws_cpi.properties.vm import TENANCIES
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk
from bosh_aws_cpi.tools.checks.bosh.models import BoshHash
from bosh_aws_cpi.tools.checks.bosh.rules import CPI, DISK_SIZES, QUOTED, Level, did_you_mean, keys_of
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

STATES: Final = ("enabled", "disabled")
CREDITS: Final = ("standard", "unlimited")
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "tenancy": TENANCIES,
    "http_tokens": ("optional", "required"),
    "http_endpoint": STATES,
    "http_protocol_ipv6": STATES,
    "http_protocol_ipv_6": STATES,
    "instance_metadata_tags": STATES,
    "credit_specification": CREDITS,
    "cpu_credits": CREDITS,
    "preference": ("open", "none", "capacity-reservations-only"),
    "type": tuple(VOLUME_TYPES),
}
"""The known words of cloud properties, which the JSON Schema proposes, too."""
_ALIKE: Final = 0.75
"""How alike a mistyped name of something in AWS and the right one are at least."""
_HOPS: Final = "http_put_response_hop_limit"
_MOST_HOPS: Final = 64
"""EC2's API model, InstanceMetadataOptionsRequest."""
_LEAST_MIB: Final = 512
"""A smaller size is more likely meant in GiB: EBS has no volume below 1 GiB."""
_THINGS: Final = {
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
_ID: Final = re.compile(rf"({'|'.join(_THINGS)})-(?:[0-9a-f]{{8}}(?<!-20\d{{6}})|[0-9a-f]{{17}})")
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


def findings(levels: Iterable[Level], region: str, *, is_offline: bool) -> Iterator[Finding]:
    """Look at the values in hashes.

    Args:
        levels: The hashes.
        region: The configuration's.
        is_offline: Whether AWS is not asked which instance types there are.
    """
    for level in levels:
        for node in level.node.entries():
            key = str(node.route[-1])
            if key in DISK_SIZES and not isinstance(node.value, bool) and isinstance(node.value, int):
                kind = level.node.get("type") or level.node.get("cloud_properties", "type")
                yield from _size(node, node.value, kind)
            elif not issubclass(level.model, BoshHash):
                yield from _of_property(level, key, node)
                for each in node.texts():
                    yield from _of_name(each, level.node, key, region, is_offline=is_offline)


def of_configuration(model: type[Properties], values: Json, path: str, region: str) -> Iterator[Finding]:
    """Check the form and the values of a hash of cpi.json.

    Args:
        model: The model that reads it.
        values: The hash.
        path: Its path there.
        region: The configuration's.
    """
    root = Document("", values).root
    levels = Level(root, model).within()
    for each in (*keys_of(root, model, CPI), *findings(levels, region, is_offline=False)):
        inner = each.place.path.replace("/", ".") if each.place else ""
        yield each.replaced(place=Place(f"{path}.{inner}".rstrip(".")))


def _of_property(level: Level, key: str, node: Node) -> Iterator[Finding]:
    field, value, words = level.model.model_fields.get(key), node.value, WORDS.get(key, ())
    if key == _HOPS and isinstance(value, int) and value > _MOST_HOPS:
        yield _warning(node, f"{value} is more than EC2's limit of {_MOST_HOPS}", f"Give 1 to {_MOST_HOPS}")
    if node.is_unknown or not isinstance(value, str):
        return
    if field is not None and field.annotation in {bool, Truth | None}:
        what = f"'{value}' is a string, and any string counts as true"
        remedy = QUOTED if value in {"true", "false"} else "Write true or false"
        yield Finding(Severity.WARNING, what, remedy, node.place)
    if words and value not in words:
        what = f"'{value}' is not one of the known values: {', '.join(words)}"
        yield _warning(node, what, did_you_mean(value, words) or f"Use {' or '.join(words)}")


def _size(node: Node, size: int, kind: Node | None) -> Iterator[Finding]:
    """A size in MiB that is meant in GiB, or over the limit of the volume type, or of all types."""
    name = kind.value if kind is not None else EphemeralDisk().type
    most = limits_of(name).most_gib if isinstance(name, str) else 0
    if most and size > most * MIB_PER_GIB:
        what = f"{size} MiB are more than EBS's limit of {most} GiB for a volume of this type"
        yield _warning(node, what, "Give the size in MiB")
    elif 0 < size < _LEAST_MIB:
        what = f"the size is in MiB: {size} MiB become a disk of 1 GiB, the smallest that EBS has"
        yield _warning(node, what, f"For {size} GiB, give {size * MIB_PER_GIB}")


def _warning(node: Node, what: str, remedy: str) -> Finding:
    return _wrong(node, what, remedy, Severity.WARNING)


def _wrong(node: Node, what: str, remedy: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(severity, what, remedy, node.place, "AWS")


def _of_name(node: Node, around: Node, key: str, region: str, *, is_offline: bool) -> Iterator[Finding]:
    """A text that can't be what it names in AWS: another kind's id, an ARN, a zone of another region."""
    text, path = str(node.value), f"{around.route[-1] if around.route else ''}/{key}"
    kind, noun = _IDS.get(path) or _IDS.get(key), _NAMES.get(path) or _NAMES.get(key)
    found = _ID.fullmatch(text)
    if key == "kms_key_arn":
        yield from of_kms_key(text, region, node.place)
    elif (kind or noun) and (text.startswith("arn:") or (found is not None and found[1] != kind)):
        what = f"'{text}' is {f'the id of {_THINGS[found[1]]}' if found is not None else 'an ARN'}"
        wanted = f"the id of {_THINGS[kind]}, {kind}-…" if kind else f"the name of {noun}"
        yield _wrong(node, what, f"Give {wanted}")
    elif kind == "subnet" and not _SUBNET.fullmatch(text):
        yield _wrong(node, f"'{text}' is not the id of a subnet", "Give the id, subnet-…")
    elif kind == "sg" and text.startswith("sg-") and not is_group_id(text):
        what = f"'{text}' is not the id of a security group, and no name begins with sg-"
        yield _wrong(node, what, "Give the id, sg-…, or the name")
    elif key == "elbs" and "." in text:
        yield _wrong(node, f"'{text}' is a DNS name", f"Give the name of {noun}")
    elif key == "availability_zone" and is_offline and is_no_zone(text):
        yield _wrong(node, f"'{text}' is not a zone's name", f"Give a zone's name, such as {region}a")
    elif key == "availability_zone" and not text.startswith(region):
        what = f"zone '{text}' is not in {region}, the configuration's region"
        yield _warning(node, what, "Correct the zone, or aws.region")
    elif is_offline and key.startswith("instance_type") and not _is_type(text):
        remedy = near_type(text) or "Use a type of EC2, such as m5.large"
        what = f"'{text}' is not an instance type that is known"
        yield _warning(node, what, remedy)


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
    return did_you_mean(name, type_table.names(), _ALIKE)


def near_existing(name: str, there: Collection[str]) -> str:
    """The remedy for a name that nothing in the account has: the nearest one that something has."""
    return did_you_mean(name, there, _ALIKE) or "Create it, or correct its name"


@cache
def _sizes() -> Collection[str]:
    return frozenset(name.partition(".")[2] for name in type_table.names())


def name_in_arn(text: str) -> str:
    """The name at the end of an ARN; empty for another text (IAM user guide, "IAM ARNs")."""
    return text.rpartition("/")[2] if text.startswith("arn:") else ""
