"""The EBS direct APIs and an image, in memory: for uploads from several threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws.ebs_direct import BLOCK_SIZE
from bosh_aws_cpi.aws.sdk.clients import MAX_CONNECTIONS
from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
from bosh_aws_cpi.model import Encryption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from tests.unit.conftest import Ec2

SNAPSHOT = "snap-1"
IN_FLIGHT = 2 * MAX_CONNECTIONS
WAIT = 20
"""Seconds after which a thread that waits for another one gives up: never, unless the test fails."""


class Ebs:
    """The EBS direct APIs, in memory.

    Attributes:
        started: StartSnapshot's arguments.
        blocks: What was put, by index.
        completed: CompleteSnapshot's arguments.
        before_put: Is told of each block's index, and may refuse it.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self.started: dict[str, Any] = {}
        self.blocks: dict[int, bytes] = {}
        self.completed: dict[str, Any] = {}
        self.before_put: Callable[[int], None] = lambda _: None

    def start_snapshot(self, **arguments: Any) -> dict[str, str]:
        """StartSnapshot."""
        self.started = arguments
        return {"SnapshotId": SNAPSHOT}

    def put_snapshot_block(self, **arguments: Any) -> None:
        """PutSnapshotBlock."""
        self.before_put(arguments["BlockIndex"])
        assert (arguments["SnapshotId"], arguments["DataLength"]) == (SNAPSHOT, len(arguments["BlockData"]))
        self.blocks[arguments["BlockIndex"]] = arguments["BlockData"]

    def complete_snapshot(self, **arguments: Any) -> None:
        """CompleteSnapshot."""
        self.completed = arguments


class Image:
    """An image of some blocks, without its file.

    Attributes:
        taken: How many blocks were read so far.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        """Have so many blocks that are not all zeros, at every second place."""
        self.count = count
        self.taken = 0
        self.blocks = {2 * n: n.to_bytes(2, "big") * (BLOCK_SIZE // 2) for n in range(count)}
        monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.image_file.full_blocks", self._read)

    def _read(self, path: str, block_size: int) -> Iterator[tuple[int, bytes]]:
        assert (path, block_size) == ("/image", BLOCK_SIZE)
        for entry in self.blocks.items():
            self.taken += 1
            yield entry

    def source(self) -> ImageSource:
        """Describe it."""
        return ImageSource("/image", self.count, 2, "d", {"a": "1"}, "call-1", Encryption())


def lay_completed(ec2: Ec2) -> None:
    """Lay out DescribeSnapshots: the snapshot is completed."""
    found = {"Snapshots": [{"SnapshotId": SNAPSHOT, "State": "completed"}]}
    ec2.answers("describe_snapshots", found, SnapshotIds=[SNAPSHOT])
