"""Launches with a launch template answer as EC2 does."""

from typing import Any

import pytest

ROOT, OTHER = "/dev/xvda", "/dev/sdf"


def template(ec2: Any, **data: Any) -> dict[str, str]:
    """Create a template; returns what a launch says of it."""
    tags = [{"Key": "of", "Value": "the template"}]
    ec2.create_launch_template(
        LaunchTemplateName="one",
        LaunchTemplateData=data,
        TagSpecifications=[{"ResourceType": "launch-template", "Tags": tags}],
    )
    return {"LaunchTemplateName": "one"}


def test_merged(ec2: Any, run: Any) -> None:
    """A launch has the template's parameters but for its own; tags are merged by key, devices by name."""
    instance_tags = {"ResourceType": "instance", "Tags": [{"Key": key, "Value": "below"} for key in "ab"]}
    given = template(
        ec2,
        InstanceType="t3.micro",
        Monitoring={"Enabled": True},
        BlockDeviceMappings=[{"DeviceName": name, "Ebs": {"VolumeSize": 20}} for name in (ROOT, OTHER)],
        TagSpecifications=[instance_tags],
    )
    own_tags = {"ResourceType": "instance", "Tags": [{"Key": "a", "Value": "own"}]}
    own_root = {"DeviceName": ROOT, "Ebs": {"VolumeSize": 30}}
    run(
        LaunchTemplate=given,
        BlockDeviceMappings=[own_root],
        TagSpecifications=[own_tags],
    )
    (reservation,) = ec2.describe_instances()["Reservations"]
    (instance,) = reservation["Instances"]
    assert instance["InstanceType"] == "m5.large"
    assert instance["Monitoring"]["State"] == "enabled"
    tags = {each["Key"]: each["Value"] for each in instance["Tags"]}
    assert {key: tags[key] for key in tags if not key.startswith("aws:")} == {"a": "own", "b": "below"}
    assert tags["aws:ec2launchtemplate:version"] == "1"
    ids = {each["DeviceName"]: each["Ebs"]["VolumeId"] for each in instance["BlockDeviceMappings"]}
    sizes = {each["VolumeId"]: each["Size"] for each in ec2.describe_volumes()["Volumes"]}
    assert {name: sizes[volume_id] for name, volume_id in ids.items()} == {ROOT: 30, OTHER: 20}


def test_own_tags(ec2: Any) -> None:
    """The tags of a template are not among the parameters that it holds."""
    given = template(ec2, EbsOptimized=True)
    (version,) = ec2.describe_launch_template_versions(**given, Versions=["$Latest"])[
        "LaunchTemplateVersions"
    ]
    assert version["LaunchTemplateData"] == {"EbsOptimized": True}


@pytest.mark.parametrize("key", ["SecurityGroups", "SecurityGroupIds"])
def test_groups(ec2: Any, world: Any, refused: Any, key: str) -> None:
    """Interfaces of a launch exclude security groups of the template."""
    given = template(ec2, **{key: ["web"]})
    with refused("InvalidParameterCombination", "instance-level security groups"):
        ec2.run_instances(
            ImageId=world.image_id,
            InstanceType="t3.micro",
            MinCount=1,
            MaxCount=1,
            NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": world.subnet_id}],
            LaunchTemplate=given,
        )


def test_unknown(ec2: Any, run: Any, refused: Any) -> None:
    """A launch names a template and a version that exist."""
    given = template(ec2, EbsOptimized=True)
    with refused("InvalidLaunchTemplateId.VersionNotFound", "2"):
        run(LaunchTemplate={**given, "Version": "2"})
    with refused("InvalidLaunchTemplateName.NotFoundException", "other"):
        run(LaunchTemplate={"LaunchTemplateName": "other"})
    with refused("InvalidLaunchTemplateId.NotFound", "lt-0123456789abcdef0"):
        run(LaunchTemplate={"LaunchTemplateId": "lt-0123456789abcdef0"})
