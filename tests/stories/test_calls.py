"""What each method asks of AWS when all goes well, and what it says meanwhile: no more than it must."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi
from testbed.world import World
from tests.gathering import GATHERED
from tests.stories.story import Story

MIB_OF_2_GIB = 2048
SIZE = {"cpu": 1, "ram": 512, "ephemeral_disk_size": 1024}
TAGS = {"director": "d", "deployment": "cf", "job": "router", "index": "0", "id": "1"}
LOOK = "DescribeVolumesModifications"
MOST_ON_STDERR = 2560
"""Bytes that a call may log at the default level: the Director reads them one by one."""


@dataclass
class There:
    """What is there before each call: a VM, a disk, what of it the call wants, and create_vm's arguments."""

    world: World
    vm_cid: str
    disk_cid: str
    vm_arguments: list[Any]


@pytest.fixture
def there(story: Story, world: World) -> There:
    """Have a VM and a disk."""
    return There(world, story.lay_vm(), story.lay_disk(), story.vm_arguments())


CASES: list[tuple[str, Callable[[There], list[Any]], list[str]]] = [
    ("info", lambda _: [], []),
    ("calculate_vm_cloud_properties", lambda _: [SIZE], []),
    (
        "create_stemcell",
        lambda there: ["", {"ami": {"us-east-1": there.world.image_id}}],
        ["DescribeImages"],
    ),
    ("delete_stemcell", lambda there: [f"{there.world.image_id} light"], []),
    ("create_vm", lambda there: there.vm_arguments, [*GATHERED, "RunInstances", "DescribeInstances"]),
    ("create_disk", lambda _: [1024, {}], ["DescribeAvailabilityZones", "CreateVolume", "DescribeVolumes"]),
    ("resize_disk", lambda there: [there.disk_cid, 1024], ["DescribeVolumes"]),
    (
        "resize_disk",
        lambda there: [there.disk_cid, MIB_OF_2_GIB],
        ["DescribeVolumes", LOOK, "ModifyVolume", LOOK],
    ),
    (
        "update_disk",
        lambda there: [there.disk_cid, 4 * MIB_OF_2_GIB, {"iops": 4000}],
        ["DescribeVolumes", LOOK, "ModifyVolume", LOOK],
    ),
    (
        "snapshot_disk",
        lambda there: [there.disk_cid, TAGS],
        ["DescribeVolumes", "CreateSnapshot", "DescribeSnapshots"],
    ),
]
"""Method, arguments, calls: requests that no scenario of tests/faults makes; resources are usable at once."""


def called(answer: Answer) -> str:
    """Return what the log says of the calls to AWS, which it does once."""
    found = [line.partition(" seconds, ")[2] for line in answer.stderr.splitlines() if " seconds" in line]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("method", "arguments", "expected"), CASES, ids=[f"{case[0]}-{len(case[2])}" for case in CASES]
)
def test_calls(
    cpi: Cpi,
    there: There,
    fake_aws: FakeAws,
    method: str,
    arguments: Callable[[There], list[Any]],
    expected: list[str],
) -> None:
    """A method makes the calls that it can't do without; of these, and of little else, its log tells."""
    given = arguments(there)
    fake_aws.forget_calls()
    answer = cpi.call(method, *given, stemcell=2)
    answer.ok()
    told = Counter(expected)
    assert Counter(fake_aws.actions()) == told
    count, _, names = called(answer).partition("0 throttled (")
    assert count == (f"{len(expected)} AWS call{'s' * (len(expected) != 1)}, 0 retries, " if expected else "")
    listed = {f"ec2.{name}" if n == 1 else f"{n} x ec2.{name}" for name, n in told.items()}
    assert set(filter(None, names.removesuffix(")").split(", "))) == listed
    assert len(answer.stderr) <= MOST_ON_STDERR


def test_long_log(story: Story, exposed: dict[str, Any], fake_aws: FakeAws) -> None:
    """The method with the most calls, of a VM that has all that there is, logs no more than others may."""
    fake_aws.forget_calls()
    answer = story.create_vm(**exposed)
    answer.ok()
    assert len(fake_aws.actions()) > 20
    assert f" {len(fake_aws.actions())} AWS calls, 0 retries, 0 throttled (" in answer.stderr
    assert len(answer.stderr) <= MOST_ON_STDERR


ENCODED = "x" * 1000
LONG = f"You are not authorized. Encoded authorization failure message: {ENCODED}"


def test_log_of_a_failure(story: Story, exposed: dict[str, Any], fake_aws: FakeAws) -> None:
    """A call whose end and removals fail logs no more than others may: its response has the whole error."""
    error = {"code": "UnauthorizedOperation", "message": LONG, "status": 403}
    for action in ("AssociateAddress", "TerminateInstances"):
        fake_aws.rule(action=action, times=None, error=error)
    answer = story.create_vm(**exposed)
    assert ENCODED in answer.error["message"]
    assert "AssociateAddress failed with UnauthorizedOperation" in answer.stderr
    assert len(answer.stderr) <= MOST_ON_STDERR


def test_log_of_refused_tags(cpi: Cpi, there: There, fake_aws: FakeAws) -> None:
    """A call of whose tags half are refused, one by one, logs no more than others may."""
    fake_aws.refuse("CreateTags", "TagLimitExceeded", "full", times=None)
    answer = cpi.call("set_vm_metadata", there.vm_cid, {f"tag{n}": "x" for n in range(30)}, stemcell=2)
    assert answer.ok() is None
    assert "TagLimitExceeded: full" in answer.stderr
    assert "; refused: " in answer.stderr
    assert len(answer.stderr) <= MOST_ON_STDERR


def test_one_call_tags_all(story: Story, cpi: Cpi, there: There) -> None:
    """A VM and all of its disks are tagged by one call."""
    for disk_cid, device in ((there.disk_cid, "/dev/sdf"), (story.lay_disk(), "/dev/sdg")):
        there.world.ec2.attach_volume(InstanceId=there.vm_cid, VolumeId=disk_cid, Device=device)
    cpi.call("set_vm_metadata", there.vm_cid, TAGS, stemcell=2).ok()
    (tagging,) = story.parameters_of("CreateTags")
    assert len([name for name in tagging if name.startswith("ResourceId.")]) == 4
