"""update_disk by a copy that EBS does not make now: the CPI waits, or the Director copies the data."""

from functools import partial

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer
from testbed.killing import abandon_at, act_at
from testbed.world import World
from tests.stories.disk_copies import OWN_TAGS, Copied
from tests.stories.volumes import Volumes


@pytest.fixture
def in_progress(copied: Copied, fake_aws: FakeAws, volumes: Volumes, world: World) -> list[str]:
    """Have as many copies of other disks in progress as EBS allows; the second look sees each completed."""
    copied.progress("50", "100")
    sources = [volumes.make() for _ in range(5)]
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
    look = partial(world.ec2.describe_volume_status, VolumeIds=in_progress[:1])
    new = act_at(fake_aws, copied.start, lambda: [look(), look()], action="CopyVolumes", when="after").ok()
    assert fake_aws.actions().count("CopyVolumes") == 2
    assert copied.writes(new) == 1
    assert copied.tags(copied.cid)["bosh_replaced_by"] == new


@pytest.mark.usefixtures("in_progress")
def test_caller_gone_while_waiting(copied: Copied, fake_aws: FakeAws) -> None:
    """A call that waits for another copy ends when its caller is gone, and leaves nothing."""
    before = copied.disks
    abandon_at(fake_aws, copied.start, action="CopyVolumes", when="after")
    assert fake_aws.actions().count("CopyVolumes") == 1
    assert (copied.disks, copied.tags(copied.cid)) == (before, OWN_TAGS)


def test_copied_by_somebody_else(copied: Copied, world: World) -> None:
    """A disk that somebody else is copying is not copied now: the error says so at once."""
    copied.progress("50")
    (copy,) = world.ec2.copy_volumes(SourceVolumeId=copied.cid)["Volumes"]
    check_refused(copied, copied.update(), "CopyVolumes failed with ConcurrentCopyVolumeLimitExceeded: ")
    assert copied.disks == sorted([copied.cid, copy["VolumeId"]])
