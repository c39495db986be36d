"""AWS's error codes for ids, tags and whole requests."""

from collections.abc import Container
from typing import Any

from acceptance.lab import Lab, said_to
from acceptance.trials.trial import UNKNOWN, Seen, Trials, compared
from bosh_aws_cpi.aws.sdk.errors import (
    IMAGE_MISSING,
    INSTANCE_MISSING,
    NIC_MISSING,
    SNAPSHOT_MISSING,
    VOLUME_MISSING,
)

TRIALS = Trials()


@TRIALS.of("unknown-ids")
def unknown_ids(lab: Lab) -> Seen:
    """Ask for things that do not exist."""
    ec2 = lab.ec2
    said = {
        "instance": said_to(ec2.describe_instances, InstanceIds=[f"i-{UNKNOWN}"]),
        "volume": said_to(ec2.describe_volumes, VolumeIds=[f"vol-{UNKNOWN}"]),
        "snapshot": said_to(ec2.delete_snapshot, SnapshotId=f"snap-{UNKNOWN}"),
        "AMI": said_to(ec2.describe_images, ImageIds=[f"ami-{UNKNOWN}"]),
        "network interface": said_to(ec2.describe_network_interfaces, NetworkInterfaceIds=[f"eni-{UNKNOWN}"]),
        "subnet": said_to(ec2.describe_subnets, SubnetIds=[f"subnet-{UNKNOWN}"]),
        "security group": said_to(ec2.describe_security_groups, GroupIds=[f"sg-{UNKNOWN}"]),
        "route table": said_to(ec2.describe_route_tables, RouteTableIds=[f"rtb-{UNKNOWN}"]),
        "key pair": said_to(ec2.run_instances, **lab.launch_arguments(KeyName=f"cpi-{UNKNOWN}")),
    }
    return compared(
        said,
        {
            "instance": INSTANCE_MISSING,
            "volume": VOLUME_MISSING,
            "snapshot": SNAPSHOT_MISSING,
            "AMI": IMAGE_MISSING,
            "network interface": NIC_MISSING,
            "subnet": {"InvalidSubnetID.NotFound", "InvalidSubnetId.NotFound"},
            "security group": {"InvalidGroup.NotFound", "InvalidSecurityGroupID.NotFound"},
            "route table": {"InvalidRouteTableID.NotFound"},
            "key pair": {"InvalidKeyPair.NotFound"},
        },
    )


@TRIALS.of("malformed-ids")
def malformed_ids(lab: Lab) -> Seen:
    """Ask for things by malformed ids."""
    ec2 = lab.ec2
    volume = said_to(ec2.describe_volumes, VolumeIds=["vol-bad"])
    said = {
        "instance": said_to(ec2.describe_instances, InstanceIds=["i-bad"]),
        "AMI": said_to(ec2.describe_images, ImageIds=["ami-bad"]),
        "volume": volume,
    }
    is_known = VOLUME_MISSING(volume.error)
    assumed: dict[str, Container[str]] = {
        "instance": INSTANCE_MISSING,
        "AMI": IMAGE_MISSING,
        "volume": {volume.code} if is_known else set(),
    }
    seen = compared(said, assumed)
    return Seen(seen.agrees, f"{seen.text} ({volume.message})")


@TRIALS.of("volume-deleted-twice")
def volume_deleted_twice(lab: Lab) -> Seen:
    """Delete a volume, and then once more."""
    volume_id = lab.create_volume()
    first = said_to(lab.ec2.delete_volume, VolumeId=volume_id)
    second = said_to(lab.ec2.delete_volume, VolumeId=volume_id)
    agrees = not first.code and (not second.code or second.code in VOLUME_MISSING)
    return Seen(agrees, f"at first {first.text}, then {second.text}")


@TRIALS.of("tags-of-nothing")
def tags_of_nothing(lab: Lab) -> Seen:
    """Tag a missing resource, and a malformed id."""
    tags = [{"Key": "cpi", "Value": ""}]
    said = {
        "unknown instance": said_to(lab.ec2.create_tags, Resources=[f"i-{UNKNOWN}"], Tags=tags),
        "unknown volume": said_to(lab.ec2.create_tags, Resources=[f"vol-{UNKNOWN}"], Tags=tags),
        "no id": said_to(lab.ec2.create_tags, Resources=["nothing"], Tags=tags),
    }
    return compared(
        said,
        {
            "unknown instance": INSTANCE_MISSING,
            "unknown volume": VOLUME_MISSING,
            "no id": {"InvalidID"},
        },
    )


@TRIALS.of("dry-run")
def dry_run(lab: Lab) -> Seen:
    """Let preflight check the permission for each action that it can check."""
    answer = lab.account.cpi().run("preflight", "--json")
    features: list[dict[str, Any]] = answer.document["features"]
    counts = {state: _actions(features, state) for state in ("allowed", "missing", "not_checkable")}
    odd = {action: why for each in features for action, why in each["no_verdict"].items()}
    said = ", ".join(f"{len(actions)} {state.replace('_', ' ')}" for state, actions in counts.items())
    return Seen(not odd, f"{said}; no verdict: {odd or 'none'}")


def _actions(features: list[dict[str, Any]], state: str) -> set[str]:
    return {action for each in features for action in each[state]}


@TRIALS.of("type-unknown")
def type_unknown(lab: Lab) -> Seen:
    """Ask for, and launch, an instance type that does not exist."""
    said = {
        "DescribeInstanceTypes": said_to(lab.ec2.describe_instance_types, InstanceTypes=["t9.odd"]),
        "RunInstances": said_to(lab.ec2.run_instances, **lab.launch_arguments(InstanceType="t9.odd")),
    }
    return compared(
        said,
        {"DescribeInstanceTypes": {"InvalidInstanceType"}, "RunInstances": {"InvalidParameterValue"}},
    )


@TRIALS.of("user-data-size")
def user_data_size(lab: Lab) -> Seen:
    """Launch with one byte more of user data than EC2 takes."""
    said = said_to(lab.ec2.run_instances, **lab.launch_arguments(UserData="x" * (16 * 1024 + 1)))
    return Seen(said.code == "InvalidParameterValue", said.text)


@TRIALS.of("root-size")
def root_size(lab: Lab) -> Seen:
    """Launch with a root volume that is smaller than the AMI's snapshot."""
    (image,) = lab.ec2.describe_images(ImageIds=[lab.network.image_id])["Images"]
    device = {"DeviceName": image["RootDeviceName"], "Ebs": {"VolumeSize": 1}}
    said = said_to(lab.ec2.run_instances, **lab.launch_arguments(BlockDeviceMappings=[device]))
    return Seen(said.code == "InvalidBlockDeviceMapping", said.text)
