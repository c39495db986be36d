"""update_disk by a copy while other calls use the disk or its copies: no data are lost."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import DIRECTOR_UUID, finish
from testbed.killing import kill_at, leave
from tests.stories.disk_copies import REQUEST, Copied
from tests.stories.operators import ANY_AGE, Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testbed.cloud import FakeAws
    from testbed.executable import Answer, Cpi
    from testbed.world import World
    from tests.protocols import RunInstance, WriteError


@pytest.fixture
def copied(cpi: Cpi, fake_aws: FakeAws, world: World, vm: RunInstance) -> Copied:
    """Have a disk with data, which is to be encrypted."""
    return Copied(cpi, fake_aws, world, vm())


@contextmanager
def abandoned(
    copied: Copied, fake_aws: FakeAws, context: dict[str, str] | None = None, **rule: Any
) -> Iterator[None]:
    """Have an update_disk whose caller goes away while a call to AWS is held; it continues at the end."""
    fake_aws.rule(**rule)
    process = copied.start(**(context or {}))
    try:
        assert fake_aws.wait_until_held() == [rule["action"]]
        leave(process)
        yield
    finally:
        fake_aws.release()
        finish(process)


def test_copy_of_another_call(copied: Copied, fake_aws: FakeAws) -> None:
    """A call whose caller is gone does not discard the copy that another call has returned."""
    with abandoned(copied, fake_aws, action="DescribeVolumes", hold=True):
        new = copied.update().ok()
    assert copied.disks == sorted([copied.cid, new])


def test_copy_that_is_attached_meanwhile(copied: Copied, fake_aws: FakeAws) -> None:
    """A copy that is attached right before it would be discarded is the disk, and is not deleted later."""
    new = copied.update().ok()
    with abandoned(copied, fake_aws, action="DeleteVolume", hold_before=True):
        copied.attach(new).ok()
    copied.detach(new).ok()
    assert (copied.disks, copied.writes(new)) == ([new], 2)


def test_link_of_another_call(copied: Copied, fake_aws: FakeAws) -> None:
    """A call whose caller is gone does not empty the link to the copy of another call."""
    with abandoned(copied, fake_aws, action="CreateTags", hold=True):
        new = copied.update().ok()
        copied.keep_old(1)
        copied.attach(new).ok()
    assert copied.tags(copied.cid)["bosh_replaced_by"] == new
    copied.detach(new).ok()
    assert copied.disks == [new]


UPDATE = (*["DescribeVolumes"] * 2, "CopyVolumes", "DescribeVolumes", "CreateTags", "DescribeVolumes")
WHENS = ("hold_before", "hold")
LAST = (len(UPDATE), "hold")


@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("nth", range(1, len(UPDATE) + 1))
def test_old_disk_attached_meanwhile(copied: Copied, fake_aws: FakeAws, nth: int, when: str) -> None:
    """If the old disk is attached before the last look at it, that is an error; after it, the copy stays."""
    fake_aws.rule(action="*", nth=nth, **{when: True})
    process = copied.start()
    try:
        assert fake_aws.wait_until_held() == [UPDATE[nth - 1]]
        copied.attach(copied.cid).ok()
    finally:
        fake_aws.release()
        answer = finish(process)
    check_outcome(copied, answer, is_copied=(nth, when) == LAST)


@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize(
    ("method", "action", "copied_at"),
    [
        ("attach_disk", "DescribeInstances", WHENS),
        ("attach_disk", "AttachVolume", WHENS[:1]),
        ("attach_disk", "DescribeVolumes", ()),
        ("detach_disk", "DetachVolume", WHENS[1:]),
        ("detach_disk", "DescribeVolumes", WHENS),
    ],
)
def test_copied_meanwhile(
    copied: Copied, fake_aws: FakeAws, method: str, action: str, copied_at: tuple[str, ...], when: str
) -> None:
    """Whatever update_disk returns while another call attaches or detaches the old disk stays."""
    if method == "detach_disk":
        copied.attach(copied.cid).ok()
    fake_aws.rule(action=action, **{when: True})
    process = copied.start_other(method, copied.cid)
    try:
        assert fake_aws.wait_until_held() == [action]
        answer = copied.update()
    finally:
        fake_aws.release()
        finish(process).ok()
    check_outcome(copied, answer, is_copied=when in copied_at)


def check_outcome(copied: Copied, answer: Answer, *, is_copied: bool) -> None:
    """Check that update_disk failed and left nothing, or that its copy stays, and no data are lost."""
    if not is_copied:
        assert answer.error["type"] == "Bosh::Clouds::NotSupported"
        assert "A copy can't replace it either: it " in answer.error["message"]
        assert (copied.disks, copied.writes(copied.cid)) == ([copied.cid], 2)
        return
    new = answer.ok()
    assert copied.disks == sorted([copied.cid, new])
    own = copied.tags(new)
    assert (own["bosh_director_uuid"], own["bosh_replaces"]) == (DIRECTOR_UUID, copied.cid)
    if copied.shown(copied.cid)["Attachments"]:
        copied.detach(copied.cid).ok()
    copied.attach(new).ok()
    assert new in copied.disks
    assert copied.cid in copied.disks or copied.writes(new) == 3


def test_copy_that_is_another_disk(copied: Copied) -> None:
    """If the Director uses both disks, a request for the old one does not return the other one."""
    new = copied.update().ok()
    copied.keep_old(2)
    copied.use(new)
    copied.use(copied.cid)
    copied.attach(new).ok()
    newest = copied.update().ok()
    assert newest not in {copied.cid, new}
    assert copied.disks == sorted([copied.cid, new, newest])


def test_stale_copy(copied: Copied, fake_aws: FakeAws, world: World, failure: WriteError) -> None:
    """A copy of a killed call, which may lack data, does not replace an old disk that is gone."""
    kill_at(fake_aws, copied.start, action="CopyVolumes", when="after")
    copied.use(copied.cid)
    world.ec2.delete_volume(VolumeId=copied.cid)
    assert copied.update().error == failure("DiskNotFound", f"Disk '{copied.cid}' not found")


@pytest.mark.parametrize(
    ("action", "nth"), [("CopyVolumes", 1), ("DescribeVolumes", 3), ("CreateTags", 1), ("DescribeVolumes", 4)]
)
@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("is_used", [False, True], ids=["returned", "used"])
def test_copy_of_an_equal_call(
    copied: Copied, fake_aws: FakeAws, action: str, nth: int, when: str, *, is_used: bool
) -> None:
    """A call whose caller is gone does not delete the copy that an equal call has returned."""
    with abandoned(copied, fake_aws, REQUEST, action=action, nth=nth, **{when: True}):
        new = copied.update(**REQUEST).ok()
        if is_used:
            copied.use(new)
    assert copied.disks == ([new] if is_used else sorted([copied.cid, new]))
    copied.use(new)
    assert (copied.disks, copied.writes(new)) == ([new], 3 if is_used else 2)


@pytest.mark.parametrize("nth", [1, 2], ids=["before it is taken", "before the last look"])
def test_deleted_by_an_equal_call(copied: Copied, fake_aws: FakeAws, world: World, nth: int) -> None:
    """If a copy is gone because an equal call discarded it late, the volume is copied again."""
    kill_at(fake_aws, lambda: copied.start(**REQUEST), action="CopyVolumes", when="after")
    (discarded,) = set(copied.disks) - {copied.cid}
    fake_aws.rule(action="CreateTags", nth=nth, hold_before=True)
    process = copied.start(**REQUEST)
    try:
        assert fake_aws.wait_until_held() == ["CreateTags"]
        world.ec2.delete_volume(VolumeId=discarded)
    finally:
        fake_aws.release()
        new = finish(process).ok()
    assert (copied.disks, new != discarded) == (sorted([copied.cid, new]), True)
    copied.use(new)
    assert (copied.disks, copied.writes(new)) == ([new], 2)


def test_taking_refused(copied: Copied, fake_aws: FakeAws) -> None:
    """If EC2 refuses the tag with which a call takes the copy of an equal call, the log names the copy."""
    kill_at(fake_aws, lambda: copied.start(**REQUEST), action="CopyVolumes", when="after")
    (copy,) = set(copied.disks) - {copied.cid}
    refusal = {"code": "UnauthorizedOperation", "message": "No."}
    fake_aws.rule(action="CreateTags", error=refusal)
    answer = copied.update(**REQUEST)
    assert answer.error["type"] == "Bosh::Clouds::NotSupported"
    assert f"Perhaps left behind: volume '{copy}'" in answer.stderr


def test_copy_of_an_equal_call_in_doubt(copied: Copied, fake_aws: FakeAws) -> None:
    """If EC2 does not show the copy, a call that fails keeps it: it may be the only one with the data."""
    with abandoned(copied, fake_aws, REQUEST, action="CopyVolumes", hold=True):
        new = copied.update(**REQUEST).ok()
        copied.use(new)
        refusal = {"code": "UnauthorizedOperation", "message": "No."}
        fake_aws.rule(action="DescribeVolumes", error=refusal)
    fake_aws.clear_rules()
    assert (copied.disks, copied.writes(new)) == ([new], 2)


def test_tag_at_the_same_time(copied: Copied, fake_aws: FakeAws) -> None:
    """If somebody else tags the copy at the same moment, the note that the Director uses it is retried."""
    new = copied.update().ok()
    fake_aws.rule(action="CreateTags", times=2, error={"code": "ConcurrentTagAccess", "message": "Wait."})
    copied.attach(new).ok()
    assert copied.tags(new)["bosh_replaces"] == f"{copied.cid} deleted"


def test_copy_without_its_note(copied: Copied, fake_aws: FakeAws) -> None:
    """A copy that the Director has tagged stays if the old disk is used again, even if its note failed."""
    new = copied.update().ok()
    fake_aws.rule(action="CreateTags", times=1, error={"code": "UnauthorizedOperation", "message": "No."})
    copied.attach(new).ok()
    copied.tag(new)
    fake_aws.rule(action="CreateTags", times=1, error={"code": "UnauthorizedOperation", "message": "No."})
    copied.detach(new).ok()
    copied.use(copied.cid)
    assert copied.disks == sorted([copied.cid, new])
    assert copied.tags(new)["bosh_replaces"] == f"{copied.cid} known"
    newest = copied.update().ok()
    assert copied.disks == sorted([copied.cid, new, newest])


def test_sweep_of_a_disk_that_is_kept(copied: Copied, cpi: Cpi, fake_aws: FakeAws) -> None:
    """An old disk that its copy no longer replaces is left to the operator."""
    new = copied.update().ok()
    copied.keep_old(2)
    copied.use(new)
    copied.use(copied.cid)
    copied.attach(new).ok()
    ask = "left to you: name it with --disk"
    assert Sweep(cpi, fake_aws).outcomes("--delete", *ANY_AGE) == {copied.cid: ask}
