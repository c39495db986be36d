"""Writing an image into a snapshot block by block, from several threads."""

from __future__ import annotations

import threading
import time
import uuid
from base64 import b64encode
from concurrent.futures import wait as really_wait
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ReadTimeoutError

from bosh_aws_cpi.aws.sdk.clients import MAX_CONNECTIONS
from bosh_aws_cpi.cpi.stemcells.snapshot_upload import upload
from bosh_aws_cpi.cpi.undo import Undo
from tests.unit.cpi.block_uploads import IN_FLIGHT, SNAPSHOT, WAIT, Ebs, Image, lay_completed

if TYPE_CHECKING:
    from collections.abc import Collection

    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Clock, Ec2

pytestmark = pytest.mark.usefixtures("undone")


@pytest.fixture
def ebs(cloud: Cloud) -> Ebs:
    """Return EBS as the cloud has it."""
    fake = Ebs()
    vars(cloud)["clients"].ebs = fake
    return fake


@pytest.mark.parametrize("count", [0, 1, 100])
def test_upload(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """All blocks are put under their indices; the checksum is of theirs, in the order of the image."""
    image = Image(monkeypatch, count)
    lay_completed(ec2)
    assert upload(cloud, image.source(), Undo()) == SNAPSHOT
    token = ebs.started.pop("ClientToken")
    assert str(uuid.UUID(token)) == token
    assert ebs.started == {
        "VolumeSize": 2,
        "Description": "d",
        "Tags": [{"Key": "a", "Value": "1"}],
        "Timeout": 60,
    }
    assert ebs.blocks == image.blocks
    checksums = b"".join(sha256(block).digest() for block in image.blocks.values())
    assert ebs.completed["ChangedBlocksCount"] == count
    assert ebs.completed["Checksum"] == b64encode(sha256(checksums).digest()).decode()


def test_upload_again(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each upload has a client token of its own: EBS would answer with the snapshot that was removed."""
    tokens = set()
    for _ in range(2):
        lay_completed(ec2)
        upload(cloud, Image(monkeypatch, 1).source(), Undo())
        tokens.add(ebs.started["ClientToken"])
    assert len(tokens) == 2


def test_start_without_an_answer(
    cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """A snapshot whose beginning was not answered is found by the call's own tag, and written to."""

    def lose(**_: Any) -> None:
        raise ReadTimeoutError(endpoint_url="http://h/")

    monkeypatch.setattr(ebs, "start_snapshot", lose)
    image = Image(monkeypatch, 3)
    filters = [{"Name": "tag:bosh_stemcell", "Values": ["call-1"]}]
    for found in ([], [{"SnapshotId": SNAPSHOT}]):
        ec2.answers("describe_snapshots", {"Snapshots": found}, OwnerIds=["self"], Filters=filters)
    lay_completed(ec2)
    undo = Undo()
    assert upload(cloud, image.source(), undo) == SNAPSHOT
    assert (ebs.blocks, len(clock.pauses)) == (image.blocks, 1)
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    undo.run("an error")


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

    def spied(pending: Collection[Any], *how: Any) -> Any:
        waiting.append((image.taken - len(ebs.blocks) if not go.is_set() else 0, len(pending)))
        go.set()
        return really_wait(pending, *how)

    monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.snapshot_upload.wait", spied)
    ebs.before_put = lambda _: None if go.wait(WAIT) else pytest.fail("it never waited")
    lay_completed(ec2)
    upload(cloud, image.source(), Undo())
    assert waiting[0] == (IN_FLIGHT + 1, IN_FLIGHT)
    assert max(pending for _, pending in waiting) == IN_FLIGHT
    assert len(ebs.blocks) == 4 * IN_FLIGHT


@pytest.fixture
def one_by_one(ec2: Ec2, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put one block at a time into a snapshot that will be completed at once."""
    monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.snapshot_upload.MAX_CONNECTIONS", 1)
    monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.snapshot_upload._IN_FLIGHT", 1)
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
    """After five seconds, ever later, and at the end the log says how far it is, and how long it takes."""
    image = Image(monkeypatch, 10)
    ebs.before_put = lambda _: time.sleep(seconds)
    upload(cloud, image.source(), Undo())
    infos = [record.getMessage() for record in program_log.records if record.levelname == "INFO"]
    assert infos == expected


@pytest.mark.usefixtures("one_by_one")
def test_standstill(
    cloud: Cloud,
    ebs: Ebs,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    program_log: pytest.LogCaptureFixture,
) -> None:
    """While no block gets through, that is logged, too."""
    image = Image(monkeypatch, 10)
    go = threading.Event()
    waits: list[float] = []

    def nothing_done(pending: Collection[Any], seconds: float, how: str) -> Any:
        if len(waits) == 3:
            go.set()
            return really_wait(pending, seconds, how)
        waits.append(seconds)
        clock.now += seconds
        return set(), set(pending)

    monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.snapshot_upload.wait", nothing_done)
    ebs.before_put = lambda _: None if go.wait(WAIT) else pytest.fail("it never waited")
    upload(cloud, image.source(), Undo())
    infos = [record.getMessage() for record in program_log.records if record.levelname == "INFO"]
    assert [said.split(",")[0] for said in infos] == ["Uploaded 0 of 5 MiB"] * 2 + ["Uploaded 5 of 5 MiB"]
    assert waits == [5, 5, 5]
