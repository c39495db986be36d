"""With DryRun EC2 checks a call and does not execute it."""

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
    """A correct call is answered with 412, and is not executed."""
    with pytest.raises(ClientError) as caught:
        getattr(world.ec2, operation)(**parameters, DryRun=True)
    assert caught.value.response["Error"]["Code"] == "DryRunOperation"
    message = "Request would have succeeded, but DryRun flag is set."
    assert caught.value.response["Error"]["Message"] == message
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412
    assert [call["status"] for call in fake_aws.calls()] == [412]
    assert world.state() == world.empty


def test_existing_things_stay(world: World, run: Any, refused: Any) -> None:
    """Existing resources are not changed."""
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
    """A malformed id is refused with its own error code, with DryRun too."""
    with refused(code):
        getattr(world.ec2, operation)(**parameters, DryRun=True)


def test_parameters_are_counted_first(fake_aws: FakeAws, refused: Any) -> None:
    """A call that lacks a parameter is refused with MissingParameter; the SDK would not send it."""
    ec2 = fake_aws.new_client("ec2")
    ec2.meta.events.register("before-call.ec2.RunInstances", leave_out)
    with refused("MissingParameter", "MaxCount"):
        ec2.run_instances(MinCount=1, MaxCount=1, DryRun=True)


def leave_out(params: dict[str, Any], **_: Any) -> None:
    """Remove a parameter from a call before it is sent."""
    del params["body"]["MaxCount"]


def test_other_calls_are_made(world: World) -> None:
    """Without DryRun, or with DryRun=false, a call is executed."""
    where = {"AvailabilityZone": world.zone, "Size": 1}
    made = [world.ec2.create_volume(**where), world.ec2.create_volume(**where, DryRun=False)]
    assert world.state()["volumes"] == sorted(volume["VolumeId"] for volume in made)
