"""`cpi sweep`: the disks that update_disk has replaced, and copies that it did not finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testbed.killing import kill_at
from tests.stories.disk_copies import Copied
from tests.stories.operators import ANY_AGE, Sweep

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.executable import Cpi
    from testbed.world import World
    from tests.protocols import RunInstance

ASK = "left to you: name it with --disk"


@pytest.fixture
def copied(cpi: Cpi, fake_aws: FakeAws, world: World, vm: RunInstance) -> Copied:
    """Create a disk with data that update_disk will encrypt."""
    return Copied(cpi, fake_aws, world, vm())


def test_replaced(copied: Copied, sweep: Sweep) -> None:
    """An old disk that attach_disk could not delete is deleted, although EBS still copies its data."""
    copied.progress("0")
    new = copied.update().ok()
    copied.keep_old(1)
    copied.attach(new).ok()
    assert sweep.outcomes("--delete", *ANY_AGE, status=0) == {copied.cid: "removed"}
    assert (copied.disks, copied.writes(new)) == ([new], 2)
    copied.detach(new).ok()
    assert copied.tags(new)["bosh_replaces"] == f"{copied.cid} deleted"


def test_young(copied: Copied, sweep: Sweep) -> None:
    """The age of a replaced disk is that of its copy, however old the disk is."""
    new = copied.update().ok()
    copied.keep_old(1)
    copied.attach(new).ok()
    assert sweep.outcomes("--delete", status=0) == {copied.cid: "too young"}


def test_copy_that_is_not_attached(copied: Copied, sweep: Sweep) -> None:
    """If the copy is not attached, the Director may know either disk, so an operator has to decide."""
    new = copied.update().ok()
    assert sweep.outcomes("--delete", *ANY_AGE) == {copied.cid: ASK}
    assert sweep.outcomes("--delete", status=0) == {copied.cid: "too young"}
    removed = sweep.outcomes("--delete", "--disk", copied.cid, *ANY_AGE, status=0)
    assert (removed, copied.disks) == ({copied.cid: "removed"}, [new])


def test_copy_that_the_director_may_not_know(copied: Copied, sweep: Sweep, world: World) -> None:
    """A copy that somebody else has attached does not prove that the Director knows it."""
    new = copied.update().ok()
    world.ec2.attach_volume(InstanceId=copied.vm_cid, VolumeId=new, Device="/dev/sdq")
    assert sweep.outcomes("--delete", *ANY_AGE) == {copied.cid: ASK}


def test_unfinished_copy(copied: Copied, sweep: Sweep, fake_aws: FakeAws) -> None:
    """The copy of a killed update_disk is deleted if it is named; the Director's disk stays."""
    kill_at(fake_aws, copied.start, action="CopyVolumes", when="after")
    (copy,) = set(copied.disks) - {copied.cid}
    assert sweep.outcomes("--delete", *ANY_AGE) == {copy: ASK}
    assert sweep.outcomes("--delete", "--disk", copy, *ANY_AGE, status=0) == {copy: "removed"}
    assert (copied.disks, copied.writes(copied.cid)) == ([copied.cid], 1)
