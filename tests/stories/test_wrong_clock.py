"""The machine's clock is wrong, or is set during a call: AWS's own clock decides how old a resource is."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, Process, config
from testbed.killing import act_at, kill_at
from testbed.shifted import COMMAND
from testbed.world import World
from tests.stories.operators import Sweep, TaggedResources
from tests.stories.story import Story

MINUTES = 60
HOURS = 60 * MINUTES
REQUEST = {"request_id": "cpi-424242"}
KINDS = {
    "create_disk": ("CreateVolume", "volumes"),
    "create_network": ("CreateSubnet", "subnets"),
    "create_stemcell": ("CopyImage", "images"),
    "snapshot_disk": ("CreateSnapshot", "snapshots"),
}
"""For each method that looks for a resource of its own: the call that creates it, and its kind."""


class Clock:
    """The executable, and its clock.

    Attributes:
        cpi: The executable.
    """

    def __init__(self, fake_aws: FakeAws, folder: Path) -> None:
        """Begin with the right time."""
        self._file = folder / "ahead"
        self.set(0)
        self.cpi = Cpi(config(fake_aws.endpoint), command=[*COMMAND, str(self._file)])

    def set(self, ahead: int) -> None:
        """Set the clock to so many seconds ahead of AWS's."""
        self._file.write_text(str(ahead))


@pytest.fixture
def clock(fake_aws: FakeAws, tmp_path: Path) -> Clock:
    """Return an executable whose clock the test sets."""
    return Clock(fake_aws, tmp_path)


@pytest.fixture
def arguments(story: Story, world: World) -> Callable[[str], list[Any]]:
    """Return a function that writes the arguments of each method."""

    def write(method: str) -> list[Any]:
        network = {"vpc_id": world.vpc_id, "availability_zone": world.zone}
        light = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
        written: dict[str, list[Any]] = {
            "create_disk": [1024, {}, None],
            "create_network": [{"type": "manual", "cloud_properties": network}],
            "create_stemcell": ["/x/image", light],
            "snapshot_disk": [story.lay_disk(), {}],
        }
        return written[method]

    return write


@pytest.fixture
def new(world: World) -> Callable[[str], set[str]]:
    """Return a function that lists the resources of a kind that were created since it was first called."""
    before: dict[str, set[str]] = {}

    def read(kind: str) -> set[str]:
        if kind == "subnets":
            now = {each["SubnetId"] for each in world.ec2.describe_subnets()["Subnets"]}
        else:
            now = set(world.state()[kind])
        return now - before.setdefault(kind, now)

    return read


def test_set_meanwhile(clock: Clock, fake_aws: FakeAws, arguments: Any, new: Any) -> None:
    """A clock that is set while AWS answers changes nothing: one volume is created, and answered."""
    action, kind = KINDS["create_disk"]
    given = arguments("create_disk")
    assert new(kind) == set()
    start = partial(clock.cpi.start, "create_disk", *given, context=REQUEST)
    jump = partial(clock.set, 31 * MINUTES)
    created = act_at(fake_aws, start, jump, action=action, when="after").ok()
    assert new(kind) == {created}
    assert fake_aws.actions().count(action) == 1


@pytest.mark.parametrize("method", KINDS)
def test_set_between_attempts(clock: Clock, fake_aws: FakeAws, arguments: Any, new: Any, method: str) -> None:
    """The same request again, after a killed attempt, finds its resource although the clock was set."""
    action, kind = KINDS[method]
    given = arguments(method)
    assert new(kind) == set()
    clock.set(-40 * MINUTES)
    start: Callable[[], Process] = lambda: clock.cpi.start(method, *given, context=REQUEST)  # noqa: E731
    kill_at(fake_aws, start, when="after", action=action)
    clock.set(40 * MINUTES)
    result = clock.cpi.call(method, *given, context=REQUEST).ok()
    assert new(kind) == {result[0] if isinstance(result, list) else result}


def test_sweep(clock: Clock, fake_aws: FakeAws, world: World, new: Any) -> None:
    """A disk that was just created stays too young for a sweep, and a mark has the time by AWS's clock."""
    assert new("volumes") == set()
    disk_cid = clock.cpi.call("create_disk", 1024, {}, None).ok()
    unused = TaggedResources(fake_aws, world).interface(bosh_agent_id="gone")
    sweep = Sweep(clock.cpi, fake_aws)
    clock.set(25 * HOURS)
    assert sweep.outcomes("--delete", "--disk", disk_cid, status=0) == {
        disk_cid: "too young",
        unused: "marked",
    }
    clock.set(50 * HOURS)
    found = sweep.outcomes("--delete", "--disk", disk_cid, status=0)
    assert found == {disk_cid: "too young", unused: "too young"}
    assert new("volumes") == {disk_cid}
