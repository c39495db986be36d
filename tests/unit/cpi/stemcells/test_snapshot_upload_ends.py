"""Uploads of an image that end early: by an error, a signal, or the image itself."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.clients import MAX_CONNECTIONS
from bosh_aws_cpi.cpi.stemcells.snapshot_upload import upload
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.cpi.block_uploads import IN_FLIGHT, SNAPSHOT, WAIT, Ebs, Image

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Ec2

pytestmark = pytest.mark.usefixtures("undone")


@pytest.fixture
def ebs(cloud: Cloud) -> Ebs:
    """Return EBS as the cloud has it."""
    fake = Ebs()
    vars(cloud)["clients"].ebs = fake
    return fake


def refusal(code: str) -> ClientError:
    """Make an error of PutSnapshotBlock."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "PutSnapshotBlock")


def threads_left() -> list[str]:
    """List the threads that still put blocks."""
    return [each.name for each in threading.enumerate() if "Pool" in each.name]


def test_first_error(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first error ends it: no further block is read, no thread goes on, and undo removes the rest."""
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


def test_image_that_ends_early(cloud: Cloud, ec2: Ec2, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that can't be read further ends it as well."""
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
    """EBS may throttle threads for minutes: after an error or a signal of the others none tries again."""
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
