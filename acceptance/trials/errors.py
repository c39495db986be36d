"""The codes of AWS's errors about ids, tags and requests as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acceptance.lab import Lab, Said, said_to
from acceptance.trials.trial import Seen, Trials
from bosh_aws_cpi.aws.errors import (
    IMAGE_MISSING,
    INSTANCE_MISSING,
    NIC_MISSING,
    SNAPSHOT_MISSING,
    VOLUME_MISSING,
    is_volume_missing,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

TRIALS = Trials()
NONE = "0" * 17
"""Of an id that is well formed and that nothing has."""


def compared(said: Mapping[str, Said], believed: Mapping[str, AbstractSet[str]]) -> Seen:
    """Compare the codes of several answers with those that are believed."""
    codes = {what: answer.code or "success" for what, answer in said.items()}
    agrees = all(codes[what] in believed[what] for what in codes)
    return Seen(agrees, ", ".join(f"{what} {code}" for what, code in codes.items()))


@TRIALS.of("unknown-ids")
def unknown_ids(lab: Lab) -> Seen:
    """Ask for things that are not there."""
    ec2 = lab.ec2
    said = {
        "instance": said_to(ec2.describe_instances, InstanceIds=[f"i-{NONE}"]),
        "volume": said_to(ec2.describe_volumes, VolumeIds=[f"vol-{NONE}"]),
        "snapshot": said_to(ec2.delete_snapshot, SnapshotId=f"snap-{NONE}"),
        "AMI": said_to(ec2.describe_images, ImageIds=[f"ami-{NONE}"]),
        "network interface": said_to(ec2.describe_network_interfaces, NetworkInterfaceIds=[f"eni-{NONE}"]),
        "subnet": said_to(ec2.describe_subnets, SubnetIds=[f"subnet-{NONE}"]),
        "security group": said_to(ec2.describe_security_groups, GroupIds=[f"sg-{NONE}"]),
        "route table": said_to(ec2.describe_route_tables, RouteTableIds=[f"rtb-{NONE}"]),
        "key pair": said_to(ec2.run_instances, **lab.launch_arguments(KeyName=f"cpi-{NONE}", DryRun=False)),
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
    """Ask for things by what is no id."""
    ec2 = lab.ec2
    volume = said_to(ec2.describe_volumes, VolumeIds=["vol-bad"])
    said = {
        "instance": said_to(ec2.describe_instances, InstanceIds=["i-bad"]),
        "AMI": said_to(ec2.describe_images, ImageIds=["ami-bad"]),
        "volume": volume,
    }
    is_known = volume.error is not None and is_volume_missing(volume.error)
    believed: dict[str, AbstractSet[str]] = {
        "instance": INSTANCE_MISSING,
        "AMI": IMAGE_MISSING,
        "volume": {volume.code} if is_known else set(),
    }
    seen = compared(said, believed)
    return Seen(seen.agrees, f"{seen.text} ({volume.message})")


@TRIALS.of("volume-deleted-twice")
def volume_deleted_twice(lab: Lab) -> Seen:
    """Delete a volume, and then once more."""
    volume_id = lab.volume()
    first = said_to(lab.ec2.delete_volume, VolumeId=volume_id)
    second = said_to(lab.ec2.delete_volume, VolumeId=volume_id)
    agrees = not first.code and (not second.code or second.code in VOLUME_MISSING)
    return Seen(agrees, f"at first {first.text}, then {second.text}")


@TRIALS.of("tags-of-nothing")
def tags_of_nothing(lab: Lab) -> Seen:
    """Tag what is not there, and what has no form."""
    tags = [{"Key": "cpi", "Value": ""}]
    said = {
        "unknown instance": said_to(lab.ec2.create_tags, Resources=[f"i-{NONE}"], Tags=tags),
        "unknown volume": said_to(lab.ec2.create_tags, Resources=[f"vol-{NONE}"], Tags=tags),
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
    """Let preflight ask about each action that it can ask about."""
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
    """Ask for, and launch, an instance type that there is not."""
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
