"""KMS keys that encrypt nothing, in the cloud config and among the defaults for the disks of VMs. Pure."""

from collections.abc import Iterator

from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Encryptable
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, read_known
from bosh_aws_cpi.tools.findings import Finding, Place, Severity


def findings(config: CloudConfig, defaults: DiskDefaults) -> Iterator[Finding]:
    """Look for keys of disks that nothing encrypts.

    Args:
        config: The cloud config.
        defaults: The configuration's.
    """
    of_defaults = defaults.encryptions(defaults.root_disk, defaults.ephemeral_disk)
    for name, (default, encryption) in of_defaults.items():
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
