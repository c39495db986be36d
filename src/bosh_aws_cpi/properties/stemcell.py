"""create_stemcell's cloud properties as the stemcell and manifests give them."""

from typing import Any, Literal

from pydantic import Field

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Encryptable, Mib, Text, Truth, parsed


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
