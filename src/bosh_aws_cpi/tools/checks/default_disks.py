"""The defaults for the disks of VMs in cpi.json. Pure."""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.tools.checks import words
from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, said
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

_ROOT: Final = "aws.default_root_disk"
_EPHEMERAL: Final = "aws.default_ephemeral_disk"


def findings(config: CloudConfig, aws: AwsConfig) -> Iterator[Finding]:
    """Check the defaults.

    Args:
        config: The cloud config, whose VMs may encrypt their disks with a default key.
        aws: The CPI's configuration.
    """
    if text := said(lambda: DiskDefaults.of(aws)):
        yield Finding(Severity.ERROR, text, f"Correct {_ROOT} or {_EPHEMERAL} in cpi.json")
        return
    yield from words.of_default_disk(aws.default_root_disk, _ROOT)
    yield from words.of_default_disk(aws.default_ephemeral_disk, _EPHEMERAL)
    yield from _unused_keys(config, DiskDefaults.of(aws))


def _unused_keys(config: CloudConfig, defaults: DiskDefaults) -> Iterator[Finding]:
    """KMS keys that no VM uses, because nothing encrypts the disk."""
    for name, path, default, encryption in (
        ("root_disk", _ROOT, defaults.root_disk, defaults.root_encryption(RootDisk())),
        (
            "ephemeral_disk",
            _EPHEMERAL,
            defaults.ephemeral_disk,
            defaults.ephemeral_encryption(EphemeralDisk()),
        ),
    ):
        if default.kms_key_arn is None or encryption.encrypted:
            continue
        if any(is_open(entry) or _encrypts(entry.get("cloud_properties", name)) for entry in config.of_vms):
            continue
        what = f"the key has no effect: neither {path}.encrypted nor a VM's {name}.encrypted is set"
        place = Place(f"{path}.kms_key_arn")
        yield Finding(Severity.WARNING, what, f"Set {path}.encrypted to true", place)


def _encrypts(disk: Node | None) -> bool:
    """Whether a VM may encrypt its disk: it says so, or a variable might."""
    if disk is None or disk.is_unknown:
        return disk is not None
    encrypted = disk.get("encrypted")
    return encrypted is not None and bool(encrypted.value)
