"""create_stemcell's cloud properties as the stemcell and manifests give them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.properties.types import Encryptable, Mib, Problem, Text, Truth, read_properties

REGISTRATION_SETTINGS: Final = ("imds_support", "tpm_support")
OWN_AMI_SETTINGS: Final = (*REGISTRATION_SETTINGS, "deprecate_at", "share_with")
"""The properties that only an AMI that the CPI creates can have."""
TAGS_IGNORED: Final = (
    "is ignored: the Director passes its own tags, and a light stemcell's AMI is not ours. For the AMIs that "
    "the CPI creates, use aws.tags"
)
"""Why ``tags`` have no effect for a Director and for light stemcells."""
_FORM: Final = "%Y-%m-%dT%H:%M:%SZ"
_ACCOUNT_OR_ARN: Final = r"\d{12}|arn:aws[a-z-]*:organizations::\d{12}:(organization|ou)/[a-z0-9/-]+"
"""Ids of accounts, and ARNs as in the API model of AWS Organizations."""


def _as_time(value: object) -> object:
    with suppress(ValueError):
        return f"{datetime.strptime(str(value), _FORM):{_FORM}}"  # noqa: DTZ007 - the form says UTC
    raise ValueError("must be a time in UTC, as '2030-01-31T00:00:00Z', in quotes")


def _as_account_or_arn(value: object) -> object:
    if re.fullmatch(_ACCOUNT_OR_ARN, str(value), re.ASCII):
        return str(value)
    message = "must be an AWS account's id, 12 digits in quotes, or the ARN of an organization or its unit"
    raise ValueError(message)


def path_of(key: str, overrides: Json) -> str:
    """Where a stemcell's property stands, for messages.

    Args:
        overrides: ``aws.stemcell``.
    """
    return "aws.stemcell" if key in overrides else "cloud_properties"


class StemcellProperties(Encryptable):
    """create_stemcell's ``cloud_properties``, with ``aws.stemcell`` merged over them."""

    ami: dict[str, str] = Field(default_factory=dict)
    """AMIs of a light stemcell, by region. Unless `aws.stemcell.copy_from_region` is set, one must be in the
    configured region."""
    encrypted: Truth = False
    """Light stemcell: use an encrypted [copy](stemcell-amis.md#copies). Heavy stemcell: encrypt its
    snapshot. Default: `aws.encrypted`."""
    kms_key_arn: str | None = None
    """KMS key; without one, the account's default key for EBS. Default: `aws.kms_key_arn`."""
    tags: Any = None
    """Hash of tags for the AMI and snapshot of a heavy stemcell, under `bosh create-env` only."""
    deprecate_at: Annotated[str | None, BeforeValidator(_as_time)] = None
    """* Time in UTC, as `'2030-01-31T00:00:00Z'`, at most ten years ahead, from which EC2 marks the AMI as
    [deprecated](stemcell-amis.md#shared-and-deprecated-amis)."""
    share_with: tuple[Annotated[str, BeforeValidator(_as_account_or_arn)], ...] = ()
    """* Ids of AWS accounts, and ARNs of organizations and organizational units, that may
    [launch the AMI](stemcell-amis.md#shared-and-deprecated-amis)."""
    imds_support: Literal["v2.0"] | None = None
    """* Heavy stemcell: with `v2.0`, VMs require IMDSv2, unless `metadata_options` or the account's defaults
    say otherwise."""
    tpm_support: Literal["v2.0"] | None = None
    """* Heavy stemcell: with `v2.0`, VMs have a NitroTPM. Needs `boot_mode: uefi`, and instance types that
    support it."""
    name: Text | None = None
    """Part of a heavy stemcell's description and tag `Name`."""
    version: Text | None = None
    """Part of a heavy stemcell's description and tag `Name`."""

    # Every stemcell has these: `HeavyStemcellProperties` uses some, the rest are for other clouds.
    architecture: Any = None
    boot_mode: Any = None
    disk: Any = None
    virtualization_type: Any = None
    kernel_id: Any = None
    root_device_name: Any = None
    auto_disk_config: Any = None
    """No effect; for other clouds."""
    container_format: Any = None
    """No effect; for other clouds."""
    disk_format: Any = None
    """No effect; for other clouds."""
    hypervisor: Any = None
    """No effect; for other clouds."""
    infrastructure: Any = None
    """No effect; for other clouds."""
    os_distro: Any = None
    """No effect; for other clouds."""
    os_type: Any = None
    """No effect; for other clouds."""

    @property
    def settings(self) -> list[str]:
        """Those of `SETTINGS` that are given."""
        return [name for name in OWN_AMI_SETTINGS if getattr(self, name)]

    def problems(self, encryption: Encryption, now: datetime) -> Iterator[Problem]:
        """Why create_stemcell refuses the `settings` of an AMI that it creates.

        Args:
            encryption: What applies to the AMI.
            now: The time, in UTC.
        """
        time = f"{now:{_FORM}}"
        if self.deprecate_at and not time < self.deprecate_at <= f"{now.year + 10}{time[4:]}":
            text = f"deprecate_at must be a time within the next ten years, not {self.deprecate_at}"
            yield Problem("deprecate_at", text)
        key = encryption.kms_key_arn or "alias/aws/ebs"
        if self.share_with and encryption.encrypted and key.endswith("alias/aws/ebs"):
            # EC2 user guide, "Share an AMI with specific AWS accounts", encryption and keys.
            text = (
                "share_with needs a customer managed KMS key: set kms_key_arn. EC2 does not share what the "
                "AWS managed key encrypts, and the CPI can't see which key the account's default is"
            )
            yield Problem("share_with", text)

    @staticmethod
    def parse(own: Json, overrides: Json | None = None) -> "StemcellProperties":
        """Read and check a stemcell's cloud properties.

        Args:
            own: The stemcell's own.
            overrides: ``aws.stemcell``.

        Returns:
            `HeavyStemcellProperties` unless there is an ``ami``.

        Raises:
            CloudError: One has the wrong type.
        """
        above = overrides or {}
        kind = kind_of({**own, **above})
        read = read_properties(kind, above, "aws.stemcell")
        known = {key: getattr(read, key) for key in above if key in kind.model_fields}
        return read_properties(kind, {**own, **known}, "cloud_properties")


