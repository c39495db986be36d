"""update_disk by a copy that is killed at a call to AWS, after which the Director uses the old disk."""

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.killing import kill_at
from testbed.world import World
from tests.faults.scenarios_disk import UPDATE
from tests.stories.disk_copies import REQUEST, Copied

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("fast_clock")]


@pytest.fixture
def copied(cpi: Cpi, fake_aws: FakeAws, world: World) -> Copied:
    """Have a disk with data, which is to be encrypted."""
    wish = {"ImageId": world.image_id, "InstanceType": "t3.micro", "SubnetId": world.subnet_id}
    answer = world.ec2.run_instances(**wish, MinCount=1, MaxCount=1)
    return Copied(cpi, fake_aws, world, answer["Instances"][0]["InstanceId"])


@pytest.mark.parametrize("nth", range(1, len(UPDATE) + 1))
def test_disk_is_used_again(copied: Copied, fake_aws: FakeAws, nth: int) -> None:
    """If the Director uses the old disk, the copy of its next request has what was written since."""
    assert kill_at(fake_aws, lambda: copied.start(**REQUEST), nth, when="after") == UPDATE[nth - 1]
    copied.use(copied.cid)
    assert copied.writes(copied.update(**REQUEST).ok()) == 2
