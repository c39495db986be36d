"""The KMS keys with which EBS would encrypt the VMs' and the persistent disks. Pure."""

from collections.abc import Iterator, Mapping

from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Encryptable
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.account.named_things import absent
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.naming import Launch
from bosh_aws_cpi.tools.checks.reading import read_known
from bosh_aws_cpi.tools.checks.references import References
from bosh_aws_cpi.tools.findings import Finding, Place, Severity


class Key(Record):
    """A key that a disk is encrypted with.

    Attributes:
        name: An ARN, an id, an alias or an alias's ARN.
        place: Where it is named.
    """

    name: str
    place: Place


def used(references: References, defaults: DiskDefaults) -> list[Key]:
    """All keys that the CPI would send to EC2; it sends none for a disk without encryption."""
    found = [key for launch in references.launches for key in _of_vm(launch, defaults)]
    for disk_type in references.disk_types:
        properties = read_known(DiskProperties, disk_type.get("cloud_properties"))
        if properties is not None:
            encryption = properties.encryption(defaults.encryption)
            found += _of(properties, encryption, disk_type.at("cloud_properties"))
    return list(dict.fromkeys(found))


def _of_vm(launch: Launch, defaults: DiskDefaults) -> Iterator[Key]:
    root = read_known(RootDisk, launch.get("root_disk"))
    ephemeral = read_known(EphemeralDisk, launch.get("ephemeral_disk"))
    if root is None or ephemeral is None:
        return
    for name, (own, encryption) in defaults.encryptions(root, ephemeral).items():
        yield from _of(own, encryption, launch.get(name) or launch.merged.entry)


def _of(properties: Encryptable, encryption: Encryption, node: Node) -> Iterator[Key]:
    if encryption.encrypted and encryption.kms_key_arn:
        is_own = "kms_key_arn" in properties.model_fields_set
        place = node.at("kms_key_arn").place if is_own else Place(encryption.key_source)
        yield Key(encryption.kms_key_arn, place)


def findings(keys: list[Key], states: Mapping[str, str | None]) -> Iterator[Finding]:
    """Compare the keys with their states.

    Args:
        keys: The keys.
        states: Those of the keys that could be looked up; None for one that does not exist.
    """
    for key in keys:
        state = states.get(key.name, "Enabled")
        if state is None:
            yield absent("KMS key", key.name, key.place)
        elif state != "Enabled":
            what = f"KMS key '{key.name}' is {state}: EBS can't encrypt with it"
            yield Finding(Severity.ERROR, what, "Enable it, or use another one", key.place, "AWS")
