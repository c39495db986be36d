"""The deletion of all resources of a run."""

from dataclasses import replace

from acceptance.account import simulated
from acceptance.leftovers import delete_all
from testbed.cloud import FakeAws
from testbed.world import World


def test_shown_late(fake_aws: FakeAws, world: World) -> None:
    """A resource that EC2 does not show at first is deleted too."""
    account = replace(simulated(fake_aws, world.image_id), settles=0.1)
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "run", "Value": "one"}]}]
    world.ec2.create_volume(AvailabilityZone=world.zone, Size=1, TagSpecifications=tags)
    unshown = [[r"(?s)<volumeSet>.*</volumeSet>", "<volumeSet/>"]]
    fake_aws.rule(action="DescribeVolumes", nth=1, replace=unshown)
    assert delete_all(account, {"run": "one"}) == {}
    assert world.state() == world.empty


def test_associated_group(fake_aws: FakeAws, world: World) -> None:
    """A security group that is associated with another VPC is disassociated before it is deleted."""
    account = simulated(fake_aws, world.image_id)
    tags = [{"Key": "run", "Value": "one"}]
    group = world.ec2.create_security_group(
        GroupName="shared",
        Description="shared",
        VpcId=world.vpc_id,
        TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
    )
    other = world.ec2.create_vpc(
        CidrBlock="10.1.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": tags}]
    )
    world.ec2.associate_security_group_vpc(GroupId=group["GroupId"], VpcId=other["Vpc"]["VpcId"])
    assert delete_all(account, {"run": "one"}) == {}
    of_run = [{"Name": "tag:run", "Values": ["one"]}]
    assert world.ec2.describe_security_groups(Filters=of_run)["SecurityGroups"] == []
