"""create_stemcell's cloud properties as the stemcell and manifests give them."""

from typing import Any, Literal

from pydantic import Field

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Encryptable, Mib, Text, parsed


class StemcellProperties(Encryptable):
    """create_stemcell's ``cloud_properties``, with ``aws.stemcell`` merged over them."""

    ami: dict[str, str] = Field(default_factory=dict)
    name: Text | None = None
    version: Text | None = None
    tags: Any = None

    # Every stemcell carries these; they matter to heavy ones, see there, and to other clouds.
    architecture: Any = None
    auto_disk_config: Any = None
    boot_mode: Any = None
    container_format: Any = None
    disk: Any = None
    disk_format: Any = None
    hypervisor: Any = None
    infrastructure: Any = None
    kernel_id: Any = None
    os_distro: Any = None
    os_type: Any = None
    root_device_name: Any = None
    virtualization_type: Any = None

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
    boot_mode: Literal["legacy-bios", "uefi", "uefi-preferred"] | None = None
    disk: Mib = 2048
    kernel_id: str | None = None
    root_device_name: str | None = None
    virtualization_type: Literal["hvm", "paravirtual"] = "hvm"

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
