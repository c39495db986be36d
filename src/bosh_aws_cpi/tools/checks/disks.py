"""Disk types and the configuration's disks: read with the models and plans of create_disk and create_vm."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption, gib
from bosh_aws_cpi.plan import ebs, tags
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults, persistent
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Encryptable, Problem
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.tools.checks import property_values
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.combinations import Merged
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of, read_known, said
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

Encrypted: TypeAlias = tuple[Encryptable, Encryption, Node]
"""A disk's own properties, what applies with the defaults, and where the disk is."""
_OF_VOLUME: Final = ("type", "iops", "iops_per_gib", "throughput")
_DIRECTOR: Final = "director"
"""Stands for the Director's UUID."""
_ROOT: Final = "aws.default_root_disk"
_EPHEMERAL: Final = "aws.default_ephemeral_disk"
_PERSISTENT: Final = "aws.default_persistent_disk"


def findings(config: CloudConfig, aws: AwsConfig) -> Iterator[Finding]:
    """Check the cloud properties of all disk types."""
    for entry in config.lists["disk_types"]:
        yield from _of_disk_type(entry, aws) if not is_open(entry) else ()


def _of_disk_type(entry: Node, aws: AwsConfig) -> Iterator[Finding]:
    nodes, section = properties_of(entry), entry.at("cloud_properties")
    properties = read_known(DiskProperties, entry.get("cloud_properties"))
    if properties is None:
        return
    problems = [*properties.problems()]
    if text := said(lambda: tags.of_disk(properties.name, properties.tags, _DIRECTOR, aws.tags)):
        problems.append(Problem("tags", text))
    if not problems and not any(nodes[key].has_variables for key in _OF_VOLUME if key in nodes):
        merged, origin, _ = merged_with_defaults(properties, aws)
        problems += ebs.problems(ebs.of_disk(merged, size_of(entry)), "disk", origin)
    for each in problems:
        yield Finding(Severity.ERROR, each.text, "", section.at(each.key).place)


def size_of(entry: Node) -> int | None:
    """A disk type's size in GiB; None if it is not known."""
    size = entry.value.get("disk_size")
    return gib(size) if isinstance(size, int) and size > 0 else None


def merged_with_defaults(
    own: DiskProperties, aws: AwsConfig
) -> tuple[DiskProperties, ebs.Origin, Encryption]:
    """A disk over the defaults, where its properties stand, and the default encryption; see `persistent`.

    Wrong defaults are left out: `of_defaults` reports them.
    """
    try:
        return persistent(own, aws)
    except CloudError:
        return own, ebs.Origin("cloud_properties"), aws.encryption


def of_defaults(aws: AwsConfig) -> Iterator[Finding]:
    """Check the configuration's defaults for disks, and its keys."""
    if key := aws.encryption.kms_key_arn:
        yield from property_values.of_kms_key(key, aws.region, Place("aws.kms_key_arn"))
    if text := said(lambda: DiskDefaults.of(aws)):
        yield Finding(Severity.ERROR, text, f"Correct {_ROOT} or {_EPHEMERAL} in cpi.json")
        return
    if text := said(lambda: persistent(DiskProperties(), aws)):
        yield Finding(Severity.ERROR, text, f"Correct {_PERSISTENT} in cpi.json")
        return
    for model, disk, path in (
        (RootDisk, aws.default_root_disk, _ROOT),
        (EphemeralDisk, aws.default_ephemeral_disk, _EPHEMERAL),
        (DiskProperties, aws.default_persistent_disk, _PERSISTENT),
    ):
        yield from property_values.of_configuration(model, disk, path, aws.region)


def unused_keys(
    config: CloudConfig, combinations: Iterable[Merged], defaults: DiskDefaults, aws: AwsConfig
) -> Iterator[Finding]:
    """Look for KMS keys that nothing uses.

    Args:
        config: The cloud config.
        combinations: The VMs.
        defaults: The configuration's, for the disks of VMs.
        aws: The configuration.
    """
    of_types = [*encrypted_of_types(config.lists["disk_types"], aws)]
    sections = [entry.at("cloud_properties") for entry in config.of_vms]
    of_sections = (each for node in sections for each in encrypted_of_vm(node, node, defaults))
    for own, encryption, node in filter(_is_known, (*of_sections, *of_types)):
        for problem in own.key_problems(encryption):
            yield Finding(Severity.ERROR, problem.text, "", node.at(problem.key).place)
    whole = (each for each in combinations if not (each.is_extension or each.is_open))
    of_vms = (each for merged in whole for each in encrypted_of_vm(merged, merged.entry, defaults))
    disks = filter(_is_known, (*of_vms, *of_types))
    unused = {encryption.unused_key for own, encryption, _ in disks if not own.kms_key_arn}
    for key in sorted(unused - {""}):
        what = "is not used for disks that are not encrypted, and there are such disks"
        yield Finding(Severity.WARNING, what, "Encrypt them, or say encrypted: false", Place(key))


def _is_known(disk: Encrypted) -> bool:
    """Whether it is known whether a disk is encrypted: no variable says so."""
    node = disk[2]
    encrypted = node.get("encrypted")
    return not (node.is_unknown or (encrypted is not None and encrypted.is_unknown))


def encrypted_of_vm(properties: Node | Merged, other: Node, defaults: DiskDefaults) -> Iterator[Encrypted]:
    """What applies to a VM's disks; nothing if their properties are wrong.

    Args:
        properties: The VM's.
        other: Stands for a disk without properties.
        defaults: The configuration's.
    """
    root = read_known(RootDisk, properties.get("root_disk"))
    ephemeral = read_known(EphemeralDisk, properties.get("ephemeral_disk"))
    if root is not None and ephemeral is not None:
        for name, (own, encryption) in defaults.encryptions(root, ephemeral).items():
            yield own, encryption, properties.get(name) or other


def encrypted_of_types(entries: Iterable[Node], aws: AwsConfig) -> Iterator[Encrypted]:
    """What applies to the persistent disks of disk types."""
    for entry in entries:
        properties = read_known(DiskProperties, entry.get("cloud_properties"))
        if properties is not None:
            default = merged_with_defaults(properties, aws)[2]
            yield properties, properties.encryption(default), entry.at("cloud_properties")
