"""The deletion of all resources of a run."""

from dataclasses import replace

import pytest

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


UNREAD: dict[str, tuple[str, str, str]] = {
    "DescribeVpcs": (r"(?s)<vpcSet(/>|>.*</vpcSet>)", "perhaps target groups", "KeyError: 'Vpcs'"),
    "DescribeVolumes": (r"<volumeId>.*?</volumeId>", "perhaps volumes", "KeyError: 'VolumeId'"),
    "DescribeSnapshots": (r"(?s)\A.*\Z", "perhaps snapshots", "ResponseParserError"),
}
"""By a call of the clean-up: what is missing in its answers, the kind that it lists, and the reason."""


@pytest.mark.parametrize("action", UNREAD)
def test_unreadable(fake_aws: FakeAws, world: World, action: str) -> None:
    """If an answer can't be read, all other kinds are deleted, and what may be left is listed."""
    account = simulated(fake_aws, world.image_id)
    tags = [{"Key": "run", "Value": "one"}]
    specified = [{"ResourceType": kind, "Tags": tags} for kind in ("volume", "subnet")]
    world.ec2.create_volume(AvailabilityZone=world.zone, Size=1, TagSpecifications=specified[:1])
    subnet = world.ec2.create_subnet(
        VpcId=world.vpc_id, CidrBlock="10.0.9.0/24", TagSpecifications=specified[1:]
    )["Subnet"]
    missing, kind, why = UNREAD[action]
    fake_aws.rule(action=action, replace=[[missing, ""]])
    left = delete_all(account, {"run": "one"}, seconds=0.1)
    assert why in left.get(kind, ""), left
    assert subnet["SubnetId"] not in str(world.ec2.describe_subnets())
    fake_aws.clear_rules()
    assert delete_all(account, {"run": "one"}) == {}
    assert world.state() == world.empty
