"""Resources that AWS has created and does not show yet."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from botocore.exceptions import ClientError

from testbed.cloud import FakeAws

Thing = tuple[str, Callable[[Any], str], str]
"""The action that creates it, a function that calls it, and the error for an unknown one."""
Refused = Callable[..., AbstractContextManager[None]]
MARK = {"Key": "mark", "Value": "x"}
BY_MARK = [{"Name": "tag:mark", "Values": ["x"]}]


def tagged(kind: str) -> list[dict[str, Any]]:
    """Return the tag specification for a new resource."""
    return [{"ResourceType": kind, "Tags": [MARK]}]


def make_volume(world: Any) -> str:
    """Create a volume."""
    answer = world.ec2.create_volume(
        AvailabilityZone=world.zone, Size=1, TagSpecifications=tagged("volume"), ClientToken="token"
    )
    return str(answer["VolumeId"])


def make_instance(world: Any) -> str:
    """Create an instance."""
    answer = world.ec2.run_instances(
        ImageId=world.image_id,
        SubnetId=world.subnet_id,
        MinCount=1,
        MaxCount=1,
        TagSpecifications=tagged("instance"),
    )
    return str(answer["Instances"][0]["InstanceId"])


def make_interface(world: Any) -> str:
    """Create a network interface."""
    answer = world.ec2.create_network_interface(
        SubnetId=world.subnet_id, PrivateIpAddress="10.0.1.9", TagSpecifications=tagged("network-interface")
    )
    return str(answer["NetworkInterface"]["NetworkInterfaceId"])


def make_snapshot(world: Any) -> str:
    """Create a snapshot."""
    volume_id = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    answer = world.ec2.create_snapshot(VolumeId=volume_id, TagSpecifications=tagged("snapshot"))
    return str(answer["SnapshotId"])


def make_image(world: Any) -> str:
    """Create an image."""
    (image,) = world.ec2.describe_images(ImageIds=[world.image_id])["Images"]
    device = {"DeviceName": world.root_device, "Ebs": image["BlockDeviceMappings"][0]["Ebs"]}
    del device["Ebs"]["Encrypted"]
    answer = world.ec2.register_image(
        Name="unseen",
        RootDeviceName=world.root_device,
        BlockDeviceMappings=[device],
        TagSpecifications=tagged("image"),
    )
    return str(answer["ImageId"])


INSTANCE = ("RunInstances", make_instance, "InvalidInstanceID.NotFound")
VOLUME = ("CreateVolume", make_volume, "InvalidVolume.NotFound")
INTERFACE = ("CreateNetworkInterface", make_interface, "InvalidNetworkInterfaceID.NotFound")
SNAPSHOT = ("CreateSnapshot", make_snapshot, "InvalidSnapshot.NotFound")
IMAGE = ("RegisterImage", make_image, "InvalidAMIID.NotFound")


@pytest.mark.parametrize(
    ("thing", "call", "parameters"),
    [
        (INSTANCE, "describe_instances", {"InstanceIds": ["ID"]}),
        (INSTANCE, "create_tags", {"Resources": ["ID"], "Tags": [MARK]}),
        (INSTANCE, "terminate_instances", {"InstanceIds": ["ID"]}),
        (VOLUME, "describe_volumes", {"VolumeIds": ["ID"]}),
        (VOLUME, "delete_volume", {"VolumeId": "ID"}),
        (INTERFACE, "describe_network_interfaces", {"NetworkInterfaceIds": ["ID"]}),
        (INTERFACE, "delete_network_interface", {"NetworkInterfaceId": "ID"}),
        (SNAPSHOT, "describe_snapshots", {"SnapshotIds": ["ID"]}),
        (SNAPSHOT, "delete_snapshot", {"SnapshotId": "ID"}),
        (IMAGE, "describe_images", {"ImageIds": ["ID"]}),
        (IMAGE, "deregister_image", {"ImageId": "ID"}),
    ],
)
def test_named(fake_aws: FakeAws, world: Any, thing: Thing, call: str, parameters: dict[str, Any]) -> None:
    """Calls that name a new resource fail with its "not found" error, as often as the rule says."""
    action, make, code = thing
    fake_aws.rule(action=action, unseen=2)
    named = json.loads(json.dumps(parameters).replace("ID", make(world)))
    for _ in range(2):
        with pytest.raises(ClientError, match=rf"\({code}\)"):
            getattr(world.ec2, call)(**named)
    getattr(world.ec2, call)(**named)


@pytest.mark.parametrize(
    ("thing", "call", "shown"),
    [
        (INSTANCE, "describe_instances", "Reservations"),
        (VOLUME, "describe_volumes", "Volumes"),
        (INTERFACE, "describe_network_interfaces", "NetworkInterfaces"),
        (SNAPSHOT, "describe_snapshots", "Snapshots"),
        (IMAGE, "describe_images", "Images"),
    ],
)
def test_filtered(fake_aws: FakeAws, world: Any, thing: Thing, call: str, shown: str) -> None:
    """Filters don't find a new resource at first; a call that lists everything shows it."""
    action, make, _ = thing
    fake_aws.rule(action=action, unseen=1)
    make(world)
    before = world.state()
    assert before != world.empty
    assert [len(getattr(world.ec2, call)(Filters=BY_MARK)[shown]) for _ in range(2)] == [0, 1]
    assert world.state() == before


def test_all_that_a_launch_makes(fake_aws: FakeAws, world: Any, refused: Refused) -> None:
    """The volumes and interfaces of an unseen instance are unseen too."""
    fake_aws.rule(action="RunInstances", unseen=1)
    make_instance(world)
    made = world.state()
    with refused("InvalidVolume.NotFound"):
        world.ec2.describe_volumes(VolumeIds=made["volumes"])
    with refused("InvalidNetworkInterfaceID.NotFound"):
        world.ec2.describe_network_interfaces(NetworkInterfaceIds=made["interfaces"])
    with refused("InvalidInstanceID.NotFound"):
        world.ec2.terminate_instances(InstanceIds=made["instances"])
    world.ec2.terminate_instances(InstanceIds=made["instances"])
    assert world.state() == world.empty
