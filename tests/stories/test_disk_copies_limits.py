"""update_disk by a copy that EBS does not make now: the CPI waits, or the Director copies the data."""

from collections.abc import Iterator

import pytest

from testbed.cloud import FakeAws
from testbed.executable import FORK_FROM, Answer, Cpi, finish
from testbed.killing import leave
from testbed.warm import Warm
from testbed.world import World
from tests.protocols import RunInstance
from tests.stories.disk_copies import OWN_TAGS, Copied
from tests.stories.volumes import Volumes

MOST = 5
"""Copies in progress in a Region."""


@pytest.fixture(scope="session")
def hurriedly_loaded() -> Iterator[Warm]:
    """Run what the executable is forked from, with a clock for waits of minutes."""
    with Warm(100) as warm:
        yield warm


@pytest.fixture
def hurried(warm: None, hurriedly_loaded: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the executable with that clock."""
    del warm  # comes first, and this over it
    monkeypatch.setenv(FORK_FROM, hurriedly_loaded.path)


@pytest.fixture
def copied(cpi: Cpi, fake_aws: FakeAws, world: World, vm: RunInstance) -> Copied:
    """Have a disk with data, which is to be encrypted."""
    return Copied(cpi, fake_aws, world, vm())


@pytest.fixture
def in_progress(copied: Copied, fake_aws: FakeAws, volumes: Volumes, world: World) -> list[str]:
    """Have as many copies of other disks in progress as EBS allows; the second look sees each completed."""
    copied.progress("50", "100")
    sources = [volumes.make() for _ in range(MOST)]
    answers = [world.ec2.copy_volumes(SourceVolumeId=source)["Volumes"] for source in sources]
    fake_aws.clear_rules()
    fake_aws.forget_calls()
    return [volume["VolumeId"] for (volume,) in answers]


def check_refused(copied: Copied, answer: Answer, *why: str) -> None:
    """Check that the Director has to copy the data, and that the disk is as it was."""
    assert answer.error["type"] == "Bosh::Clouds::NotSupported"
    begin = f"Volume '{copied.cid}' can't be encrypted in place. A copy can't replace it either: "
    assert answer.error["message"].startswith(begin)
    for part in why:
        assert part in answer.error["message"]
    assert copied.tags(copied.cid) == OWN_TAGS


def test_sixth_copy(copied: Copied, in_progress: list[str], fake_aws: FakeAws, world: World) -> None:
    """While five copies are in progress, update_disk waits; it makes its copy when one of them completes."""
    fake_aws.rule(action="CopyVolumes", hold=True)
    process = copied.start()
    try:
        assert fake_aws.wait_until_held() == ["CopyVolumes"]
        for _ in range(2):
            world.ec2.describe_volume_status(VolumeIds=in_progress[:1])
    finally:
        fake_aws.release()
        new = finish(process).ok()
    assert fake_aws.actions().count("CopyVolumes") == 2
    assert copied.writes(new) == 1
    assert copied.tags(copied.cid)["bosh_replaced_by"] == new


@pytest.mark.usefixtures("hurried")
def test_too_many_copies(copied: Copied, fake_aws: FakeAws) -> None:
    """If no copy is accepted within five minutes, the Director copies the data; the log says why.

    The refusal may have the status of a server error.
    """
    refusal = {"code": "CopyVolumesLimitExceeded", "message": "No.", "status": 503}
    fake_aws.rule(action="CopyVolumes", error=refusal)
    answer = copied.update()
    why = "CopyVolumes failed with CopyVolumesLimitExceeded: "
    check_refused(copied, answer, why, "for 300 seconds. To copy more volumes at once, ask AWS to raise the")
    waited = f"Still waiting after 1 min for EBS to accept a copy of volume '{copied.cid}': "
    assert f"{waited}CopyVolumesLimitExceeded" in answer.stderr
    assert copied.disks == [copied.cid]


@pytest.mark.usefixtures("in_progress")
def test_caller_gone_while_waiting(copied: Copied, fake_aws: FakeAws) -> None:
    """A call that waits for another copy ends when its caller is gone, and leaves nothing."""
    before = copied.disks
    fake_aws.rule(action="CopyVolumes", hold=True)
    process = copied.start()
    try:
        assert fake_aws.wait_until_held() == ["CopyVolumes"]
        leave(process)
    finally:
        fake_aws.release()
        finish(process)
    assert fake_aws.actions().count("CopyVolumes") == 1
    assert (copied.disks, copied.tags(copied.cid)) == (before, OWN_TAGS)


def test_copied_by_somebody_else(copied: Copied, world: World) -> None:
    """A disk that somebody else is copying is not copied now: the error says so at once."""
    copied.progress("50")
    (copy,) = world.ec2.copy_volumes(SourceVolumeId=copied.cid)["Volumes"]
    check_refused(copied, copied.update(), "CopyVolumes failed with ConcurrentCopyVolumeLimitExceeded: ")
    assert copied.disks == sorted([copied.cid, copy["VolumeId"]])


def test_copy_in_progress(copied: Copied) -> None:
    """A copy that is not complete is not copied: the Director copies its data."""
    copied.progress("50")
    first = copied.update().ok()
    error = copied.update_other(first).error
    assert error["type"] == "Bosh::Clouds::NotSupported"
    assert "CopyVolumes failed with IncorrectState: " in error["message"]
    assert (copied.disks, copied.writes(first)) == (sorted([copied.cid, first]), 1)
