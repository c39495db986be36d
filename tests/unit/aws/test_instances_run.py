"""RunInstances, and waiting for what it made, through all that EC2 may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import instances
from bosh_aws_cpi.aws.errors import AT_FAULT, NO_CAPACITY
from bosh_aws_cpi.errors import VMCreationFailed
from bosh_aws_cpi.model import AttachedNic, Instance
from tests.unit.aws.instance_looks import VM, entry, lay

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2


def test_run(ec2: Ec2) -> None:
    """One instance is asked for, and read as it is answered."""
    answer = entry(
        "pending",
        Placement={"AvailabilityZone": "z"},
        BlockDeviceMappings=[
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeId": "vol-1", "Status": "attached"}},
            {"DeviceName": "/dev/sdc"},
            {"DeviceName": "/dev/sdf", "Ebs": {"VolumeId": "vol-2", "Status": "detaching"}},
            {"DeviceName": "/dev/sdg", "Ebs": {"VolumeId": "vol-3", "Status": "detached"}},
            {"DeviceName": "/dev/sdh", "Ebs": {"VolumeId": "vol-4", "Status": "attaching"}},
        ],
        NetworkInterfaces=[
            {
                "NetworkInterfaceId": f"eni-{n}",
                "Attachment": {"AttachmentId": f"eni-attach-{n}", "DeviceIndex": n},
            }
            for n in (1, 0)
        ]
        + [{"NetworkInterfaceId": "eni-2"}],
        VpcId="vpc-1",
        ClientToken="token",
        StateReason={"Code": "pending", "Message": "pending"},
    )
    ec2.answers("run_instances", {"Instances": [answer]}, MinCount=1, MaxCount=1, ImageId="ami-1")
    assert instances.run(ec2.client, {"ImageId": "ami-1"}) == Instance(
        vm_cid=VM,
        state="pending",
        instance_type="m5.large",
        availability_zone="z",
        devices={"/dev/xvda": "vol-1", "/dev/sdf": "vol-2", "/dev/sdg": "vol-3", "/dev/sdh": "vol-4"},
        leaving=frozenset({"vol-2", "vol-3"}),
        nics=[AttachedNic("eni-0", 0, "eni-attach-0"), AttachedNic("eni-1", 1, "eni-attach-1")],
        vpc_id="vpc-1",
        client_token="token",
        state_reason="pending: pending",
    )


RETRIABLE = {
    **dict.fromkeys(
        ("InsufficientCapacity", "InsufficientInstanceCapacity", "InsufficientHostCapacity"), True
    ),
    **dict.fromkeys(("InsufficientReservedInstanceCapacity", "MaxSpotInstanceCountExceeded"), True),
    **dict.fromkeys(("SpotMaxPriceTooLow", "Unsupported"), True),
    **dict.fromkeys(("InstanceLimitExceeded", "VcpuLimitExceeded"), False),
}


@pytest.mark.parametrize("code", sorted(NO_CAPACITY))
def test_run_without_capacity(ec2: Ec2, code: str) -> None:
    """A type that is not to be had now may be tried again, unless it takes a higher quota."""
    ec2.refuses("run_instances", code, "none left", MinCount=1, MaxCount=1)
    with pytest.raises(instances.NoCapacity, match=f"RunInstances failed with {code}: none left") as caught:
        instances.run(ec2.client, {})
    assert caught.value.ok_to_retry is RETRIABLE[code]
    assert caught.value.wire_type == "Bosh::Clouds::VMCreationFailed"


@pytest.mark.parametrize("code", sorted(AT_FAULT | {"RequestLimitExceeded", "Throttling"}))
def test_run_while_aws_is_at_fault(ec2: Ec2, code: str) -> None:
    """When AWS is at fault, out of addresses or throttles, the same call may succeed later."""
    ec2.refuses("run_instances", code, "sorry", MinCount=1, MaxCount=1)
    with pytest.raises(VMCreationFailed, match=f"RunInstances failed with {code}: sorry") as caught:
        instances.run(ec2.client, {})
    assert type(caught.value) is VMCreationFailed
    assert caught.value.ok_to_retry is True


@pytest.mark.parametrize("code", ["IdempotentInstanceTerminated", "IdempotentParameterMismatch"])
def test_run_with_a_spent_token(ec2: Ec2, code: str) -> None:
    """A client token that stands for another launch is told apart: it is no failure yet."""
    ec2.refuses("run_instances", code, MinCount=1, MaxCount=1, ClientToken="t")
    with pytest.raises(instances.TokenSpent, match=code):
        instances.run(ec2.client, {"ClientToken": "t"})


@pytest.mark.parametrize("code", ["InvalidParameterValue", "InvalidIPAddress.InUse", "UnauthorizedOperation"])
def test_run_refused(ec2: Ec2, code: str) -> None:
    """Any other refusal goes on as it is."""
    ec2.refuses("run_instances", code, MinCount=1, MaxCount=1)
    with pytest.raises(ClientError, match=code):
        instances.run(ec2.client, {})


def test_of_agent(ec2: Ec2) -> None:
    """What was made for an agent is found by all its tags, over all pages, in every state."""
    filters = [{"Name": "tag:a", "Values": ["1"]}, {"Name": "tag:b", "Values": ["2"]}]
    pages: list[list[dict[str, Any]]] = [
        [{"Instances": [entry("running", ClientToken="t")]}, {"Instances": []}],
        [{"Instances": [entry("terminated"), entry("pending")]}],
    ]
    ec2.answers("describe_instances", {"Reservations": pages[0], "NextToken": "n"}, Filters=filters)
    ec2.answers("describe_instances", {"Reservations": pages[1]}, Filters=filters, NextToken="n")
    found = instances.of_agent(ec2.client, {"b": "2", "a": "1"})
    assert [(instance.state, instance.client_token) for instance in found] == [
        ("running", "t"),
        ("terminated", None),
        ("pending", None),
    ]


@pytest.mark.parametrize(
    "states",
    [("running",), ("pending", "pending", "running"), (None, None, "pending", "running")],
    ids=["at once", "pending", "not to be seen at first"],
)
def test_wait_until_running(ec2: Ec2, clock: Clock, states: tuple[str | None, ...]) -> None:
    """A new instance is waited for, also while EC2 does not know it yet."""
    lay(ec2, *states)
    assert instances.wait_until_running(ec2.client, VM).state == "running"
    assert len(clock.pauses) == len(states) - 1


def test_wait_until_interfaces_are_seen(ec2: Ec2, clock: Clock) -> None:
    """An instance that runs is waited for until each of its interfaces is seen attached."""
    seen = [
        {
            "NetworkInterfaceId": f"eni-{n}",
            "Attachment": {"AttachmentId": f"eni-attach-{n}", "DeviceIndex": n},
        }
        for n in (0, 1)
    ]
    lay(ec2, "running")
    lay(ec2, "running", NetworkInterfaces=seen[:1])
    lay(ec2, "running", NetworkInterfaces=[seen[0], {"NetworkInterfaceId": "eni-1"}])
    lay(ec2, "running", NetworkInterfaces=seen)
    running = instances.wait_until_running(ec2.client, VM, 2)
    assert [nic.nic_id for nic in running.nics] == ["eni-0", "eni-1"]
    assert len(clock.pauses) == 3


KEY = (
    ". Most often a volume can't be made: check that the KMS key of each encrypted disk, and of the "
    "AMI's snapshots, exists, is enabled, and may be used by this account"
)
SNAPSHOT = ". A snapshot of the AMI is gone: upload the stemcell again"
QUOTA = ". Delete volumes, or have the account's EBS quota raised"


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
@pytest.mark.parametrize(
    ("reason", "said", "ok_to_retry"),
    [
        ("Server.InternalError: at fault", "Server.InternalError: at fault", True),
        ("Server.InsufficientInstanceCapacity: none", "Server.InsufficientInstanceCapacity: none", True),
        ("Server.SpotInstanceTermination: price", "Server.SpotInstanceTermination: price", True),
        ("Client.InternalError: no key", f"Client.InternalError: no key{KEY}", False),
        (
            "Client.InvalidSnapshot.NotFound: none",
            f"Client.InvalidSnapshot.NotFound: none{SNAPSHOT}",
            False,
        ),
        ("Client.VolumeLimitExceeded: many", f"Client.VolumeLimitExceeded: many{QUOTA}", False),
        ("Client.UserInitiatedShutdown: by us", "Client.UserInitiatedShutdown: by us", False),
        (None, "no reason given", True),
    ],
)
def test_ended_before_it_ran(
    ec2: Ec2, clock: Clock, state: str, reason: str | None, said: str, *, ok_to_retry: bool
) -> None:
    """An instance that EC2 ends before it runs ends the wait at once; a reason on our side is final."""
    code, _, text = (reason or "").partition(": ")
    lay(ec2, "pending", state, **({"StateReason": {"Code": code, "Message": text}} if reason else {}))
    with pytest.raises(instances.Ended) as caught:
        instances.wait_until_running(ec2.client, VM)
    assert caught.value.message == f"EC2 ended instance '{VM}' before it ran: {said}"
    assert (caught.value.code, caught.value.instance.state) == (code, state)
    assert caught.value.ok_to_retry is ok_to_retry
    assert caught.value.wire_type == "Bosh::Clouds::VMCreationFailed"
    assert len(clock.pauses) == 1


def test_never_runs(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance that does not run within ten minutes may be tried again."""
    monkeypatch.setattr(
        "bosh_aws_cpi.aws.instances.find", lambda _, cid: Instance(cid, "pending", "t", "z", {})
    )
    with pytest.raises(VMCreationFailed) as caught:
        instances.wait_until_running(ec2.client, VM)
    assert caught.value.message == (
        f"Timed out after 600 seconds waiting for instance '{VM}' to run; last seen: pending"
    )
    assert caught.value.ok_to_retry is True
    assert clock.now >= 600
