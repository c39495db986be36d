"""update_disk by a copy that is killed at a call to AWS: the disk stays, and so does its data."""

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

UPDATE = ("DescribeVolumes", "CopyVolumes", "DescribeVolumes", "CreateTags", "DescribeVolumes")
IN_UPDATE = [(nth, when) for nth in range(1, len(UPDATE) + 1) for when in ("before", "after")]


@pytest.fixture
def copied(cpi: Cpi, fake_aws: FakeAws, world: World, vm: RunInstance) -> Copied:
    """Have a disk with data, which is to be encrypted."""
    return Copied(cpi, fake_aws, world, vm())


def kill_update(copied: Copied, fake_aws: FakeAws, nth: int, when: When) -> None:
    """Kill update_disk at one of its calls."""
    assert kill_at(fake_aws, lambda: copied.start(**REQUEST), nth, when=when) == UPDATE[nth - 1]


@pytest.mark.parametrize(("nth", "when"), IN_UPDATE)
def test_same_request(copied: Copied, fake_aws: FakeAws, nth: int, when: When) -> None:
    """A retry within the request finds the copy: there is one, with the data."""
    kill_update(copied, fake_aws, nth, when)
    new = copied.update(**REQUEST).ok()
    assert (copied.disks, copied.writes(new)) == (sorted([copied.cid, new]), 1)
    assert copied.tags(copied.cid)["bosh_replaced_by"] == new


@pytest.mark.parametrize(("nth", "when"), IN_UPDATE)
def test_disk_is_used_again(copied: Copied, fake_aws: FakeAws, nth: int, when: When) -> None:
    """If the Director uses the old disk, the copy of its next request has what was written since."""
    kill_update(copied, fake_aws, nth, when)
    copied.use(copied.cid)
    assert copied.writes(copied.update().ok()) == 2
