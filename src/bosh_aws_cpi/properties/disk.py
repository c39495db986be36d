"""create_disk's cloud properties as manifests give them."""

from typing import Any, Self

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Count, Encryptable, Text, parsed


class DiskProperties(Encryptable):
    """create_disk's ``cloud_properties``."""

    type: str = "gp3"
    """EBS volume type."""
    iops: Count | None = None
    """For `gp3`, `io1` and `io2`. Default: EBS's."""
    throughput: Count | None = None
    """MiB/s, for `gp3`. Default: EBS's."""
    tags: Any = None
    """Hash. The CPI sets these tags when it creates the disk."""
    name: Text | None = None
    """* The disk's tag `Name`, unless `tags` has one. The Director gives dynamic disks a name."""

    @classmethod
    def parse(cls, values: Json) -> Self:
        """Read and check create_disk's cloud properties.

        Raises:
            CloudError: One has the wrong type.
        """
        return parsed(cls, values, "cloud_properties")
