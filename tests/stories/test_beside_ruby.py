"""VMs, disks, snapshots and stemcells of the Ruby release and of this one, each handled by the other.

The Ruby release's AWS calls are recorded (testbed/beside.py) and repeated here; this CPI is called.
"""

import pytest

from testbed import beside
from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World


@pytest.mark.parametrize("maker", beside.MADE)
def test_resources_of_the_other_release(maker: str, fake_aws: FakeAws, world: World, cpi: Cpi) -> None:
    """What one release made, the other uses, changes and deletes; nothing is left."""
    first, *lines = beside.read(maker)
    names = dict(zip(first["world"], beside.known(world), strict=True))
    replay = beside.Replay(cpi, fake_aws.endpoint, names)
    for line in lines:
        result = replay.play(line)
        assert result == replay.translated(line["result"]), line["method"]
    assert world.state() == world.empty
