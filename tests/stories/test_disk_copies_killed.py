"""update_disk by a copy that is killed at a call to AWS: one disk in the end, with the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testbed.killing import kill_at
from tests.stories.disk_copies import REQUEST, Copied

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.executable import Cpi
    from testbed.killing import When
    from testbed.world import World
    from tests.protocols import RunInstance

pytestmark = pytest.mark.faults

UPDATE = (*["DescribeVolumes"] * 2, "CopyVolumes", "DescribeVolumes", "CreateTags", "DescribeVolumes")
ATTACH = (
    *("DescribeInstances", "AttachVolume", "DescribeVolumes"),
    *("CreateTags", "DescribeVolumes", "DeleteVolume", "CreateTags"),
)
IN_UPDATE = [(nth, when) for nth in range(1, len(UPDATE) + 1) for when in ("before", "after")]
IN_ATTACH = [(nth, when) for nth in range(1, len(ATTACH) + 1) for when in ("before", "after")]


@pytest.fixture
def copied(cpi: Cpi, fake_aws: FakeAws, world: World, vm: RunInstance) -> Copied:
    """Have a disk with data, which is to be encrypted."""
    return Copied(cpi, fake_aws, world, vm())


def kill_update(copied: Copied, fake_aws: FakeAws, nth: int, when: When) -> None:
    """Kill update_disk at one of its calls."""
    assert kill_at(fake_aws, lambda: copied.start(**REQUEST), nth, when=when) == UPDATE[nth - 1]


@pytest.mark.parametrize(("nth", "when"), IN_UPDATE)
@pytest.mark.parametrize("context", [REQUEST, {}], ids=["same-request", "other-request"])
def test_updated_again(
    copied: Copied, fake_aws: FakeAws, nth: int, when: When, context: dict[str, str]
) -> None:
    """The next request for the disk that the Director knows yields one copy, and the old disk is deleted."""
    kill_update(copied, fake_aws, nth, when)
    new = copied.update(**context).ok()
    assert copied.disks == sorted([copied.cid, new])
    assert copied.attach(new).ok()
    assert (copied.disks, copied.writes(new)) == ([new], 2)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(("nth", "when"), IN_UPDATE)
def test_attached_instead(copied: Copied, fake_aws: FakeAws, nth: int, when: When) -> None:
    """If the Director attaches the old disk instead, no later copy lacks what is written on it."""
    kill_update(copied, fake_aws, nth, when)
    copied.use(copied.cid)
    new = copied.update(**REQUEST).ok()
    assert copied.attach(new).ok()
    assert (copied.disks, copied.writes(new)) == ([new], 3)


@pytest.mark.parametrize(("nth", "when"), IN_ATTACH)
def test_killed_while_attaching(copied: Copied, fake_aws: FakeAws, nth: int, when: When) -> None:
    """If the call that deletes the old disk is killed, the next one finishes the work."""
    new = copied.update().ok()
    fake_aws.forget_calls()
    assert (
        kill_at(fake_aws, lambda: copied.start_other("attach_disk", new), nth, when=when) == ATTACH[nth - 1]
    )
    copied.attach(new).ok()
    assert copied.disks == [new]
    assert copied.tags(new)["bosh_replaces"] == f"{copied.cid} deleted"
