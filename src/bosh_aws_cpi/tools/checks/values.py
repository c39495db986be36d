"""Values that AWS refuses, or reads differently: unknown words, sizes in GiB, texts for booleans. Pure.

What these properties can be is known by their keys, each of which means the same in all hashes. The words are
those of EC2's API model (botocore, data/ec2/2016-11-15/service-2.json), written out because the check without
AWS needs no SDK. They are warnings: AWS may accept more than this version knows.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import MIB_PER_GIB
from bosh_aws_cpi.plan.ebs import VOLUME_TYPES, limits_of
from bosh_aws_cpi.properties.types import Properties, Truth
from bosh_aws_cpi.properties.vm import TENANCIES
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk
from bosh_aws_cpi.tools.checks import identifiers
from bosh_aws_cpi.tools.checks.bosh.levels import Level
from bosh_aws_cpi.tools.checks.bosh.models import Bosh
from bosh_aws_cpi.tools.checks.bosh.rules import CPI, DISK_SIZES, QUOTED, keys_of
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.checks.naming import texts
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
_HOPS: Final = "http_put_response_hop_limit"
_MOST_HOPS: Final = 64
"""EC2's API model, InstanceMetadataOptionsRequest."""
_LEAST_MIB: Final = 512
"""A smaller size is more likely meant in GiB: EBS has no volume below 1 GiB."""


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
            elif not issubclass(level.model, Bosh):
                yield from _of_property(level, key, node)
                for each in texts(node):
                    yield from identifiers.findings(each, level.node, key, region, is_offline=is_offline)


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
        near = get_close_matches(value.lower(), words, n=1)
        what = f"'{value}' is not one of the known values: {', '.join(words)}"
        yield _warning(node, what, f"Did you mean {near[0]}?" if near else f"Use {' or '.join(words)}")


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
    return Finding(Severity.WARNING, what, remedy, node.place, "AWS")
