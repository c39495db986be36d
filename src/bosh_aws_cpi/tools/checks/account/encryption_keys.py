"""The KMS keys with which EBS would encrypt the VMs' and the persistent disks. Pure."""

from collections.abc import Iterator, Mapping

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.account.named_things import absent
from bosh_aws_cpi.tools.checks.disks import encrypted_of_types, encrypted_of_vm
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


def used(references: References, defaults: DiskDefaults, aws: AwsConfig) -> list[Key]:
    """All keys that the CPI would send to EC2; it sends none for a disk without encryption."""
    launches = references.launches
    of_vms = (each for one in launches for each in encrypted_of_vm(one, one.merged.entry, defaults))
    found = []
    for own, encryption, node in (*of_vms, *encrypted_of_types(references.disk_types, aws)):
        if encryption.encrypted and encryption.kms_key_arn:
            is_own = "kms_key_arn" in own.model_fields_set
            place = node.at("kms_key_arn").place if is_own else Place(encryption.key_source)
            found.append(Key(encryption.kms_key_arn, place))
    return list(dict.fromkeys(found))


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
