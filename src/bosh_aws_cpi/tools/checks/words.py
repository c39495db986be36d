"""Cloud properties that have a fixed set of words, or a limit: EC2 refuses other values. Pure.

They are warnings: AWS may accept more than this version knows. The words are those of EC2's API model
(botocore, data/ec2/2016-11-15/service-2.json), written out because the check without AWS needs no SDK.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

TENANCIES: Final = ("default", "dedicated", "host")
"""Tenancy. EC2 never sees another word: the CPI only looks for "dedicated"."""
STATES: Final = ("enabled", "disabled")
"""InstanceMetadataEndpointState and the other shapes with two states."""
TOKENS: Final = ("optional", "required")
"""HttpTokensState."""
PREFERENCES: Final = ("open", "none", "capacity-reservations-only")
"""CapacityReservationPreference."""
CREDITS: Final = ("standard", "unlimited")
"""CreditSpecificationRequest, CpuCredits: the valid values of its documentation."""
MOST_GIB: Final = {
    "gp3": 65_536,
    "gp2": 16_384,
    "io1": 16_384,
    "io2": 65_536,
    "st1": 16_384,
    "sc1": 16_384,
    "standard": 1024,
}
"""VolumeType, and the largest size of each type in GiB: CreateVolumeRequest, Size."""
MOST_HOPS: Final = 64
"""InstanceMetadataOptionsRequest, HttpPutResponseHopLimit."""
_DEFAULT_TYPE: Final = "gp3"
_MIB: Final = 1024
_OF_VMS: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("metadata_options", "http_tokens"): TOKENS,
    ("metadata_options", "http_endpoint"): STATES,
    ("metadata_options", "http_protocol_ipv6"): STATES,
    ("metadata_options", "http_protocol_ipv_6"): STATES,
    ("metadata_options", "instance_metadata_tags"): STATES,
    ("credit_specification",): CREDITS,
    ("credit_specification", "cpu_credits"): CREDITS,
    ("capacity_reservation", "preference"): PREFERENCES,
    ("ephemeral_disk", "type"): tuple(MOST_GIB),
    ("root_disk", "type"): tuple(MOST_GIB),
}


def findings(config: CloudConfig) -> Iterator[Finding]:
    """Compare the cloud properties of VMs and disks with the words and limits."""
    for entry in config.of_vms:
        yield from _of_vm(entry.at("cloud_properties"))
    for entry in config.lists["disk_types"]:
        kind = entry.get("cloud_properties", "type")
        yield from _unknown(kind, tuple(MOST_GIB))
        yield from _too_large(entry.get("disk_size"), kind)


def of_default_disk(disk: Json, path: str) -> Iterator[Finding]:
    """Compare a default for the disks of VMs with the words and limits.

    Args:
        disk: The hash in cpi.json.
        path: Its path there.
    """
    root = Document("", disk).root
    kind = root.get("type")
    for found in (*_unknown(kind, tuple(MOST_GIB)), *_too_large(root.get("size"), kind)):
        key = found.place.path if found.place is not None else ""
        yield found.replaced(place=Place(f"{path}.{key}"))


def _of_vm(properties: Node) -> Iterator[Finding]:
    yield from _unknown(properties.get("tenancy"), TENANCIES)
    for route, words in _OF_VMS.items():
        yield from _unknown(properties.get(*route), words)
    hops = properties.get("metadata_options", "http_put_response_hop_limit")
    if hops is not None and _is_number(hops) and hops.value > MOST_HOPS:
        yield _warning(hops, f"{hops.value} is more than EC2's limit of {MOST_HOPS}", "Give 1 to 64")
    for disk in ("ephemeral_disk", "root_disk"):
        yield from _too_large(properties.get(disk, "size"), properties.get(disk, "type"))


def _unknown(node: Node | None, words: tuple[str, ...]) -> Iterator[Finding]:
    """A text that is not one of the words; other types are reported with the other properties."""
    if node is None or node.is_unknown or not isinstance(node.value, str) or node.value in words:
        return
    near = get_close_matches(node.value.lower(), words, n=1)
    what = f"'{node.value}' is not one of the known values: {', '.join(words)}"
    yield _warning(node, what, f"Did you mean {near[0]}?" if near else f"Use {' or '.join(words)}")


def _too_large(size: Node | None, kind: Node | None) -> Iterator[Finding]:
    """A size in MiB over the limit of the volume type; that of an unknown type is the largest of all."""
    name = kind.value if kind is not None else _DEFAULT_TYPE
    most = MOST_GIB.get(name, max(MOST_GIB.values())) if isinstance(name, str) else 0
    if size is not None and _is_number(size) and most and size.value > most * _MIB:
        what = f"{size.value} MiB are more than EBS's limit of {most} GiB for a volume of this type"
        yield _warning(size, what, "Give the size in MiB")


def _is_number(node: Node) -> bool:
    return isinstance(node.value, int) and not isinstance(node.value, bool)


def _warning(node: Node, what: str, remedy: str) -> Finding:
    return Finding(Severity.WARNING, what, remedy, node.place, "AWS")
