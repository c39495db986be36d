"""Writing an image into a snapshot from several threads, and how an upload ends early."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws.sdk.clients import MAX_CONNECTIONS
from bosh_aws_cpi.cpi.stemcells import snapshot_upload
from bosh_aws_cpi.cpi.stemcells.snapshot_upload import upload
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.cpi.block_uploads import IN_FLIGHT, SNAPSHOT, WAIT, Ebs, Image, lay_completed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from concurrent.futures import Future

    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Clock, Ec2, ProgramLog


pytestmark = pytest.mark.usefixtures("undone")


@pytest.fixture
def ebs(cloud: Cloud) -> Ebs:
    """Return EBS as the cloud has it."""
    fake = Ebs()
    vars(cloud)["clients"].ebs = fake
    return fake


def test_upload_again(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each upload has its own client token, so that EBS does not return a deleted snapshot."""
    tokens = set()
    for _ in range(2):
        lay_completed(ec2)
        upload(cloud, Image(monkeypatch, 1).source(), Undo())
        tokens.add(ebs.started["ClientToken"])
    assert len(tokens) == 2


def test_parallel(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread per connection uploads blocks at the same time."""
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
    """The blocks that are read but not yet written are limited."""
    image = Image(monkeypatch, 4 * IN_FLIGHT)
    go, unwritten = threading.Event(), []

    def spied(pending: Collection[Future[bytes]], *how: Any) -> Any:
        unwritten.append(len(pending))
        go.set()
        return wait(pending, *how)

    monkeypatch.setattr(snapshot_upload, "wait", spied)
    ebs.before_put = lambda _: None if go.wait(WAIT) else pytest.fail("it never waited")
    lay_completed(ec2)
    upload(cloud, image.source(), Undo())
    assert unwritten[0] == max(unwritten) == IN_FLIGHT
    assert len(ebs.blocks) == 4 * IN_FLIGHT


@pytest.mark.parametrize("most", [0, 1, 3])
def test_few_threads(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """The threads that can be started do all the work; without any, the upload fails."""
    permitted, start = iter(range(most)), threading.Thread.start

    def limited(thread: threading.Thread) -> None:
        if next(permitted, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    source = Image(monkeypatch, 2 * IN_FLIGHT).source()
    if most:
        lay_completed(ec2)
        upload(cloud, source, Undo())
        assert len(ebs.blocks) == 2 * IN_FLIGHT
    else:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            upload(cloud, source, Undo())
    assert threads_left() == []


def test_progress(clock: Clock, program_log: ProgramLog) -> None:
    """The log has the progress after five seconds, at growing intervals, and at the end."""
    progress = snapshot_upload.Progress(8)
    for done, seconds in ((0, 4), (0, 2), (2, 3), (2, 8), (3, 3), (8, 5)):
        clock.now += seconds
        progress.report(done)
    assert [record.text for record in program_log.records] == [
        "Uploaded 0 of 4 MiB, 0.0 MiB/s",
        "Uploaded 1 of 4 MiB, 0.1 MiB/s",
        "Uploaded 4 of 4 MiB, 0.2 MiB/s",
    ]


def test_standstill(
    cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch, program_log: ProgramLog
) -> None:
    """The progress is logged while no block is written, too."""
    monkeypatch.setattr(snapshot_upload, "_LONGEST_WAIT", 0)
    monkeypatch.setattr(snapshot_upload, "_FIRST_REPORT", 0)
    image = Image(monkeypatch, 10)
    go = threading.Event()

    def spied(*how: Any) -> Any:
        if program_log.records:
            go.set()
        return wait(*how)

    monkeypatch.setattr(snapshot_upload, "wait", spied)
    lay_completed(ec2)
    ebs.before_put = lambda _: None if go.wait(WAIT) else pytest.fail("it never waited")
    upload(cloud, image.source(), Undo())
    infos = [record.text for record in program_log.records if record.level == "INFO"]
    assert (infos[0], infos[-1].split(",")[0]) == ("Uploaded 0 of 5 MiB, 0.0 MiB/s", "Uploaded 5 of 5 MiB")


def refusal(code: str) -> ClientError:
    """Make an error of PutSnapshotBlock."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "PutSnapshotBlock")


def threads_left() -> list[str]:
    """List the threads that still put blocks."""
    return [each.name for each in threading.enumerate() if "Pool" in each.name]


def test_first_error(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first error no block is read, all threads end, and undo deletes the snapshot."""
    image = Image(monkeypatch, 1000)
    failed = threading.Event()

    def before_put(index: int) -> None:
        if index == 2:
            failed.set()
            raise refusal("AccessDeniedException")
        assert failed.wait(WAIT)

    ebs.before_put = before_put
    undo = Undo()
    with pytest.raises(ClientError, match="AccessDeniedException"):
        upload(cloud, image.source(), undo)
    assert image.taken <= IN_FLIGHT + 1
    assert len(ebs.blocks) <= IN_FLIGHT
    assert (ebs.completed, threads_left()) == ({}, [])
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    undo.run("an error")


@pytest.mark.usefixtures("signals")
def test_lost_caller(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss of the caller stops the upload, as an error does."""
    image = Image(monkeypatch, 1000)
    reader, writer = os.pipe()
    interrupts.set_caller(writer)
    interrupts.end_without_caller()

    def before_put(index: int) -> None:
        if index == 2:
            os.close(reader)

    ebs.before_put = before_put
    undo = Undo()
    with pytest.raises(Interrupted, match=interrupts.CALLER_GONE):
        upload(cloud, image.source(), undo)
    os.close(writer)
    assert image.taken < image.count
    assert (ebs.completed, threads_left()) == ({}, [])
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    undo.run("an error")


def test_image_that_ends_early(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the image can't be read to its end, the snapshot is deleted."""
    image = Image(monkeypatch, 10)

    def read(*_: object) -> Iterator[tuple[int, bytes]]:
        yield from list(image.blocks.items())[:5]
        raise CloudError("cut off")

    monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.image_file.full_blocks", read)
    undo = Undo()
    with pytest.raises(CloudError, match="cut off"):
        upload(cloud, image.source(), undo)
    assert ebs.completed == {}
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    undo.run("an error")


class Throttled:
    """EBS takes no block: all threads are under way, and are throttled as soon as the upload has ended.

    Attributes:
        attempts: How often each block was tried, by its index.
        all_under_way: Whether each thread has tried a block.
        stop: Tells the threads that the upload has ended.
    """

    def __init__(self, ebs: Ebs, image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
        """Throttle this EBS while that image is written to it."""
        self.attempts: Counter[int] = Counter()
        self.all_under_way = threading.Event()
        self._together = threading.Barrier(MAX_CONNECTIONS, self.all_under_way.set, WAIT)
        self.stop = threading.Event()
        self._image, self._monkeypatch = image, monkeypatch
        self._is_signalled = False
        monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.snapshot_upload.Event", lambda: self.stop)
        ebs.before_put = self._refuse

    def _refuse(self, index: int) -> None:
        self.attempts[index] += 1
        if not self.all_under_way.is_set():
            self._together.wait()
        if index == 0 and not self._is_signalled:
            raise refusal("AccessDeniedException")
        assert self.stop.wait(WAIT)
        raise refusal("RequestThrottledException")

    def signal(self) -> None:
        """Let a signal come while all threads are under way; without it the first block is refused."""
        self._is_signalled = True

        def read(*_: object) -> Iterator[tuple[int, bytes]]:
            yield from list(self._image.blocks.items())[:MAX_CONNECTIONS]
            assert self.all_under_way.wait(WAIT)
            signal.raise_signal(signal.SIGTERM)

        self._monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.image_file.full_blocks", read)


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch) -> Image:
    """Return a large image."""
    return Image(monkeypatch, 1000)


@pytest.fixture
def throttled(ebs: Ebs, image: Image, monkeypatch: pytest.MonkeyPatch) -> Throttled:
    """Let EBS take no block."""
    return Throttled(ebs, image, monkeypatch)


@pytest.mark.parametrize(("is_signalled", "error"), [(False, ClientError), (True, Interrupted)])
@pytest.mark.usefixtures("signals")
def test_all_threads_end(
    cloud: Cloud,
    ec2: Ec2,
    image: Image,
    throttled: Throttled,
    *,
    is_signalled: bool,
    error: type[BaseException],
) -> None:
    """After an error or a signal, throttled threads end without another attempt."""
    undo = Undo()
    if is_signalled:
        throttled.signal()
    with pytest.raises(error, match=r"AccessDeniedException|SIGTERM"):
        upload(cloud, image.source(), undo)
    assert set(throttled.attempts.values()) == {1}
    assert len(throttled.attempts) in {MAX_CONNECTIONS, MAX_CONNECTIONS + 1}
    assert (throttled.stop.is_set(), threads_left()) == (True, [])
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    undo.run("an error")
