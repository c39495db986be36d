"""EC2 instances, through the orders of states that EC2 shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import instances
from bosh_aws_cpi.errors import CloudError, VMCreationFailed, VMNotFound
from bosh_aws_cpi.model import Instance

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

VM = "i-0123456789abcdef0"
IDS = {"InstanceIds": [VM]}
NOT_FOUND = "InvalidInstanceID.NotFound"


def entry(state: str = "running", **more: Any) -> dict[str, Any]:
    """Describe the instance."""
    return {"InstanceId": VM, "State": {"Name": state}, "InstanceType": "m5.large", **more}


def lay(ec2: Ec2, *states: str | None, **more: Any) -> None:
    """Lay out one look at the instance after the other; none: EC2 does not know it."""
    for state in states:
        if state is None:
            ec2.refuses("describe_instances", NOT_FOUND, **IDS)
        else:
            answer = {"Reservations": [{"Instances": [entry(state, **more)]}]}
            ec2.answers("describe_instances", answer, **IDS)


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
            {"NetworkInterfaceId": "eni-1", "Attachment": {"AttachmentId": "eni-attach-1"}},
            {"NetworkInterfaceId": "eni-2"},
        ],
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
        nic_attachments={"eni-1": "eni-attach-1"},
        state_reason="pending: pending",
    )


@pytest.mark.parametrize(
    "code",
    [
        *("InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientFreeAddressesInSubnet"),
        *("InternalError", "Unavailable", "RequestLimitExceeded"),
    ],
)
def test_run_without_capacity(ec2: Ec2, code: str) -> None:
    """When AWS is short or at fault, the same call may succeed later."""
    ec2.refuses("run_instances", code, "none left", MinCount=1, MaxCount=1)
    with pytest.raises(VMCreationFailed) as caught:
        instances.run(ec2.client, {})
    assert caught.value.ok_to_retry is True
    assert f"RunInstances failed with {code}: none left" in caught.value.message


@pytest.mark.parametrize("code", ["InvalidParameterValue", "VcpuLimitExceeded", "InvalidIPAddress.InUse"])
def test_run_refused(ec2: Ec2, code: str) -> None:
    """Any other refusal goes on as it is."""
    ec2.refuses("run_instances", code, MinCount=1, MaxCount=1)
    with pytest.raises(ClientError, match=code):
        instances.run(ec2.client, {})


def test_find(ec2: Ec2) -> None:
    """An instance is found in every state; a terminated one is not alive."""
    lay(ec2, "terminated", "terminated", "shutting-down", None)
    ec2.answers("describe_instances", {"Reservations": []}, **IDS)
    assert instances.find(ec2.client, VM) == Instance(VM, "terminated", "m5.large", "", {})
    with pytest.raises(VMNotFound):
        instances.find_alive(ec2.client, VM)
    assert instances.find_alive(ec2.client, VM).is_ending
    for _ in ("refused", "empty"):
        with pytest.raises(VMNotFound, match=f"VM `{VM}' not found"):
            instances.find(ec2.client, VM)


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
        {"NetworkInterfaceId": f"eni-{number}", "Attachment": {"AttachmentId": f"eni-attach-{number}"}}
        for number in (1, 2)
    ]
    lay(ec2, "running")
    lay(ec2, "running", NetworkInterfaces=seen[:1])
    lay(ec2, "running", NetworkInterfaces=[seen[0], {"NetworkInterfaceId": "eni-2"}])
    lay(ec2, "running", NetworkInterfaces=seen)
    running = instances.wait_until_running(ec2.client, VM, ["eni-1", "eni-2"])
    assert running.nic_attachments == {"eni-1": "eni-attach-1", "eni-2": "eni-attach-2"}
    assert len(clock.pauses) == 3


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
@pytest.mark.parametrize(
    ("reason", "said", "ok_to_retry"),
    [
        (("Server.InternalError", "at fault"), "Server.InternalError: at fault", True),
        (("Server.InsufficientInstanceCapacity", "none"), "Server.InsufficientInstanceCapacity: none", True),
        (("Client.InvalidSnapshot.NotFound", "no key"), "Client.InvalidSnapshot.NotFound: no key", False),
        (None, "no reason given", True),
    ],
)
def test_ended_before_it_ran(
    ec2: Ec2, clock: Clock, state: str, reason: tuple[str, str] | None, said: str, *, ok_to_retry: bool
) -> None:
    """An instance that EC2 ends before it runs ends the wait at once, with EC2's reason; our own is final."""
    more = {"StateReason": {"Code": reason[0], "Message": reason[1]}} if reason else {}
    lay(ec2, "pending", state, **more)
    with pytest.raises(VMCreationFailed) as caught:
        instances.wait_until_running(ec2.client, VM)
    assert caught.value.message == f"EC2 ended instance '{VM}' before it ran: {said}"
    assert caught.value.ok_to_retry is ok_to_retry
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


@pytest.mark.parametrize(
    "states", [("terminated",), ("running", "shutting-down", "terminated"), ("shutting-down", None)]
)
def test_discard(ec2: Ec2, clock: Clock, states: tuple[str | None, ...]) -> None:
    """An instance that must not be is terminated and waited for until EC2 has ended it."""
    ec2.answers("terminate_instances", **IDS)
    lay(ec2, *states)
    instances.discard(ec2.client, VM)
    assert len(clock.pauses) == len(states) - 1


def test_discard_what_is_not_seen_yet(ec2: Ec2, clock: Clock) -> None:
    """An instance made a moment ago that EC2 does not know yet is asked for again, not given up."""
    for _ in range(3):
        ec2.refuses("terminate_instances", NOT_FOUND, **IDS)
    ec2.answers("terminate_instances", **IDS)
    lay(ec2, "terminated")
    instances.discard(ec2.client, VM)
    assert len(clock.pauses) == 3


def test_terminate_unknown(ec2: Ec2) -> None:
    """An instance that EC2 does not know can't be deleted."""
    for code in (NOT_FOUND, "InvalidInstanceID.Malformed"):
        ec2.refuses("terminate_instances", code, **IDS)
        with pytest.raises(VMNotFound):
            instances.terminate(ec2.client, VM)


def test_termination_that_is_not_certain(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance that does not end within a quarter of an hour is an error."""
    monkeypatch.setattr(
        "bosh_aws_cpi.aws.instances.find", lambda _, cid: Instance(cid, "running", "t", "z", {})
    )
    with pytest.raises(CloudError, match=f"waiting for instance '{VM}' to be terminated; last seen: running"):
        instances.wait_until_terminated(ec2.client, VM)
    assert clock.now >= 900


@pytest.mark.parametrize(
    ("states", "operation"),
    [
        (("running",), "reboot_instances"),
        (("pending",), "reboot_instances"),
        (("stopped",), "start_instances"),
        (("stopping", "stopping", "stopped"), "start_instances"),
    ],
)
def test_reboot(ec2: Ec2, clock: Clock, states: tuple[str, ...], operation: str) -> None:
    """A VM is rebooted; one that is stopped, or stopping, is started once it is stopped."""
    lay(ec2, *states)
    ec2.answers(operation, **IDS)
    instances.reboot(ec2.client, VM)
    assert len(clock.pauses) == max(len(states) - 2, 0)


@pytest.mark.parametrize("states", [(None,), ("terminated",), ("stopping", "terminated")])
def test_reboot_what_is_gone(ec2: Ec2, states: tuple[str | None, ...]) -> None:
    """A VM that is gone, or goes meanwhile, is not found."""
    lay(ec2, *states)
    with pytest.raises(VMNotFound):
        instances.reboot(ec2.client, VM)
