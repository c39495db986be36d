"""Requests that are sent again: what an earlier attempt created is used, replaced or left alone."""

from collections.abc import Callable

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.killing import kill_at
from testbed.world import World
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story

pytestmark = pytest.mark.usefixtures("fast_clock")

REQUEST = {"request_id": "cpi-1"}
FAILED = ["<status>available<", "<status>error<"]


@pytest.fixture
def disk_of(cpi: Cpi) -> Callable[..., str]:
    """Return a function that has a disk created by a request, for a VM or for none; returns the disk's id."""

    def create(request_id: str, vm_cid: str | None = None) -> str:
        context = {"request_id": request_id}
        disk_cid: str = cpi.call("create_disk", 1024, {}, vm_cid, context=context).ok()
        return disk_cid

    return create


@pytest.mark.parametrize("use", ["attached", "tagged", "old"])
def test_disk_of_another_request(
    story: Story, disk_of: Callable[..., str], fake_aws: FakeAws, world: World, use: str
) -> None:
    """The disk of another request with the same id, which is used or old, stays: another one is created."""
    vm_cid = story.lay_vm()
    first = disk_of("cpi-1", vm_cid)
    assert disk_of("cpi-1", vm_cid) == first
    if use == "attached":
        world.ec2.attach_volume(VolumeId=first, InstanceId=vm_cid, Device="/dev/sdf")
    elif use == "tagged":
        world.ec2.create_tags(Resources=[first], Tags=[{"Key": "attached_at", "Value": "x"}])
    else:
        long_ago = ["<createTime>[^<]*<", "<createTime>2020-01-01T00:00:00.000Z<"]
        fake_aws.rule(action="DescribeVolumes", nth=1, times=2, replace=[long_ago])
    second = disk_of("cpi-1", vm_cid)
    assert second != first
    assert {first, second} <= set(world.state()["volumes"])


def test_disk_that_is_deleted(story: Story, cpi: Cpi, fake_aws: FakeAws) -> None:
    """If EBS has deleted what an attempt without an answer created, a new token creates the disk."""
    message = "The client token you have provided is associated with a resource that is already deleted."
    spent = {"code": "IdempotentParameterMismatch", "message": message, "status": 400}
    fault = {"code": "InternalError", "message": "An internal error.", "status": 500}
    for nth, error in enumerate((fault, spent), 1):
        fake_aws.rule(action="CreateVolume", nth=nth, error=error)
    disk_cid = cpi.call("create_disk", 1024, {}, None).ok()
    assert story.leftovers() == {"volumes": [disk_cid]}
    first, again, last = (each["ClientToken"] for each in story.parameters_of("CreateVolume"))
    assert first == again != last


@pytest.mark.parametrize("times", [1, None])
def test_disk_that_fails(story: Story, cpi: Cpi, fake_aws: FakeAws, times: int | None) -> None:
    """A disk that fails is removed, and one more is created, but no third."""
    fake_aws.rule(action="DescribeVolumes", nth=1, times=times, replace=[FAILED])
    answer = cpi.call("create_disk", 1024, {}, None, context=REQUEST)
    assert fake_aws.actions().count("CreateVolume") == 2
    assert story.leftovers() == ({"volumes": [answer.ok()]} if times else {})
    if times is None:
        assert "EBS could not create volume" in answer.error["message"]


def test_zones(disk_of: Callable[..., str], world: World) -> None:
    """Different requests spread over the zones; the same one chooses the same zone, and so its disk."""
    requests = [f"cpi-{number}" for number in range(6)]
    disks = [disk_of(each) for each in requests]
    assert [disk_of(each) for each in requests] == disks
    shown = world.ec2.describe_volumes(VolumeIds=disks)["Volumes"]
    assert len({each["AvailabilityZone"] for each in shown}) > 1


def test_snapshot(story: Story, cpi: Cpi, fake_aws: FakeAws) -> None:
    """If an earlier attempt's snapshot can't be waited for, it stays: the Director may have its id."""
    disk_cid = story.lay_disk()
    kill_at(
        fake_aws,
        lambda: cpi.start("snapshot_disk", disk_cid, {}, context=REQUEST),
        action="CreateSnapshot",
        when="after",
    )
    fake_aws.forget_calls()
    message = story.deny("DescribeSnapshots", nth=2)
    assert cpi.call("snapshot_disk", disk_cid, {}, context=REQUEST).error["message"] == message
    assert list(story.leftovers()) == ["volumes", "snapshots"]


def test_heavy_stemcell_that_failed(story: Story, heavy: Heavy, cpi: Cpi, fake_aws: FakeAws) -> None:
    """An earlier attempt's AMI that EC2 could not create is deleted with its snapshot, and is the error."""
    start = lambda: cpi.start("create_stemcell", *heavy.arguments, context=REQUEST)  # noqa: E731
    fake_aws.rule(action="RegisterImage", nth=1, states=["pending", "failed: no such kernel"])
    kill_at(fake_aws, start, action="RegisterImage", when="after")
    error = cpi.call("create_stemcell", *heavy.arguments, context=REQUEST).error
    assert error["message"].startswith("EC2 could not create AMI 'ami-")
    assert story.leftovers() == {}
