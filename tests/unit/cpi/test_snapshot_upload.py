"""Writing an image into a snapshot block by block, from several threads."""

from __future__ import annotations

import threading
import time
from base64 import b64encode
from concurrent.futures import wait as really_wait
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.clients import MAX_CONNECTIONS
from bosh_aws_cpi.aws.ebs_direct import BLOCK_SIZE
from bosh_aws_cpi.cpi.snapshot_upload import upload
from bosh_aws_cpi.cpi.stemcell_image import ImageSource, Survey
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Ec2

pytestmark = pytest.mark.usefixtures("undone")

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
    """

    def __init__(self) -> None:
        """Hold nothing."""
        self.started: dict[str, Any] = {}
        self.blocks: dict[int, bytes] = {}
        self.completed: dict[str, Any] = {}
        self.before_put: Callable[[int], None] = lambda _: None

    def start_snapshot(self, **arguments: Any) -> dict[str, str]:
        """Begin a snapshot."""
        self.started = arguments
        return {"SnapshotId": SNAPSHOT}

    def put_snapshot_block(self, **arguments: Any) -> None:
        """Take a block."""
        self.before_put(arguments["BlockIndex"])
        assert (arguments["SnapshotId"], arguments["DataLength"]) == (SNAPSHOT, len(arguments["BlockData"]))
        self.blocks[arguments["BlockIndex"]] = arguments["BlockData"]

    def complete_snapshot(self, **arguments: Any) -> None:
        """End the snapshot."""
        self.completed = arguments


@pytest.fixture
def ebs(cloud: Cloud) -> Ebs:
    """Return EBS as the cloud has it."""
    fake = Ebs()
    vars(cloud)["clients"].ebs = fake
    return fake


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
        monkeypatch.setattr("bosh_aws_cpi.cpi.stemcell_image.full_blocks", self._read)

    def _read(self, path: str, block_size: int) -> Iterator[tuple[int, bytes]]:
        assert (path, block_size) == ("/image", BLOCK_SIZE)
        for entry in self.blocks.items():
            self.taken += 1
            yield entry

    def source(self) -> ImageSource:
        """Describe it."""
        survey = Survey(2 * self.count * BLOCK_SIZE, self.count)
        return ImageSource("/image", survey, 2, "d", {"a": "1"}, "call-1", Encryption())


def lay_completed(ec2: Ec2) -> None:
    """Lay out a look at the snapshot, which is completed."""
    found = {"Snapshots": [{"SnapshotId": SNAPSHOT, "State": "completed"}]}
    ec2.answers("describe_snapshots", found, SnapshotIds=[SNAPSHOT])


@pytest.mark.parametrize("count", [0, 1, 100])
def test_upload(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """All blocks are put under their indices; the checksum is of theirs, in the order of the image."""
    image = Image(monkeypatch, count)
    lay_completed(ec2)
    assert upload(cloud, image.source(), Undo()) == SNAPSHOT
    assert ebs.started == {
        "VolumeSize": 2,
        "Description": "d",
        "Tags": [{"Key": "a", "Value": "1"}],
        "ClientToken": "call-1",
        "Timeout": 60,
    }
    assert ebs.blocks == image.blocks
    checksums = b"".join(sha256(block).digest() for block in image.blocks.values())
    assert ebs.completed["ChangedBlocksCount"] == count
    assert ebs.completed["Checksum"] == b64encode(sha256(checksums).digest()).decode()


def test_parallel(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many blocks are on their way at once as there are connections, each in a thread of its own."""
    image = Image(monkeypatch, 2 * MAX_CONNECTIONS)
    together = threading.Barrier(MAX_CONNECTIONS, timeout=WAIT)
    names = set()

    def before_put(_: int) -> None:
        together.wait()
        names.add(threading.current_thread().name)

    ebs.before_put = before_put
    lay_completed(ec2)
    upload(cloud, image.source(), Undo())
    assert (len(names), len(ebs.blocks)) == (MAX_CONNECTIONS, 2 * MAX_CONNECTIONS)


def test_memory(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a few blocks are read before others are written: an image has gigabytes."""
    image = Image(monkeypatch, 4 * IN_FLIGHT)
    go, waiting = threading.Event(), []

    def spied(pending: Collection[Any], **how: Any) -> Any:
        waiting.append((image.taken - len(ebs.blocks) if not go.is_set() else 0, len(pending)))
        go.set()
        return really_wait(pending, **how)

    monkeypatch.setattr("bosh_aws_cpi.cpi.snapshot_upload.wait", spied)
    ebs.before_put = lambda _: None if go.wait(WAIT) else pytest.fail("it never waited")
    lay_completed(ec2)
    upload(cloud, image.source(), Undo())
    assert waiting[0] == (IN_FLIGHT + 1, IN_FLIGHT)
    assert max(pending for _, pending in waiting) == IN_FLIGHT
    assert len(ebs.blocks) == 4 * IN_FLIGHT


def test_first_error(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first error ends it: no further block is read, no thread goes on, and undo removes the rest."""
    image = Image(monkeypatch, 1000)
    failed = threading.Event()
    answer: Any = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}

    def before_put(index: int) -> None:
        if index == 2:
            failed.set()
            raise ClientError(answer, "PutSnapshotBlock")
        assert failed.wait(WAIT)

    ebs.before_put = before_put
    undo = Undo()
    with pytest.raises(ClientError, match="AccessDeniedException"):
        upload(cloud, image.source(), undo)
    assert image.taken <= IN_FLIGHT + 1
    assert len(ebs.blocks) <= IN_FLIGHT
    assert (ebs.completed, [each for each in threading.enumerate() if "Pool" in each.name]) == ({}, [])
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    undo.run("an error")


def test_image_that_ends_early(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that can't be read further ends it as well."""
    image = Image(monkeypatch, 10)

    def read(*_: object) -> Iterator[tuple[int, bytes]]:
        yield from list(image.blocks.items())[:5]
        raise CloudError("cut off")

    monkeypatch.setattr("bosh_aws_cpi.cpi.stemcell_image.full_blocks", read)
    undo = Undo()
    with pytest.raises(CloudError, match="cut off"):
        upload(cloud, image.source(), undo)
    assert ebs.completed == {}
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    undo.run("an error")


@pytest.fixture
def one_by_one(ec2: Ec2, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put one block at a time into a snapshot that will be completed at once."""
    monkeypatch.setattr("bosh_aws_cpi.cpi.snapshot_upload.MAX_CONNECTIONS", 1)
    monkeypatch.setattr("bosh_aws_cpi.cpi.snapshot_upload._IN_FLIGHT", 1)
    lay_completed(ec2)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (
            1,
            [
                "Uploaded 2 of 5 MiB, 0.5 MiB/s, 5 seconds left",
                "Uploaded 5 of 5 MiB, 0.5 MiB/s, 0 seconds left",
            ],
        ),
        (0.125, ["Uploaded 5 of 5 MiB, 4.0 MiB/s, 0 seconds left"]),
    ],
)
@pytest.mark.usefixtures("one_by_one")
def test_progress(
    cloud: Cloud,
    ebs: Ebs,
    monkeypatch: pytest.MonkeyPatch,
    program_log: pytest.LogCaptureFixture,
    seconds: float,
    expected: list[str],
) -> None:
    """Every five seconds, and at the end, the log says how far it is, how fast, and how long it takes."""
    image = Image(monkeypatch, 10)
    ebs.before_put = lambda _: time.sleep(seconds)
    upload(cloud, image.source(), Undo())
    infos = [record.getMessage() for record in program_log.records if record.levelname == "INFO"]
    assert infos == expected
