"""Writes an image into a snapshot with the EBS direct APIs. This works anywhere, without a VM or sudo."""

import time
import uuid
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Final

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import ebs_direct, snapshots
from bosh_aws_cpi.aws.ebs_direct import BLOCK_SIZE
from bosh_aws_cpi.aws.sdk.clients import MAX_CONNECTIONS
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells import image_file
from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan.tag_plan import STEMCELL_TAG

_MOST_PENDING: Final = 2 * MAX_CONNECTIONS
"""Blocks in memory: one for each thread, and another that waits for it."""
_CHECK_INTERVAL: Final = 1.0
"""Seconds until a signal is noticed while EBS takes no block."""
_REPORT_INTERVAL: Final = 10.0
"""Seconds between two log lines about the progress."""


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
    ebs_direct.complete(ebs, snapshot_id, _put_all(cloud, snapshot_id, source))
    snapshots.wait_until_completed(ec2, snapshot_id)
    return snapshot_id


def _put_all(cloud: Cloud, snapshot_id: str, source: ImageSource) -> dict[int, bytes]:
    """Upload all blocks in several threads, with few of them in memory; the first error ends the upload.

    A signal never ends a step of the pool, which would leave its locks behind, or a thread that it does not
    know.

    Returns:
        The SHA-256 of each block, by its index.
    """
    digests: dict[int, bytes] = {}
    pending: dict[Future[bytes], int] = {}
    stop = Event()
    progress = Progress(source.full_blocks)
    pool = _Pool(MAX_CONNECTIONS)

    def collect(most_left: int) -> None:
        while len(pending) > most_left:
            interrupts.check()
            with interrupts.shielded():
                done = wait(pending, _CHECK_INTERVAL, FIRST_COMPLETED).done
            digests.update((pending.pop(each), each.result()) for each in done)
            progress.report(len(digests))

    try:
        for index, block in image_file.full_blocks(source.path, BLOCK_SIZE):
            with interrupts.shielded():
                put = pool.submit(ebs_direct.put, cloud.clients.ebs, snapshot_id, index, block, stop.is_set)
                pending[put] = index
            collect(_MOST_PENDING - 1)
        collect(0)
    finally:
        stop.set()  # otherwise the threads would go on with their retries
        with interrupts.shielded():
            pool.shutdown(cancel_futures=True)
    return digests


class _Pool(ThreadPoolExecutor):
    """A thread pool that continues with fewer threads if the system denies more.

    The library has no other place to say so than this method.
    """

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:  # can't start new thread; the job is in the queue already
            if not self._threads:
                raise


class Progress:
    """Logs the progress at intervals, and at the end."""

    def __init__(self, blocks: int) -> None:
        self._blocks = blocks
        self._began = time.monotonic()
        self._next = _REPORT_INTERVAL

    def report(self, done: int) -> None:
        """Log how many blocks are written, if the interval has passed."""
        seconds = time.monotonic() - self._began
        if seconds < self._next and done < self._blocks:
            return
        self._next = seconds + _REPORT_INTERVAL
        written, total = (count * BLOCK_SIZE / image_file.MIB for count in (done, self._blocks))
        part, speed = 100 * done // self._blocks, written / max(seconds, 0.001)
        logger.info("Uploaded %d of %d MiB (%d %%), %.1f MiB/s", written, total, part, speed)
