"""The threads of an upload: how many, how they end early, and the progress that is logged."""

import signal
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, wait
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import ebs_direct, snapshots
from bosh_aws_cpi.aws.ebs_direct import BLOCK_SIZE
from bosh_aws_cpi.aws.sdk.clients import MAX_CONNECTIONS
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells import image_file, snapshot_upload
from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.interrupts import Interrupted
from bosh_aws_cpi.model import Encryption
from tests.unit.aws.timing_script import refusal
from tests.unit.conftest import Clock, ProgramLog

IN_FLIGHT = 2 * MAX_CONNECTIONS
WAIT = 20
"""Seconds after which a thread that waits for another one gives up: never, unless the test fails."""


class Ebs:
    """The EBS direct APIs, and an image of which every second block is not all zeros.

    Attributes:
        read: How many blocks were read.
        put: The indexes of the blocks that EBS took.
        completed: The digests of CompleteSnapshot.
        discarded: The snapshots that were discarded.
        before_put: Is told of each block's index, and may refuse it.
        after_read: Is told how many blocks were read.
        stop: Tells the threads that the upload has ended.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer the program."""
        self.read = 0
        self.put: set[int] = set()
        self.completed: dict[int, bytes] = {}
        self.discarded: list[str] = []
        self.before_put: Callable[[int], object] = lambda _: None
        self.after_read: Callable[[int], object] = lambda _: None
        self.stop = threading.Event()
        monkeypatch.setattr(ebs_direct, "start", lambda *_, **__: "snap-1")
        monkeypatch.setattr(ebs_direct, "put", self._put)
        monkeypatch.setattr(ebs_direct, "complete", lambda _, __, digests: self.completed.update(digests))
        monkeypatch.setattr(snapshots, "wait_until_completed", lambda *_: None)
        monkeypatch.setattr(snapshots, "discard", lambda _, created: self.discarded.append(created))
        monkeypatch.setattr(image_file, "full_blocks", self._read)
        monkeypatch.setattr(snapshot_upload, "Event", lambda: self.stop)

    def _put(self, _: object, __: str, index: int, block: bytes, is_ended: Callable[[], bool]) -> bytes:
        assert is_ended == self.stop.is_set
        self.before_put(index)
        self.put.add(index)
        return block

    def _read(self, count: str, block_size: int) -> Iterator[tuple[int, bytes]]:
        assert block_size == BLOCK_SIZE
        for number in range(int(count)):
            self.read += 1
            yield 2 * number, b"%d" % number
            self.after_read(self.read)


@pytest.fixture
def ebs(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Ebs:
    """Return the EBS direct APIs."""
    vars(cloud)["clients"].ebs = None
    return Ebs(monkeypatch)


def upload(cloud: Cloud, blocks: int, undo: Undo | None = None) -> None:
    """Upload an image of so many blocks."""
    source = ImageSource(str(blocks), blocks, 2, "d", {}, "call-1", Encryption())
    snapshot_upload.upload(cloud, source, undo or Undo())


def threads_left() -> list[str]:
    """List the threads that still put blocks."""
    return [each.name for each in threading.enumerate() if "Pool" in each.name]


def test_parallel(cloud: Cloud, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread per connection puts blocks; the blocks that are read but not yet put are limited."""
    together, names, unwritten = threading.Barrier(MAX_CONNECTIONS, timeout=WAIT), set(), []
    go = threading.Event()

    def spied(pending: Collection[Future[bytes]], *how: Any) -> Any:
        unwritten.append(len(pending))
        go.set()
        return wait(pending, *how)

    def before_put(_: int) -> None:
        names.add(threading.current_thread().name)
        together.wait()
        assert go.wait(WAIT)

    monkeypatch.setattr(snapshot_upload, "wait", spied)
    ebs.before_put = before_put
    upload(cloud, 2 * IN_FLIGHT)
    assert len(names) == MAX_CONNECTIONS
    assert unwritten[0] == max(unwritten) == IN_FLIGHT
    assert ebs.completed == {2 * number: b"%d" % number for number in range(2 * IN_FLIGHT)}


@pytest.mark.parametrize("most", [0, 1])
def test_few_threads(cloud: Cloud, ebs: Ebs, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """The threads that can be started do all the work; without any, the upload fails."""
    permitted, start = iter(range(most)), threading.Thread.start

    def limited(thread: threading.Thread) -> None:
        if next(permitted, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    if most:
        upload(cloud, 2 * IN_FLIGHT)
        assert len(ebs.put) == 2 * IN_FLIGHT
    else:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            upload(cloud, 1)
    assert threads_left() == []


def test_progress(clock: Clock, program_log: ProgramLog) -> None:
    """The log has the progress every ten seconds, and at the end."""
    progress = snapshot_upload.Progress(8)
    for done, seconds in ((0, 9), (0, 1), (2, 9), (2, 2), (3, 3), (8, 5)):
        clock.now += seconds
        progress.report(done)
    assert [record.text for record in program_log.records] == [
        "Uploaded 0 of 4 MiB (0 %), 0.0 MiB/s",
        "Uploaded 1 of 4 MiB (25 %), 0.0 MiB/s",
        "Uploaded 4 of 4 MiB (100 %), 0.1 MiB/s",
    ]


@pytest.mark.parametrize(("is_signalled", "error"), [(False, ClientError), (True, Interrupted)])
@pytest.mark.usefixtures("signals")
def test_early_end(cloud: Cloud, ebs: Ebs, *, is_signalled: bool, error: type[BaseException]) -> None:
    """After an error or a signal no block is read, all threads end, and undo discards the snapshot."""
    all_busy = threading.Event()
    together = threading.Barrier(MAX_CONNECTIONS, all_busy.set, WAIT)

    def before_put(index: int) -> None:
        if not all_busy.is_set():
            together.wait()
        if index or is_signalled:  # throttled until the upload has ended
            assert ebs.stop.wait(WAIT)
        raise refusal("AccessDeniedException")

    def after_read(count: int) -> None:
        if is_signalled and count == MAX_CONNECTIONS:
            assert all_busy.wait(WAIT)
            signal.raise_signal(signal.SIGTERM)

    ebs.before_put, ebs.after_read = before_put, after_read
    undo = Undo()
    with pytest.raises(error, match=r"AccessDeniedException|SIGTERM"):
        upload(cloud, 1000, undo)
    assert ebs.read <= IN_FLIGHT + 1
    assert (ebs.completed, ebs.put, threads_left()) == ({}, set(), [])
    undo.run("an error")
    assert ebs.discarded == ["snap-1"]
