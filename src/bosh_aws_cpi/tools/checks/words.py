"""Cloud properties that have a fixed set of words, or a limit: EC2 refuses other values. Pure.

They are warnings: AWS may accept more than this version knows. The words are those of EC2's API model
(botocore, data/ec2/2016-11-15/service-2.json), written out because the check without AWS needs no SDK.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan.ebs import VOLUME_TYPES, limits_of
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Properties
from bosh_aws_cpi.properties.vm import (
    OTHER_SPELLINGS,
    TENANCIES,
    CapacityReservation,
    CreditSpecification,
    MetadataOptions,
    VmProperties,
)
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

STATES: Final = ("enabled", "disabled")
"""InstanceMetadataEndpointState and the other shapes with two states."""
TOKENS: Final = ("optional", "required")
"""HttpTokensState."""
PREFERENCES: Final = ("open", "none", "capacity-reservations-only")
"""CapacityReservationPreference."""
CREDITS: Final = ("standard", "unlimited")
"""CreditSpecificationRequest, CpuCredits: the valid values of its documentation."""
_VOLUMES: Final = tuple(VOLUME_TYPES)
"""VolumeType. What EBS accepts for each type is a row in `ebs`."""
MOST_HOPS: Final = 64
"""InstanceMetadataOptionsRequest, HttpPutResponseHopLimit."""
_MIB: Final = 1024
_LEAST_MIB: Final = 512
"""A smaller size is more likely meant in GiB: EBS has no volume below 1 GiB."""
WORDS: Final[Mapping[tuple[type[Properties], str], tuple[str, ...]]] = {
    (VmProperties, "tenancy"): TENANCIES,
    (MetadataOptions, "http_tokens"): TOKENS,
    (MetadataOptions, "http_endpoint"): STATES,
    (MetadataOptions, "http_protocol_ipv6"): STATES,
    (MetadataOptions, "instance_metadata_tags"): STATES,
    (CreditSpecification, "cpu_credits"): CREDITS,
    (CapacityReservation, "preference"): PREFERENCES,
    (EphemeralDisk, "type"): _VOLUMES,
    (RootDisk, "type"): _VOLUMES,
    (DiskProperties, "type"): _VOLUMES,
}
"""The known words of properties, which the JSON Schema proposes, too."""
_HASHES: Final[Mapping[type[Properties], str]] = {
    MetadataOptions: "metadata_options",
    CreditSpecification: "credit_specification",
    CapacityReservation: "capacity_reservation",
    EphemeralDisk: "ephemeral_disk",
    RootDisk: "root_disk",
}
"""The keys of the hashes in a VM's properties."""
_OF_VMS: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    **{(key, name): words for (kind, name), words in WORDS.items() if (key := _HASHES.get(kind))},
    **{("metadata_options", other): WORDS[MetadataOptions, name] for other, name in OTHER_SPELLINGS.items()},
    ("credit_specification",): CREDITS,
}


FOREIGN: Final[Mapping[str, str]] = {
    **dict.fromkeys(("machine_type", "flavor", "flavour", "vm_size", "instance_size"), "instance_type"),
    **dict.fromkeys(("zone", "az"), "availability_zone"),
    **dict.fromkeys(("net_id", "subnetwork_name", "subnet_name"), "subnet"),
    **dict.fromkeys(("security_group_ids", "vpc_security_group_ids"), "security_groups"),
    **dict.fromkeys(("service_account", "instance_profile"), "iam_instance_profile"),
    **dict.fromkeys(("key_pair", "default_key_name", "ssh_key_name"), "key_name"),
    "preemptible": "spot",
    "spot_price": "spot_bid_price",
    **dict.fromkeys(
        ("ephemeral_external_ip", "assign_dynamic_public_ip", "associate_public_ip_address", "public_ip"),
        "auto_assign_public_ip",
    ),
    **dict.fromkeys(
        ("target_groups", "target_group_arns", "target_pool", "backend_service"), "lb_target_groups"
    ),
    **dict.fromkeys(("root_disk_size_gb", "root_disk_size"), "root_disk.size, in MiB"),
    "root_disk_type": "root_disk.type",
    "elb": "elbs",
    "kms_key_id": "kms_key_arn",
    "volume_type": "type",
    "scheduler_hints": "placement_group",
}
"""Names of other CPIs and programs for cloud properties, and this CPI's: openstack_cpi, google_cpi and
azure_cpi in BOSH's documentation (bosh.io/docs, "Usage" of each CPI), Terraform's aws_instance."""


