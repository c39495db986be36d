"""Writes an image into a snapshot with the EBS direct APIs. This works anywhere, without a VM or sudo."""

import time
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event
from typing import Final

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import ebs_direct, snapshots
from bosh_aws_cpi.aws.sdk.clients import MAX_CONNECTIONS
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells import image_file
from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
from bosh_aws_cpi.cpi.stemcells.workers import Workers
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan.tags import STEMCELL_TAG

_FIRST_REPORT: Final = 5.0
"""Seconds until the first log line about the progress; the interval doubles with each line."""
_MIB: Final = 1 << 20


def upload(cloud: Cloud, source: ImageSource, undo: Undo) -> str:
    """Write an image into a new snapshot and wait until it is completed.

    Args:
        cloud: The call's cloud.
        source: The image.
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
        left = f"{(self._total - self._done) / rate:.0f} seconds left" if self._done else "waiting for EBS"
        logger.info(
            "Uploaded %d of %d MiB, %.1f MiB/s, %s",
            self._done // _MIB,
            self._total // _MIB,
            rate / _MIB,
            left,
        )
