"""What is read of each kind of resource that a sweep lists."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bosh_aws_cpi.aws import firewalls, inventory
from bosh_aws_cpi.aws.inventory import Resource
from tests.unit.aws.looks import tagged
from tests.unit.conftest import Stub


def test_security_groups(ec2: Stub) -> None:
    """The names of security groups are looked up in the VPC, page after page."""
    filters = [{"Name": "vpc-id", "Values": ["vpc-1"]}, {"Name": "group-name", "Values": ["a", "b"]}]
    first, second = ({"SecurityGroups": [{"GroupName": each, "GroupId": f"sg-{each}"}]} for each in "ba")
    ec2.lay("describe_security_groups", {**first, "NextToken": "n"}, Filters=filters)
    ec2.lay("describe_security_groups", second, Filters=filters, NextToken="n")
    found = firewalls.security_group_ids(ec2.client, "vpc-1", ["b", "a", "b"])
    assert found == {"a": ["sg-a"], "b": ["sg-b"]}


def test_rule_for_all_protocols(ec2: Stub) -> None:
    """A security group's rule for all protocols is for all ports, whatever ports it names."""
    rule = {"IpProtocol": "-1", "FromPort": -1, "ToPort": -1}
    group = {"GroupId": "sg-1", "VpcId": "vpc-1", "IpPermissions": [rule], "IpPermissionsEgress": []}
    ec2.keeps("describe_security_groups", {"SecurityGroups": [group]})
    (found,) = firewalls.groups_by_id(ec2.client, ["sg-1"])["sg-1"].ingress
    assert (found.protocol, found.ports) == (firewalls.ALL, firewalls.ANY_PORT)


THEN = datetime(2026, 5, 4, 12, tzinfo=UTC)
READ = {"director": "d"}
TAGS = tagged(**READ)
SUBNET = {
    "SubnetId": "subnet-1",
    "State": "available",
    "CidrBlock": "10.0.9.0/24",
    "Tags": [*TAGS, *tagged(bosh_created="2026-05-04T12:00:00Z")],
}
VOLUME = {"VolumeId": "vol-1", "State": "available", "CreateTime": THEN, "Size": 8, "VolumeType": "gp3"}
OF_VOLUME = Resource("volume", "vol-1", "available", {}, THEN, 8, "gp3")
OF_SUBNET = Resource(
    "subnet", "subnet-1", "available", {**READ, "bosh_created": "2026-05-04T12:00:00Z"}, THEN
)


@pytest.mark.parametrize(
    ("kind", "operation", "key", "shown", "expected"),
    [
        ("volume", "volumes", "Volumes", VOLUME, OF_VOLUME),
        (
            "AMI",
            "images",
            "Images",
            {
                "ImageId": "ami-1",
                "State": "failed",
                "CreationDate": "2026-05-04T12:00:00.000Z",
                "BlockDeviceMappings": [
                    {"Ebs": {"SnapshotId": "snap-1"}},
                    {"Ebs": {"VolumeSize": 1}},
                    {"VirtualName": "ephemeral0"},
                ],
            },
            Resource("AMI", "ami-1", "failed", {}, THEN, snapshot_ids=("snap-1",)),
        ),
        ("subnet", "subnets", "Subnets", {**SUBNET, "AvailableIpAddressCount": 251}, OF_SUBNET),
        (
            "subnet",
            "subnets",
            "Subnets",
            {**SUBNET, "AvailableIpAddressCount": 250},
            OF_SUBNET.replace(is_used=True),
        ),
        (
            "subnet",
            "subnets",
            "Subnets",
            {"SubnetId": "subnet-1", "State": "available", "Ipv6Native": True},
            Resource("subnet", "subnet-1", "available", {}, None, is_used=True),
        ),
    ],
)
def test_inventory(
    ec2: Stub, kind: Any, operation: str, key: str, shown: dict[str, Any], expected: Resource
) -> None:
    """All that has the tags is listed, page by page, in the largest pages; AMIs without tags, too."""
    asked: dict[str, Any] = {"MaxResults": 500 if kind == "volume" else 1000}
    own = {"Owners": ["self"], "IncludeDeprecated": True, "IncludeDisabled": True}
    asked |= own if kind == "AMI" else {}
    by_tag = {} if kind == "AMI" else {"Filters": [{"Name": "tag:director", "Values": ["d"]}]}
    operation = f"describe_{operation}"
    ec2.lay(operation, {key: [shown], "NextToken": "more"}, **asked, **by_tag)
    ec2.lay(operation, {key: [shown]}, **asked, **by_tag, NextToken="more")
    assert inventory.list_resources(ec2.client, kind, READ) == [expected, expected]


def test_completed_snapshot(ec2: Stub) -> None:
    """A snapshot counts as created when it was completed: create_stemcell may write it for hours before."""
    times = {"StartTime": THEN.replace(hour=3), "CompletionTime": THEN}
    shown = {"SnapshotId": "snap-1", "State": "completed", "VolumeId": "vol-ffffffff", **times}
    ec2.keeps("describe_snapshots", {"Snapshots": [shown]})
    (snapshot,) = inventory.list_resources(ec2.client, "snapshot", READ)
    assert snapshot.created == THEN


def test_reload(ec2: Stub) -> None:
    """A resource is looked up again by its id alone; a deleted one is None."""
    asked: dict[str, Any] = {"MaxResults": 500, "Filters": [{"Name": "volume-id", "Values": ["vol-1"]}]}
    ec2.lay("describe_volumes", {"Volumes": [VOLUME]}, {"Volumes": []}, **asked)
    assert inventory.reload(ec2.client, OF_VOLUME) == OF_VOLUME
    assert inventory.reload(ec2.client, OF_VOLUME) is None