def findings(config: CloudConfig) -> Iterator[Finding]:
    """Compare the cloud properties of VMs and disks with the words and limits."""
    for entry in config.of_vms:
        yield from _of_vm(entry.at("cloud_properties"))
    for entry in config.lists["disk_types"]:
        kind = entry.get("cloud_properties", "type")
        yield from _unknown(kind, _VOLUMES)
        yield from _unlikely(entry.get("disk_size"), kind)
    yield from of_sizes([config.compilation] if config.compilation is not None else [])


def of_sizes(groups: Iterable[Node]) -> Iterator[Finding]:
    """Compare the sizes that instance groups, or the compilation, give themselves."""
    for group in groups:
        for route in (("persistent_disk",), ("vm_resources", "ephemeral_disk_size")):
            yield from _unlikely(group.get(*route), None)


def of_default_disk(disk: Json, path: str) -> Iterator[Finding]:
    """Compare a default for the disks of VMs with the words and limits.

    Args:
        disk: The hash in cpi.json.
        path: Its path there.
    """
    root = Document("", disk).root
    kind = root.get("type")
    for found in (*_unknown(kind, _VOLUMES), *_unlikely(root.get("size"), kind)):
        key = found.place.path if found.place is not None else ""
        yield found.replaced(place=Place(f"{path}.{key}"))


def _of_vm(properties: Node) -> Iterator[Finding]:
    for route, words in _OF_VMS.items():
        yield from _unknown(properties.get(*route), words)
    hops = properties.get("metadata_options", "http_put_response_hop_limit")
    if hops is not None and _is_number(hops) and hops.value > MOST_HOPS:
        yield _warning(hops, f"{hops.value} is more than EC2's limit of {MOST_HOPS}", "Give 1 to 64")
    for disk in ("ephemeral_disk", "root_disk"):
        yield from _unlikely(properties.get(disk, "size"), properties.get(disk, "type"))


def _unknown(node: Node | None, words: tuple[str, ...]) -> Iterator[Finding]:
    """A text that is not one of the words; other types are reported with the other properties."""
    if node is None or node.is_unknown or not isinstance(node.value, str) or node.value in words:
        return
    near = get_close_matches(node.value.lower(), words, n=1)
    what = f"'{node.value}' is not one of the known values: {', '.join(words)}"
    yield _warning(node, what, f"Did you mean {near[0]}?" if near else f"Use {' or '.join(words)}")


def _unlikely(size: Node | None, kind: Node | None) -> Iterator[Finding]:
    """A size in MiB that is meant in GiB, or over the limit of the volume type.

    That of an unknown type is the largest of all.
    """
    if size is None or not _is_number(size):
        return
    name = kind.value if kind is not None else EphemeralDisk().type
    most = limits_of(name).most_gib if isinstance(name, str) else 0
    if most and size.value > most * _MIB:
        what = f"{size.value} MiB are more than EBS's limit of {most} GiB for a volume of this type"
        yield _warning(size, what, "Give the size in MiB")
    elif 0 < size.value < _LEAST_MIB:
        what = f"the size is in MiB: {size.value} MiB become a disk of 1 GiB, the smallest that EBS has"
        yield _warning(size, what, f"For {size.value} GiB, give {size.value * _MIB}")


def _is_number(node: Node) -> bool:
    return isinstance(node.value, int) and not isinstance(node.value, bool)


def _warning(node: Node, what: str, remedy: str) -> Finding:
    return Finding(Severity.WARNING, what, remedy, node.place, "AWS")
