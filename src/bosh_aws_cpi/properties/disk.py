"""create_disk's cloud properties as manifests give them."""

from typing import Any, Self

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Count, Encryptable, parsed


class DiskProperties(Encryptable):
    """create_disk's ``cloud_properties``."""

    type: str = "gp3"
    iops: Count | None = None
    throughput: Count | None = None
    tags: Any = None

    @classmethod
    def parse(cls, values: Json) -> Self:
        """Read and check create_disk's cloud properties.

        Raises:
            CloudError: One has the wrong type.
        """
        return parsed(cls, values, "cloud_properties")