def kind_of(values: Json) -> type[StemcellProperties]:
    """The model of a stemcell's properties: with an ``ami`` it is a light stemcell."""
    return StemcellProperties if values.get("ami") else HeavyStemcellProperties


class HeavyStemcellProperties(StemcellProperties):
    """create_stemcell's ``cloud_properties`` for a stemcell that brings its image along."""

    architecture: str = Field(
        default="x86_64", examples=["x86_64", "arm64", "i386", "x86_64_mac", "arm64_mac"]
    )
    """This and the following properties apply only to heavy stemcells."""
    boot_mode: Literal["legacy-bios", "uefi", "uefi-preferred"] | None = None
    """`legacy-bios`, `uefi` or `uefi-preferred`. Default: `legacy-bios`, or `uefi` for `arm64`."""
    disk: Mib = 2048
    """Size of the root disk in MiB, at least the size of the image."""
    kernel_id: str | None = None
    """Kernel image of a paravirtual stemcell. Default: Amazon's newest."""
    root_device_name: str | None = None
    """Root device of a paravirtual stemcell."""
    virtualization_type: Literal["hvm", "paravirtual"] = "hvm"
    """`hvm` or `paravirtual` (obsolete)."""

    @property
    def boots_by(self) -> str:
        """The AMI's boot mode: the given one, else uefi for arm64 and legacy-bios for x86_64.

        EC2 user guide, "Boot modes": Graviton types boot by UEFI alone.
        """
        return self.boot_mode or ("uefi" if self.architecture == "arm64" else "legacy-bios")

    @property
    def is_paravirtual(self) -> bool:
        """Whether it is of the old kind, which boots through a kernel image."""
        return self.virtualization_type == "paravirtual"

    def problems(self, encryption: Encryption, now: datetime) -> Iterator[Problem]:
        """Why create_stemcell refuses the AMI's `settings`: a NitroTPM also needs boot by UEFI."""
        yield from super().problems(encryption, now)
        # EC2 user guide, NitroTPM, prerequisites: "the AMI must be configured for UEFI boot mode".
        if self.tpm_support and self.boots_by != "uefi":
            text = "tpm_support needs boot_mode uefi, and a stemcell whose image boots by UEFI"
            yield Problem("tpm_support", text)
