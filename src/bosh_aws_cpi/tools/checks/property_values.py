"""Values that AWS refuses, or reads differently: unknown words, sizes in GiB, ids of another kind. Pure.

What these properties can be is known by their keys, each of which means the same in all hashes. The words are
those of EC2's API model (botocore, data/ec2/2016-11-15/service-2.json), written out because the check without
AWS needs no SDK. Each message says of which month they are: AWS may accept more today, and create_vm asks it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Annotated, Final

from pydantic.fields import FieldInfo

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.values import fill_region
from bosh_aws_cpi.jsontext import Json, is_integer
from bosh_aws_cpi.model import MIB_PER_GIB
from bosh_aws_cpi.plan import type_table
from bosh_aws_cpi.plan.ebs import AS_OF, VOLUME_TYPES, limits_of
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import NOUNS, AwsName, Properties, Truth
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk
from bosh_aws_cpi.tools.checks.bosh_models import BoshHash, parts_of
from bosh_aws_cpi.tools.checks.bosh_rules import (
    CPI,
    Hashes,
    did_you_mean,
    hashes_in,
    keys_of,
    quoted_boolean,
    refusal,
)
from bosh_aws_cpi.tools.checks.documents import Document, Node, variables_in
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

_NEAR_NAME: Final = 0.75
"""The least likeness of a mistyped name in AWS and the right one."""
_DISK_SIZES: Final = ("size", "disk_size", "persistent_disk", "ephemeral_disk_size", "disk")
_RAISED: Final = "If AWS has raised the limit since, ignore this"
_LEAST_MIB: Final = {**dict.fromkeys(_DISK_SIZES, 512), "ram": 128}
"""A smaller number is more likely meant in GiB: EBS has no volume below 1 GiB, EC2 no VM below 512 MiB."""
_ID: Final = re.compile(rf"({'|'.join(NOUNS)})-(?:[0-9a-f]{{8}}(?<!-20\d{{6}})|[0-9a-f]{{17}})")
"""An id; what may be a date, as in key-20240115, is left out."""
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9-]*\.[a-z0-9-]+")


def findings(hashes: Iterable[Hashes], region: str, *, is_offline: bool) -> Iterator[Finding]:
    """Look at the values in hashes.

    Args:
        hashes: The hashes.
        region: The configuration's.
        is_offline: Whether AWS is not asked which instance types there are.
    """
    for *_, (around, model) in hashes:
        for node in around.entries():
            key = str(node.route[-1])
            if (field := model.model_fields.get(key)) is None:
                continue
            if key in _LEAST_MIB:
                yield from _of_number(node, key, around)
            elif key == "iops":
                yield from _of_iops(node, around)
            elif not issubclass(model, BoshHash):
                yield from _of_word(field, key, node)
                if (named := _named(field) or _NAMED.get(key)) is not None:
                    for each in node.texts():
                        yield from _of_name(each, key, named, region, is_offline=is_offline)


def of_configuration(model: type[Properties], values: Json, path: str, region: str) -> Iterator[Finding]:
    """Check the form and the values of a hash of cpi.json.

    Args:
        model: The model that reads it.
        values: The hash.
        path: Its path there.
        region: The configuration's.
    """
    root = Document("", values).root
    hashes = hashes_in(((root, model),))
    for each in (*keys_of(root, model, CPI), *findings(hashes, region, is_offline=False)):
        inner = each.place.path.replace("/", ".") if each.place else ""
        yield each.replace(place=Place(f"{path}.{inner}".rstrip(".")))


def of_keys(aws: AwsConfig) -> Iterator[Finding]:
    """Find keys of cpi.json that name something of another kind."""
    for key in AwsConfig.rows:
        name = key.removeprefix("default_")
        for node in Document("", getattr(aws, key)).root.texts() if name in _NAMED else ():
            for each in _of_name(node, name, _NAMED[name], aws.region, is_offline=False):
                yield each.replace(place=Place(f"aws.{key}"))


def _named(field: FieldInfo | None) -> AwsName | None:
    """What a property names."""
    found = parts_of(Annotated[field.annotation, *field.metadata, None]) if field is not None else ()
    return next((each for each in found if isinstance(each, AwsName)), None)


_NAMED: Final = {
    key: named
    for model in (DiskProperties, VmProperties)
    for key, field in model.model_fields.items()
    if (named := _named(field)) is not None
}
"""What keys name in networks and in cpi.json, too."""


def words_of(field: FieldInfo, key: str) -> Sequence[str]:
    """The known words of a property, which the JSON Schema proposes, too."""
    return tuple(VOLUME_TYPES) if key == "type" else field.examples or ()


def _of_word(field: FieldInfo, key: str, node: Node) -> Iterator[Finding]:
    value, words = node.value, words_of(field, key)
    if node.is_unknown or not isinstance(value, str):
        return
    if field.annotation in {bool, Truth | None}:
        yield from quoted_boolean(value, node.place)
    if words and value not in words:
        what = f"EC2's API of {AS_OF} has no such value as '{value}'"
        near = did_you_mean(value, words) or f"Use {' or '.join(words)}."
        yield refusal(node, what, f"{near} If AWS has added it since, ignore this", "AWS")


def _of_number(node: Node, key: str, around: Node) -> Iterator[Finding]:
    """A number of MiB that was meant in GiB, or is over the limit of the type, or of all types."""
    number, kind = node.value, around.get("type") or around.get("cloud_properties", "type")
    if not is_integer(number):
        return
    name = kind.value if kind is not None else EphemeralDisk().type
    limits = limits_of(name if isinstance(name, str) else "")
    if key != "ram" and number > limits.most_gib * MIB_PER_GIB:
        what = f"{number} MiB are more than EBS's limit of {AS_OF} for this type, {limits.most_gib} GiB"
        yield refusal(node, what, f"Give the size in MiB. {_RAISED}", "AWS")
    elif 0 < number < _LEAST_MIB[key]:
        what = f"{number} MiB are less than AWS's smallest size; perhaps GiB were meant"
        yield _warning(node, what, f"For {number} GiB, give {number * MIB_PER_GIB}")


def _of_iops(node: Node, around: Node) -> Iterator[Finding]:
    """More iops than any disk of the type, or of an unknown type, can have."""
    kind = around.get("type")
    name = kind.value if kind is not None and isinstance(kind.value, str) else ""
    known = {name: VOLUME_TYPES[name]} if name in VOLUME_TYPES else VOLUME_TYPES
    most, which = max(each.most_iops for each in known.values()), name if name in known else "any type"
    if is_integer(node.value) and 0 < most < node.value:
        what = f"{node.value} iops are more than EBS's limit of {AS_OF} for {which}, {most}"
        yield refusal(node, what, _RAISED, "AWS")


def _warning(node: Node, what: str, remedy: str) -> Finding:
    return Finding(Severity.WARNING, what, remedy, node.place, "AWS")


def _of_name(node: Node, key: str, named: AwsName, region: str, *, is_offline: bool) -> Iterator[Finding]:
    """A text that can't be what it names in AWS: another kind's id, an ARN, a zone of another region."""
    text, found = str(node.value), _ID.fullmatch(str(node.value))
    is_known = not variables_in(region)
    form = fill_region(named.form, region) if is_known else re.sub("PARTITION|REGION", "[^:]+", named.form)
    wanted = fill_region(named.what, region)
    is_formed, what = re.fullmatch(form, text, re.DOTALL), ""
    if found is not None and f" {found[1]}-" not in wanted:
        what = f"is the id of {NOUNS[found[1]]}"
    elif text.startswith("arn:") and "ARN" not in wanted:
        what = "is an ARN"
    elif not is_formed and (is_offline or key != "availability_zone"):  # AWS knows all zones
        what = f"is not {re.split('[,;]', wanted)[0]}"
    if what:
        shown = "a private key" if "-----" in text else f"'{text}'"
        severity = Severity.WARNING if re.fullmatch(r"[^/]+\.(pem|pub)", text) else Severity.ERROR
        yield Finding(severity, f"{shown} {what}", f"Give {wanted}", node.place, "AWS")
    elif key == "availability_zone" and is_formed and is_known and not text.startswith(region):
        what = f"zone '{text}' is not in {region}, the configuration's region"
        yield refusal(node, what, "Correct the zone, or aws.region", "AWS")
    elif is_offline and key.startswith("instance_type") and not _is_type(text):
        remedy = near_type(text) or "Use a type of EC2, such as m5.large"
        what = f"'{text}' is not an instance type that is known"
        yield _warning(node, what, remedy)


def _is_type(name: str) -> bool:
    """Whether a text has the form of a type, and a size that some type has; AWS may have newer families."""
    size = f".{name.partition('.')[2]}"
    return _TYPE.fullmatch(name) is not None and any(each.endswith(size) for each in type_table.names())


@cache
def near_type(name: str) -> str:
    """The remedy for an unknown instance type: the nearest one; empty if none is near."""
    return did_you_mean(name, type_table.names(), _NEAR_NAME)


def near_existing(name: str, there: Collection[str]) -> str:
    """The remedy for a name that nothing in the account has: the nearest one that something has."""
    return did_you_mean(name, there, _NEAR_NAME) or "Create it, or correct its name"


def name_in_arn(text: str) -> str:
    """The name at the end of an ARN; empty for another text (IAM user guide, "IAM ARNs")."""
    return text.rpartition("/")[2] if text.startswith("arn:") else ""
