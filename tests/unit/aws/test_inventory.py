"""All that is a director's, page by page and in one shape."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws import inventory
from bosh_aws_cpi.aws.inventory import Resource

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2

THEN = datetime(2026, 5, 4, 12, tzinfo=UTC)
TAGS = [{"Key": "bosh_director_uuid", "Value": "d"}]
READ = {"bosh_director_uuid": "d"}
BY_TAG = [{"Name": "tag:bosh_director_uuid", "Values": ["d"]}]
PAGE = {"MaxResults": 1000}
PAGE_OF_VOLUMES = {"MaxResults": 500}
OWN = {**PAGE, "Owners": ["self"], "IncludeDeprecated": True, "IncludeDisabled": True}
VOLUME = {"VolumeId": "vol-1", "State": "available", "CreateTime": THEN, "Size": 8, "VolumeType": "gp3"}
WITH_TIME = {**READ, "bosh_created": "2026-05-04T12:00:00Z"}
SUBNET = {
    "SubnetId": "subnet-1",
    "State": "available",
    "CidrBlock": "10.0.9.0/24",
    "Tags": [*TAGS, {"Key": "bosh_created", "Value": "2026-05-04T12:00:00Z"}],
}

SHOWN: list[tuple[Any, str, dict[str, Any], str, dict[str, Any], Resource]] = [
    (
        "interface",
        "describe_network_interfaces",
        PAGE,
        "NetworkInterfaces",
        {"NetworkInterfaceId": "eni-1", "Status": "available", "TagSet": TAGS},
        Resource("interface", "eni-1", "available", READ, None),
    ),
    (
        "volume",
        "describe_volumes",
        PAGE_OF_VOLUMES,
        "Volumes",
        {**VOLUME, "Iops": 3000, "Tags": TAGS},
        Resource("volume", "vol-1", "available", READ, THEN, size_gib=8, type="gp3"),
    ),
    (
        "snapshot",
        "describe_snapshots",
        {**PAGE, "OwnerIds": ["self"]},
        "Snapshots",
        {"SnapshotId": "snap-1", "State": "completed", "StartTime": THEN, "VolumeSize": 8, "Tags": TAGS},
        Resource("snapshot", "snap-1", "completed", READ, THEN, size_gib=8),
    ),
    (
        "AMI",
        "describe_images",
        OWN,
        "Images",
        {
            "ImageId": "ami-1",
            "State": "failed",
            "CreationDate": "2026-05-04T12:00:00.000Z",
            "Tags": TAGS,
            "BlockDeviceMappings": [
                {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": "snap-1"}},
                {"DeviceName": "/dev/sdc", "Ebs": {"VolumeSize": 1}},
                {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"},
            ],
        },
        Resource("AMI", "ami-1", "failed", READ, THEN, snapshot_ids=("snap-1",)),
    ),
    (
        "subnet",
        "describe_subnets",
        PAGE,
        "Subnets",
        {**SUBNET, "AvailableIpAddressCount": 251},
        Resource("subnet", "subnet-1", "available", WITH_TIME, THEN),
    ),
    (
        "subnet",
        "describe_subnets",
        PAGE,
        "Subnets",
        {**SUBNET, "AvailableIpAddressCount": 250},
        Resource("subnet", "subnet-1", "available", WITH_TIME, THEN, is_used=True),
    ),
    (
        "subnet",
        "describe_subnets",
        PAGE,
        "Subnets",
        {"SubnetId": "subnet-1", "State": "available", "Ipv6Native": True, "Tags": TAGS},
        Resource("subnet", "subnet-1", "available", READ, None, is_used=True),
    ),
    (
        "instance",
        "describe_instances",
        PAGE,
        "Reservations",
        {
            "Instances": [
                {
                    "InstanceId": "i-1",
                    "State": {"Name": "running"},
                    "LaunchTime": THEN,
                    "InstanceType": "t3.micro",
                    "Tags": TAGS,
                }
            ]
        },
        Resource("instance", "i-1", "running", READ, THEN, type="t3.micro"),
    ),
]


@pytest.mark.parametrize(("kind", "operation", "arguments", "name", "shown", "expected"), SHOWN)
def test_pages(
    ec2: Ec2,
    kind: Any,
    operation: str,
    arguments: dict[str, Any],
    name: str,
    shown: dict[str, Any],
    expected: Resource,
) -> None:
    """Everything that carries the tags is listed, on whichever page it is, in the largest pages there are."""
    asked = arguments if kind == "AMI" else {**arguments, "Filters": BY_TAG}
    ec2.answers(operation, {name: [shown], "NextToken": "more"}, **asked)
    ec2.answers(operation, {name: [], "NextToken": "still more"}, **asked, NextToken="more")
    ec2.answers(operation, {name: [shown]}, **asked, NextToken="still more")
    assert inventory.listed(ec2.client, kind, READ) == [expected, expected]


def test_little_said(ec2: Ec2) -> None:
    """Resources without tags or date are listed, too."""
    ec2.answers("describe_volumes", {"Volumes": [VOLUME]}, **PAGE_OF_VOLUMES, Filters=BY_TAG)
    ec2.answers("describe_images", {"Images": [{"ImageId": "ami-1", "State": "failed"}]}, **OWN)
    (volume,) = inventory.listed(ec2.client, "volume", READ)
    assert volume.tags == {}
    assert inventory.listed(ec2.client, "AMI", READ) == [Resource("AMI", "ami-1", "failed", {}, None)]


@pytest.mark.parametrize("shown", [[VOLUME], []])
def test_again(ec2: Ec2, shown: list[Any]) -> None:
    """A resource is looked up again by its id alone; a deleted one is None."""
    volume = Resource("volume", "vol-1", "available", {}, THEN, size_gib=8, type="gp3")
    asked = [{"Name": "volume-id", "Values": ["vol-1"]}]
    ec2.answers("describe_volumes", {"Volumes": shown}, **PAGE_OF_VOLUMES, Filters=asked)
    assert inventory.reload(ec2.client, volume) == (volume if shown else None)
