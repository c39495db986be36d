"""Images of heavy stemcells, and the contents of snapshots."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, Process

BLOCK: Final = 524_288
"""Bytes of a block of the EBS direct APIs."""
MIB: Final = 1 << 20


def filled(byte: int, length: int = BLOCK) -> bytes:
    """Return data that is like no other block's."""
    return bytes([byte, 0, 255, byte]) * (length // 4)


SMALL: Final = filled(1) + bytes(BLOCK) + filled(2) + bytes(2 * BLOCK) + filled(3, 1000)
"""Some MiB: of its six blocks three are all zeros, and the last one is not whole."""
FULL_BLOCKS: Final = {0: filled(1), 2: filled(2), 5: filled(3, 1000) + bytes(BLOCK - 1000)}
"""What a snapshot of it holds."""


PROPERTIES: Final = {
    "name": "bosh-aws-xen-hvm-ubuntu-noble",
    "version": "1.2",
    "infrastructure": "aws",
    "architecture": "x86_64",
    "disk": 3072,
    "disk_format": "raw",
    "root_device_name": "/dev/sda1",
    "virtualization_type": "hvm",
    "tags": {"distro": "noble", "n": 1},
}
"""As a stemcell has them."""


def packed(content: bytes = SMALL, name: str = "root.img") -> bytes:
    """Return a gzipped tar that holds an image behind something else, as a stemcell's may."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for member_name, data in (("notes", b"x"), (name, content)):
            member = tarfile.TarInfo(member_name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def written(folder: Path, archive: bytes) -> str:
    """Write an archive where a stemcell has its image, and return the path."""
    path = folder / "image"
    path.write_bytes(archive)
    return str(path)


def blocks(fake_aws: FakeAws, snapshot_id: str) -> Iterator[tuple[int, bytes]]:
    """Read a snapshot, block by block."""
    ebs: Any = fake_aws.client("ebs")
    # The simulated AWS has no pages: it lists all at once.
    for block in ebs.list_snapshot_blocks(SnapshotId=snapshot_id)["Blocks"]:
        index, token = block["BlockIndex"], block["BlockToken"]
        found = ebs.get_snapshot_block(SnapshotId=snapshot_id, BlockIndex=index, BlockToken=token)
        yield index, found["BlockData"].read()


def read_back(fake_aws: FakeAws, snapshot_id: str) -> dict[int, bytes]:
    """Read a small snapshot as a whole."""
    return dict(blocks(fake_aws, snapshot_id))


class Heavy:
    """The executable, asked for heavy stemcells.

    Attributes:
        endpoint: Where AWS is.
        path: Where the image is.
        arguments: create_stemcell's.
    """

    def __init__(self, cpi: Cpi, endpoint: str, folder: Path) -> None:
        """Write a small image."""
        self._cpi = cpi
        self.endpoint = endpoint
        self.path = written(folder, packed())
        self.arguments: list[Any] = [self.path, dict(PROPERTIES)]

    def create(self, *more: Any, cpi: Cpi | None = None, api_version: int = 2, **properties: Any) -> Answer:
        """Create a stemcell with these properties over the ordinary ones."""
        path, ordinary = self.arguments
        whole = {**ordinary, **properties}
        return (cpi or self._cpi).call("create_stemcell", path, whole, *more, api_version=api_version)

    def start(self, cpi: Cpi | None = None) -> Process:
        """Start the call; the caller ends it."""
        return (cpi or self._cpi).start("create_stemcell", *self.arguments)
