"""The machines behind EC2's API follow instances that come and go at any moment."""

import shutil
from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.hypervisor import Hypervisor
from testbed.world import World

pytestmark = pytest.mark.skipif(not shutil.which("setpriv"), reason="machines need Linux")


def test_terminated_while_it_boots(fake_aws: FakeAws, world: World, tmp_path: Path) -> None:
    """An instance that is terminated while its machine is prepared leaves no machine, and harms no other."""
    fake_aws.rule(action="DescribeInstanceAttribute", hold=True)
    launched = world.ec2.run_instances(
        ImageId=world.image_id, InstanceType="m5.large", MinCount=1, MaxCount=1, SubnetId=world.subnet_id
    )
    with Hypervisor(fake_aws, Path("/bin/true"), tmp_path) as machines:
        fake_aws.wait_until_held()
        world.ec2.terminate_instances(InstanceIds=[launched["Instances"][0]["InstanceId"]])
        fake_aws.release()
        assert machines.settle() == []
