"""create_disk's cloud properties as manifests give them."""

from collections.abc import Iterator
from typing import Annotated, Any, Self

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Count, Encryptable, Problem, Text, id_of, read_properties


class DiskProperties(Encryptable):
    """create_disk's ``cloud_properties``."""

    type: str = "gp3"
    """EBS volume type."""
    iops: Count | None = None
    """For `gp3`, `io1` and `io2`. Default: EBS's."""
    iops_per_gib: Count | None = None
    """* In place of `iops`: that many for each GiB of the disk, within [EBS's limits](#iops-by-size)."""
    throughput: Count | None = None
    """MiB/s, for `gp3`. Default: EBS's."""
    tags: Any = None
    """Hash. The CPI sets these tags when it creates the disk."""
    name: Text | None = None
    """* The disk's tag `Name`, unless `tags` has one. The Director gives dynamic disks a name."""

    snapshot_id: Annotated[str, id_of("snap")] | None = None
    """* The snapshot that new disks are [restored from](disk-changes.md#disks-from-a-snapshot), `snap-…`.
    Remove it when the disk exists."""

    def problems(self, path: str = "cloud_properties") -> Iterator[Problem]:
        """Why create_disk and update_disk refuse it, whatever the volume: iops given twice, no snapshot's id.

        Args:
            path: Where the properties stand.
        """
        if self.iops is not None and self.iops_per_gib is not None:
            text = f"{path}.iops_per_gib and {path}.iops exclude each other: remove one of them"
            yield Problem("iops_per_gib", text)
        if self.snapshot_id is not None and not self.snapshot_id.startswith("snap-"):
            yield Problem("snapshot_id", f"{path}.snapshot_id must be the id of a snapshot, snap-…")

    @classmethod
    def parse(cls, values: Json) -> Self:
        """Read and check create_disk's cloud properties.

        Raises:
            CloudError: One has the wrong type.
        """
        return read_properties(cls, values, "cloud_properties")
