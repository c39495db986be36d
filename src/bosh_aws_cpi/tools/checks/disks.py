"""Disk types and the configuration's disks: read with the models and plans of create_disk and create_vm."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Final

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.model import gib
from bosh_aws_cpi.plan import ebs, tags
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Encryptable
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.tools.checks import words
from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of, read, read_known, said
from bosh_aws_cpi.tools.checks.rules import name_of
from bosh_aws_cpi.tools.findings import Finding, Place, Severity, as_warning

_OF_VOLUME: Final = ("type", "iops", "throughput")
_DIRECTOR: Final = "director"
"""Stands for the Director's UUID."""
_ROOT: Final = "aws.default_root_disk"
_EPHEMERAL: Final = "aws.default_ephemeral_disk"


def findings(config: CloudConfig, aws: AwsConfig, used: Container[str] | None = None) -> Iterator[Finding]:
    """Check the cloud properties of all disk types.

    Args:
        config: The cloud config.
        aws: The CPI's configuration, for its tags.
        used: The names of those that a manifest uses; None without a manifest. Errors of the others
            are warnings, and so are all with several CPIs, since a disk type may be another one's.
    """
    for entry in config.lists["disk_types"]:
        found = [*_size(entry), *(_of_disk_type(entry, aws.tags) if not is_open(entry) else ())]
        is_used = (used is None or name_of(entry) in used) and not config.azs_of_others
        yield from found if is_used else map(as_warning, found)


def _size(entry: Node) -> Iterator[Finding]:
    size = entry.get("disk_size")
    if size is not None and size.value == 0 and not isinstance(size.value, bool):
        remedy = "Give the size in MiB, more than 0"
        yield Finding(Severity.ERROR, "a disk must have more than 0 MiB", remedy, size.place)


def _of_disk_type(entry: Node, common: Mapping[str, str]) -> Iterator[Finding]:
    nodes, section = properties_of(entry), entry.at("cloud_properties")
    values = {key: node.known() for key, node in nodes.items() if not node.is_unknown}
    properties, wrong = read(DiskProperties, values, section.at)
    yield from wrong
    if properties is None:
        return
    size = entry.value.get("disk_size")
    size_gib = gib(size) if isinstance(size, int) and size > 0 else None
    checks = [said(lambda: tags.of_disk(properties.name, properties.tags, _DIRECTOR, common))]
    if not any(nodes[key].is_unknown for key in _OF_VOLUME if key in nodes):
        volume = ebs.EbsVolume(properties.type, properties.iops, properties.throughput, size_gib)
        checks.append(said(lambda: ebs.check(volume, "disk", ebs.Origin("cloud_properties"))))
    for text in filter(None, checks):
        match = re.search(r"cloud_properties\.(\w+)", text)
        yield Finding(Severity.ERROR, text, "", section.at(match[1] if match else "tags").place)


def of_defaults(aws: AwsConfig) -> Iterator[Finding]:
    """Check the configuration's defaults for the disks of VMs."""
    if text := said(lambda: DiskDefaults.of(aws)):
        yield Finding(Severity.ERROR, text, f"Correct {_ROOT} or {_EPHEMERAL} in cpi.json")
        return
    yield from words.of_default_disk(aws.default_root_disk, _ROOT)
    yield from words.of_default_disk(aws.default_ephemeral_disk, _EPHEMERAL)


def unused_keys(config: CloudConfig, defaults: DiskDefaults) -> Iterator[Finding]:
    """Look for keys of disks that nothing encrypts.

    Args:
        config: The cloud config.
        defaults: The configuration's.
    """
    encryptions = defaults.encryptions(defaults.root_disk, defaults.ephemeral_disk)
    for name, (default, encryption) in encryptions.items():
        if default.unused_key(encryption) and not _may_encrypt(config, name):
            path = f"aws.default_{name}"
            what = f"the key has no effect: neither {path}.encrypted nor a VM's {name}.encrypted is set"
            place = Place(f"{path}.kms_key_arn")
            yield Finding(Severity.WARNING, what, f"Set {path}.encrypted to true", place)
    for entry in config.of_vms:
        yield from _of_vm(entry.at("cloud_properties"), defaults)
    for entry in config.lists["disk_types"]:
        properties = read_known(DiskProperties, entry.get("cloud_properties"))
        if properties is not None:
            encryption = properties.encryption(defaults.encryption)
            yield from _of(properties, encryption, entry.at("cloud_properties"))


def _may_encrypt(config: CloudConfig, name: str) -> bool:
    """Whether some VM may encrypt such a disk: it says so, or a variable might."""
    nodes = [entry.get("cloud_properties", name) for entry in config.of_vms]
    return any(map(is_open, config.of_vms)) or any(node is not None and _encrypts(node) for node in nodes)


def _encrypts(disk: Node) -> bool:
    encrypted = disk.get("encrypted")
    return disk.is_unknown or (encrypted is not None and bool(encrypted.value))


def _of_vm(properties: Node, defaults: DiskDefaults) -> Iterator[Finding]:
    root = read_known(RootDisk, properties.get("root_disk"))
    ephemeral = read_known(EphemeralDisk, properties.get("ephemeral_disk"))
    if root is None or ephemeral is None:
        return
    for name, (own, encryption) in defaults.encryptions(root, ephemeral).items():
        yield from _of(own, encryption, properties.at(name))


def _of(own: Encryptable, encryption: Encryption, disk: Node) -> Iterator[Finding]:
    """A disk's own key, unless a variable may encrypt the disk."""
    if (why := own.unused_key(encryption)) and not _encrypts(disk):
        remedy = "Set encrypted to true, or remove kms_key_arn"
        yield Finding(Severity.WARNING, f"the key {why}", remedy, disk.at("kms_key_arn").place)
