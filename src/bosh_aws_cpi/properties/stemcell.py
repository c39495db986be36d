"""create_stemcell's cloud properties as the stemcell and manifests give them."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Encryptable, Mib, Problem, Text, Truth, parsed

SETTINGS: Final = ("imds_support", "tpm_support", "deprecate_at", "share_with")
_ORGANIZATION: Final = r"arn:aws[a-z-]*:organizations::\d{12}:"
_SHARED_WITH: Final = (
    r"\d{12}"
    rf"|{_ORGANIZATION}organization/o-[a-z0-9]{{10,32}}"
    rf"|{_ORGANIZATION}ou/o-[a-z0-9]{{10,32}}/ou-[0-9a-z]{{4,32}}-[0-9a-z]{{8,32}}"
)
"""The patterns of the API model of AWS Organizations: AccountId, OrganizationArn, OrganizationalUnitArn."""


def _as_time(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value, re.ASCII):
        with suppress(ValueError):
            datetime.fromisoformat(value)
            return value
    message = "must be a time in UTC, as '2030-01-31T00:00:00Z', in quotes"
    raise ValueError(message)


def _as_account(value: object) -> object:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(text, str) and re.fullmatch(_SHARED_WITH, text, re.ASCII):
        return text
    message = (
        "must be the id of an AWS account, 12 digits in quotes, or the ARN of an organization or of an "
        "organizational unit"
    )
    raise ValueError(message)


Time = Annotated[str, BeforeValidator(_as_time)]
Account = Annotated[str, BeforeValidator(_as_account)]


class StemcellProperties(Encryptable):
    """create_stemcell's ``cloud_properties``, with ``aws.stemcell`` merged over them."""

    ami: dict[str, str] = Field(default_factory=dict)
    """AMIs of a light stemcell, by region. Unless `aws.stemcell.copy_from_region` is set, one must be in the
    configured region."""
    encrypted: Truth = False
    """Light stemcell: use an encrypted copy of the AMI, see [below](#copies-of-light-stemcells). Heavy
    stemcell: encrypt its snapshot. Default: `aws.encrypted`."""
    kms_key_arn: str | None = None
    """KMS key; without one, the account's default key for EBS. Default: `aws.kms_key_arn`."""
    tags: Any = None
    """Hash. Tags for the AMI and snapshot of a heavy stemcell, unless the Director passes tags in the call.
    No effect on a light stemcell."""
    deprecate_at: Time | None = None
    """* Time in UTC, as `'2030-01-31T00:00:00Z'`, at most ten years ahead, from which EC2 marks the AMI as
    [deprecated](#shared-and-deprecated-amis)."""
    share_with: tuple[Account, ...] = ()
    """* Ids of AWS accounts, and ARNs of organizations and organizational units, that may
    [launch the AMI](#shared-and-deprecated-amis)."""
    imds_support: Literal["v2.0"] | None = None
    """* Heavy stemcell: with `v2.0`, VMs require IMDSv2, unless their `metadata_options` or the account's
    defaults say otherwise."""
    tpm_support: Literal["v2.0"] | None = None
    """* Heavy stemcell: with `v2.0`, VMs have a NitroTPM. Needs `boot_mode: uefi`, and instance types that
    support it."""
    name: Text | None = None
    """Part of the description and of the tag `Name` of a heavy stemcell's AMI."""
    version: Text | None = None
    """Part of the description and of the tag `Name` of a heavy stemcell's AMI."""

    # Every stemcell carries these; they matter to heavy ones, see there, and to other clouds.
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
    def settings(self) -> Sequence[str]:
        """The properties that only an AMI of the CPI's own can have."""
        return [name for name in SETTINGS if getattr(self, name)]

    def problems(self, encryption: Encryption, now: str) -> Iterator[Problem]:
        """Why create_stemcell refuses the `settings`.

        Args:
            encryption: What applies to the AMI.
            now: The time, in the form of ``deprecate_at``.
        """
        yield from self._not_registered()
        if self.deprecate_at and not now < self.deprecate_at <= f"{int(now[:4]) + 10}{now[4:]}":
            text = f"deprecate_at must be a time within the next ten years, not {self.deprecate_at}"
            yield Problem("deprecate_at", text)
        key = encryption.kms_key_arn or "alias/aws/ebs"
        if self.share_with and encryption.encrypted and key.endswith("alias/aws/ebs"):
            # EC2 user guide, "Share an AMI with specific AWS accounts", encryption and keys.
            text = (
                "share_with needs a KMS key of your own: EC2 does not share what the AWS managed key "
                "encrypts. Set kms_key_arn to a customer managed key"
            )
            yield Problem("share_with", text)

    def _not_registered(self) -> Iterator[Problem]:
        """The settings that RegisterImage alone can give."""
        for name in self.settings:
            if name in {"imds_support", "tpm_support"}:
                text = (
                    f"{name} is only for heavy stemcells: the AMI of a light one is registered already. "
                    "Remove it, or use the heavy stemcell"
                )
                yield Problem(name, text)

    @staticmethod
    def parse(values: Json) -> "StemcellProperties":
        """Read and check a stemcell's cloud properties.

        Returns:
            `HeavyStemcellProperties` unless there is an ``ami``.

        Raises:
            CloudError: One has the wrong type.
        """
        kind = StemcellProperties if values.get("ami") else HeavyStemcellProperties
        return parsed(kind, values, "cloud_properties")


class HeavyStemcellProperties(StemcellProperties):
    """create_stemcell's ``cloud_properties`` for a stemcell that brings its image along."""

    architecture: str = "x86_64"
    """Architecture. This and the following properties apply only to heavy stemcells."""
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

    def _not_registered(self) -> Iterator[Problem]:
        # EC2 user guide, NitroTPM, prerequisites: "the AMI must be configured for UEFI boot mode".
        if self.tpm_support and (self.is_paravirtual or self.boots_by != "uefi"):
            text = "tpm_support needs boot_mode uefi, and a stemcell whose image boots by UEFI"
            yield Problem("tpm_support", text)
