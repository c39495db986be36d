"""DryRun checks a call of EC2's, and makes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.world import World

VOLUME = "vol-00000000000000001"
INSTANCE = "i-00000000000000001"
TABLE = "rtb-00000000000000001"


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("run_instances", {"ImageId": "ami-00000000000000001", "MinCount": 1, "MaxCount": 1}),
        ("create_volume", {"AvailabilityZone": "us-east-1a", "Size": 1}),
        ("create_route", {"RouteTableId": TABLE, "DestinationCidrBlock": "192.0.2.0/24"}),
        ("create_tags", {"Resources": [INSTANCE], "Tags": [{"Key": "a", "Value": "b"}]}),
        ("describe_volumes", {}),
        ("terminate_instances", {"InstanceIds": [INSTANCE]}),
    ],
)
def test_checked_only(world: World, fake_aws: FakeAws, operation: str, parameters: dict[str, Any]) -> None:
    """A call that could be made is answered with 412, and is not made."""
    with pytest.raises(ClientError) as caught:
        getattr(world.ec2, operation)(**parameters, DryRun=True)
    assert caught.value.response["Error"]["Code"] == "DryRunOperation"
    message = "Request would have succeeded, but DryRun flag is set."
    assert caught.value.response["Error"]["Message"] == message
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412
    assert [call["status"] for call in fake_aws.calls()] == [412]
    assert world.state() == world.empty


def test_existing_things_stay(world: World, run: Any, refused: Any) -> None:
    """What is there is not changed either."""
    instance = run()
    with refused("DryRunOperation"):
        world.ec2.terminate_instances(InstanceIds=[instance["InstanceId"]], DryRun=True)
    assert world.instance(instance["InstanceId"])["State"]["Name"] == "running"


@pytest.mark.parametrize(
    ("operation", "parameters", "code"),
    [
        ("delete_volume", {"VolumeId": "vol-x"}, "InvalidParameterValue"),
        ("terminate_instances", {"InstanceIds": [INSTANCE, "i-x"]}, "InvalidInstanceID.Malformed"),
        (
            "attach_volume",
            {"VolumeId": VOLUME, "InstanceId": "x", "Device": "/d"},
            "InvalidInstanceID.Malformed",
        ),
    ],
)
def test_ids_are_looked_at_first(
    world: World, refused: Any, operation: str, parameters: dict[str, Any], code: str
) -> None:
    """An id that is none is refused as such, dry run or not."""
    with refused(code):
        getattr(world.ec2, operation)(**parameters, DryRun=True)


def test_parameters_are_counted_first(fake_aws: FakeAws, refused: Any) -> None:
    """A call that lacks a parameter is refused as such; the SDK would not send it."""
    ec2 = fake_aws.new_client("ec2")
    ec2.meta.events.register("before-call.ec2.RunInstances", leave_out)
    with refused("MissingParameter", "MaxCount"):
        ec2.run_instances(MinCount=1, MaxCount=1, DryRun=True)


def leave_out(params: dict[str, Any], **_: Any) -> None:
    """Take a parameter out of a call that is about to be sent."""
    del params["body"]["MaxCount"]


def test_other_calls_are_made(world: World) -> None:
    """Without DryRun, or with a DryRun that is false, a call is made."""
    where = {"AvailabilityZone": world.zone, "Size": 1}
    made = [world.ec2.create_volume(**where), world.ec2.create_volume(**where, DryRun=False)]
    assert world.state()["volumes"] == sorted(volume["VolumeId"] for volume in made)
