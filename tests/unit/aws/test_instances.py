"""What is read of an instance, and each refusal to end it, or to skip its shutdown."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import instances
from bosh_aws_cpi.model import Nic, StateReason
from tests.unit.aws import looks
from tests.unit.aws.looks import OF_VM, VM
from tests.unit.conftest import Stub


def test_read() -> None:
    """An instance has its volumes, those that leave or outlive it, and its interfaces in their order."""
    statuses = [("attached", None), ("detaching", True), ("detached", True), ("attaching", False)]
    devices: list[dict[str, Any]] = [
        {
            "DeviceName": f"/dev/{n}",
            "Ebs": {"VolumeId": f"vol-{n}", "Status": status, "DeleteOnTermination": ends},
        }
        for n, (status, ends) in enumerate(statuses)
    ]
    devices[0]["Ebs"].pop("DeleteOnTermination")
    nics = [
        {"NetworkInterfaceId": f"eni-{n}", "Attachment": {"AttachmentId": f"a-{n}", "DeviceIndex": n}}
        for n in (1, 0)
    ]
    other = {"NetworkCardIndex": 1, "DeviceIndex": 0}
    more = {
        "BlockDeviceMappings": [*devices, {"DeviceName": "/dev/sdc"}],
        "NetworkInterfaces": [
            {"NetworkInterfaceId": "eni-3", "Attachment": other},
            *nics,
            {"NetworkInterfaceId": "eni-2"},
        ],
        "Placement": {"AvailabilityZone": "z"},
        "VpcId": "vpc-1",
        "ClientToken": "token",
        "StateReason": {"Code": "pending", "Message": "pending"},
        "InstanceLifecycle": "spot",
    }
    found = instances.from_entry(looks.instance("pending", **more), {})
    assert found.devices == {f"/dev/{n}": f"vol-{n}" for n in range(4)}
    assert (found.detaching_volumes, found.kept_volumes) == (
        frozenset({"vol-1", "vol-2"}),
        frozenset({"vol-0", "vol-3"}),
    )
    first = [Nic(f"eni-{n}", device_index=n, attachment_id=f"a-{n}") for n in (0, 1)]
    assert list(found.nics) == [*first, Nic("eni-3", card_index=1)]
    assert [found.nic_at(*position) for position in ((0, 0), (1, 0), (0, 1))] == ["eni-0", "eni-1", "eni-3"]
    assert (found.availability_zone, found.vpc_id, found.client_token) == ("z", "vpc-1", "token")
    assert (found.state_reason, found.is_spot) == (StateReason("pending", "pending: pending"), True)
    plain = instances.from_entry(looks.instance(), {})
    assert (plain.devices, plain.nics, plain.client_token, plain.is_spot) == ({}, [], None, False)


def test_shutdown_that_is_not_skipped(ec2: Stub) -> None:
    """Each way in which EC2 may refuse to skip the shutdown leads to a termination with it."""
    for code in (
        *("IncorrectInstanceState", "InvalidParameter", "InvalidParameterCombination"),
        *("InvalidParameterDependency", "Unsupported"),
    ):
        ec2.lay("terminate_instances", code, **OF_VM, SkipOsShutdown=True)
        ec2.lay("terminate_instances", {}, **OF_VM)
        instances.terminate(ec2.client, VM, skips_shutdown=True)


@pytest.mark.usefixtures("clock")
def test_discard_that_is_refused(ec2: Stub) -> None:
    """The refusal is the error while the instance stays; one that was ending before is waited for."""
    for shown in (["running"], ["shutting-down", "shutting-down", "terminated"]):
        ec2.lay("terminate_instances", "UnauthorizedOperation", **OF_VM)
        ec2.lay("describe_instances", *looks.instances(*shown), **OF_VM)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        instances.discard(ec2.client, VM)
    instances.discard(ec2.client, VM)
