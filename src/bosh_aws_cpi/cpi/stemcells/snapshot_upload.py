"""Writes an image into a snapshot with the EBS direct APIs. This works anywhere, without a VM or sudo."""

import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Final, Generic, TypeVar

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import ebs_direct, snapshots
from bosh_aws_cpi.aws.sdk.clients import MAX_CONNECTIONS
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells import image_file
from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.log import counted, logger
from bosh_aws_cpi.plan.tags import STEMCELL_TAG

Job = TypeVar("Job")
Result = TypeVar("Result")


class Workers(Generic[Job, Result]):
    """Carries out jobs in threads. If no thread can be started, the caller's thread does the work.

    Args:
        work: Carries out a job.
        most: The maximum number of threads.
    """

    def __init__(self, work: Callable[[Job], Result], most: int) -> None:
        self.pending = 0
        """The number of jobs whose results are not collected yet."""
        self._work = work
        self._most = most
        self._threads: list[Thread] = []
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._done: SimpleQueue[Result | BaseException] = SimpleQueue()

    @property
    def is_busy(self) -> bool:
        """Whether every thread has a job, and another one waits for it."""
        return self.pending >= max(1, 2 * len(self._threads))

    def submit(self, job: Job) -> None:
        """Start a job; without threads, carry it out."""
        if len(self._threads) < self._most:
            self._start_thread()
        self.pending += 1
        if self._threads:
            self._jobs.put(job)
        else:
            self._done.put(self._outcome(job))

    def collect(self, seconds: float) -> list[Result]:
        """The new results; waits so many seconds at most for the first one.

        Raises:
            Exception: The error of a job.
            MemoryError: A thread has ended without a result.
        """
        results: list[Result] = []
        with suppress(Empty):
            outcome = self._done.get(timeout=seconds)
            while True:
                self.pending -= 1
                if isinstance(outcome, BaseException):
                    raise outcome
                results.append(outcome)
                outcome = self._done.get_nowait()
        if not all(thread.is_alive() for thread in self._threads):
            raise MemoryError
        return results

    def end(self) -> None:
        """Wait for the jobs, and end the threads."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _start_thread(self) -> None:
        count = len(self._threads)
        try:
            thread = Thread(target=self._run, daemon=True)
            with interrupts.shielded():  # `end` must know each thread that takes jobs
                thread.start()
                self._threads.append(thread)
        except RuntimeError as error:
            logger.warning("Uploading in %d of %d threads, because of a limit: %s", count, self._most, error)
            self._most = count

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._done.put(self._outcome(job))
            del job  # frees its memory while the thread waits

    def _outcome(self, job: Job) -> Result | BaseException:
        try:
            return self._work(job)
        except BaseException as error:  # noqa: BLE001 - `collect` raises it
            return error


_FIRST_REPORT: Final = 5.0
"""Seconds until the first log line about the progress; the interval doubles with each line."""
_MIB: Final = 1 << 20


def upload(cloud: Cloud, source: ImageSource, undo: Undo) -> str:
    """Write an image into a new snapshot and wait until it is completed.

    Args:
        undo: Gets the step that discards the snapshot.

    Returns:
        The snapshot's id.

    Raises:
        CloudError: EBS did not accept the image; nothing is left behind once undo has run.
        ClientError: The same; or the account may not use the EBS direct APIs.
    """
    ebs, ec2 = cloud.clients.ebs, cloud.ec2  # both are created before there is a snapshot to discard
    snapshot_id = undo.create(
        lambda: ebs_direct.start(
            ebs,
            size_gib=source.size_gib,
            description=source.description,
            tags=source.tags,
            encryption=source.encryption,
            client_token=str(uuid.uuid4()),  # an earlier call's may belong to a deleted snapshot
            find=lambda: snapshots.find_marked(ec2, (STEMCELL_TAG, source.call_id)),
        ),
        lambda created: snapshots.discard(ec2, created),
    )
    stop = Event()
    digests = _put_all(
        partial(_put, cloud, snapshot_id, stop),
        stop,
        image_file.full_blocks(source.path, ebs_direct.BLOCK_SIZE),
        _Progress(source.survey.full_blocks * ebs_direct.BLOCK_SIZE),
    )
    ebs_direct.complete(ebs, snapshot_id, digests)
    snapshots.wait_until_completed(ec2, snapshot_id)
    return snapshot_id


_Digest = tuple[int, bytes]


def _put(cloud: Cloud, snapshot_id: str, stop: Event, job: tuple[int, bytes]) -> _Digest:
    index, block = job
    return index, ebs_direct.put(cloud.clients.ebs, snapshot_id, index, block, stop.is_set)


def _put_all(
    put: Callable[[tuple[int, bytes]], _Digest],
    stop: Event,
    blocks: Iterable[tuple[int, bytes]],
    progress: "_Progress",
) -> dict[int, bytes]:
    """Upload all blocks in several threads, with few of them in memory; the first error ends the upload."""
    digests: dict[int, bytes] = {}
    workers = Workers(put, MAX_CONNECTIONS)

    def collect() -> None:
        interrupts.check()
        done = workers.collect(_FIRST_REPORT)
        digests.update(done)
        progress.count(len(done) * ebs_direct.BLOCK_SIZE)

    try:
        for job in blocks:
            workers.submit(job)
            while workers.is_busy:
                collect()
        while workers.pending:
            collect()
    finally:
        stop.set()  # otherwise the threads would go on with their retries
        workers.end()
    return digests


class _Progress:
    """Logs the progress, early at first and then at growing intervals.

    Args:
        total: The size of the upload in bytes.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._began = time.monotonic()
        self._next = self._began + _FIRST_REPORT

    def count(self, size: int) -> None:
        """Count written bytes."""
        self._done += size
        now = time.monotonic()
        is_last = bool(size) and self._done >= self._total
        if now < self._next and not is_last:
            return
        self._next = now + (now - self._began) + _FIRST_REPORT
        rate = self._done / max(now - self._began, 0.001)
        left = "waiting for EBS"
        if self._done:
            left = f"{counted((self._total - self._done) / rate, 'second')} left"
        logger.info(
            "Uploaded %d of %d MiB, %.1f MiB/s, %s",
            self._done // _MIB,
            self._total // _MIB,
            rate / _MIB,
            left,
        )
