"""The KMS keys with which EBS would encrypt the VMs' and the persistent disks. Pure."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Encryptable
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.account.named_things import absent
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.naming import Launch
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
        node = disk_type.get("cloud_properties")
        values = node.known() if node is not None else {}
        default = _Default(defaults.encryption, "aws")
        found += _of(DiskProperties, values, disk_type.at("cloud_properties"), default)
    return list(dict.fromkeys(found))


class _Default(Record):
    """The encryption of a disk that does not say it, and where the configuration names its key."""

    encryption: Encryption
    path: str


def _of_vm(launch: Launch, defaults: DiskDefaults) -> Iterator[Key]:
    root, disk = launch.get("root_disk"), launch.get("ephemeral_disk")
    of_root = _Default(defaults.root_encryption(RootDisk()), "aws.default_root_disk")
    yield from _of(RootDisk, root.known() if root else {}, root or launch.merged.entry, of_root)
    has_key = "kms_key_arn" in defaults.ephemeral_disk.model_fields_set
    path = "aws.default_ephemeral_disk" if has_key else "aws"
    of_ephemeral = _Default(defaults.ephemeral_encryption(EphemeralDisk()), path)
    values = disk.known() if disk is not None else {}
    has_volume = isinstance(values, dict) and not (
        values.get("use_root_disk") or values.get("use_instance_storage")
    )
    if has_volume:
        yield from _of(EphemeralDisk, values, disk or launch.merged.entry, of_ephemeral)


def _of(model: type[Encryptable], values: object, node: Node, default: _Default) -> Iterator[Key]:
    try:
        properties = model.model_validate(values)
    except ValidationError:
        return  # reported with the other properties
    encryption = properties.encryption(default.encryption)
    if encryption.encrypted and encryption.kms_key_arn:
        is_own = "kms_key_arn" in properties.model_fields_set
        place = node.at("kms_key_arn").place if is_own else Place(f"{default.path}.kms_key_arn")
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
