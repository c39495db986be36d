"""`cpi sweep`: the disks that update_disk has replaced, and copies that it did not finish."""

from testbed.cloud import FakeAws
from testbed.killing import kill_at
from tests.stories.disk_copies import Copied
from tests.stories.operators import ANY_AGE, Sweep

ASK = "left to you: name it with --disk"


def test_both(copied: Copied, sweep: Sweep) -> None:
    """The old disk and a copy that was never attached are left to a person, who reads where to look."""
    new = copied.update().ok()
    first = "by update_disk: first look in bosh disks --orphaned and bosh instances --details"
    rows = sweep("--json", "--delete", *ANY_AGE).document["strays"]
    assert {row["id"]: row["why"] for row in rows} == {
        copied.cid: f"replaced by {new}, {first}",
        new: f"a copy of {copied.cid} without the Director's tags, {first}",
    }
    assert sweep.outcomes("--delete", *ANY_AGE) == {copied.cid: ASK, new: ASK}
    removed = sweep.outcomes("--delete", "--disk", new, *ANY_AGE)
    assert (removed, copied.disks) == ({copied.cid: ASK, new: "removed"}, [copied.cid])


def test_attached_copy(copied: Copied, sweep: Sweep) -> None:
    """A copy that the Director has attached is a disk like any other; the old disk is still listed."""
    copied.use(copied.update().ok())
    assert sweep.outcomes("--delete", *ANY_AGE) == {copied.cid: ASK}


def test_old_disk_in_use(copied: Copied, sweep: Sweep) -> None:
    """An old disk that is attached is no stray."""
    new = copied.update().ok()
    copied.attach(copied.cid)
    assert sweep.outcomes(*ANY_AGE) == {new: ASK}


def test_unfinished_copy(copied: Copied, sweep: Sweep, fake_aws: FakeAws) -> None:
    """The copy of a killed update_disk is deleted if it is named; the Director's disk stays."""
    kill_at(fake_aws, copied.start, action="CopyVolumes", when="after")
    (copy,) = set(copied.disks) - {copied.cid}
    assert sweep.outcomes("--delete", *ANY_AGE) == {copy: ASK}
    assert sweep.outcomes("--delete", "--disk", copy, *ANY_AGE, status=0) == {copy: "removed"}
    assert (copied.disks, copied.writes(copied.cid)) == ([copied.cid], 1)
