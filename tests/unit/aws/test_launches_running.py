"""Waiting for a new instance to run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws import launches
from bosh_aws_cpi.aws.sdk.timing import INSTANCE_RUNNING, INSTANCE_SEEN
from bosh_aws_cpi.errors import VMCreationFailed, VMNotFound
from bosh_aws_cpi.model import Instance
from tests.unit.aws.instance_looks import VM, lay
from tests.unit.aws.timing_script import answer_late

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2


@pytest.mark.parametrize(
    "states",
    [("running",), ("pending", "pending", "running"), (None, None, "pending", "running")],
    ids=["at once", "pending", "not to be seen at first"],
)
def test_wait_until_running(ec2: Ec2, clock: Clock, states: tuple[str | None, ...]) -> None:
    """A new instance is waited for, also while EC2 does not know it yet."""
    lay(ec2, *states)
    assert launches.wait_until_running(ec2.client, VM).state == "running"
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
    running = launches.wait_until_running(ec2.client, VM, 2)
    assert [nic.nic_id for nic in running.nics] == ["eni-0", "eni-1"]
    assert len(clock.pauses) == 3


KEY = (
    ". Check that the KMS key of each encrypted disk, and of the AMI's snapshots, exists, is enabled and not "
    "pending deletion, and that its policy lets the CPI's user or role use it and create grants"
)
USUALLY = ". The usual cause is a KMS key that EC2 can't use"
SPOT_GRANT = (
    ". A customer managed key also needs a grant for the role by which EC2 launches Spot instances, "
    "AWSServiceRoleForEC2Spot: aws kms create-grant"
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
        ("Client.InternalError: no key", f"Client.InternalError: no key{USUALLY}{KEY}", False),
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
    """An instance that is ended before it runs ends the wait at once; a reason on our side is final."""
    code, _, text = (reason or "").partition(": ")
    lay(ec2, "pending", state, **({"StateReason": {"Code": code, "Message": text}} if reason else {}))
    with pytest.raises(launches.Ended) as caught:
        launches.wait_until_running(ec2.client, VM)
    who = "A user" if code == "Client.UserInitiatedShutdown" else "EC2"
    assert caught.value.message == f"{who} terminated instance '{VM}' before it ran: {said}"
    assert (caught.value.code, caught.value.instance.state) == (code, state)
    assert caught.value.ok_to_retry is ok_to_retry
    assert caught.value.wire_type == "Bosh::Clouds::VMCreationFailed"
    assert len(clock.pauses) == 1


@pytest.mark.parametrize(
    ("code", "message", "meant"),
    [
        ("Server.InternalError", "Client.VolumeLimitExceeded: Volume limit exceeded", None),
        ("Server.InternalError", "Client.InternalError: Client error on launch", None),
        ("Client.InternalError", "Client.InvalidKMSKey.InvalidState: The KMS key is in a bad state", None),
        ("Server.InternalError", "Server.InternalError", None),
        ("Client.InternalError", "see Client.Other: it is not at the beginning", "Client.InternalError"),
        ("Server.InternalError", "", "Server.InternalError"),
    ],
)
def test_code_of_the_reason(ec2: Ec2, code: str, message: str, meant: str | None) -> None:
    """The reason is the one that EC2's message begins with; only without one is it EC2's code."""
    lay(ec2, "terminated", StateReason={"Code": code, "Message": message})
    with pytest.raises(launches.Ended) as caught:
        launches.wait_until_running(ec2.client, VM)
    assert caught.value.code == (meant or message.partition(":")[0])
    assert caught.value.ok_to_retry is caught.value.code.startswith("Server.")
    assert (message or code) in caught.value.said


@pytest.mark.parametrize(("lifecycle", "grant"), [({}, ""), ({"InstanceLifecycle": "spot"}, SPOT_GRANT)])
@pytest.mark.parametrize(
    ("code", "remedy"),
    [("Client.InternalError", USUALLY + KEY), ("Client.InvalidKMSKey.InvalidState", KEY)],
)
def test_key_that_cannot_be_used(
    ec2: Ec2, code: str, remedy: str, lifecycle: dict[str, str], grant: str
) -> None:
    """A KMS key that EC2 can't use has its remedy, and on the spot market the grant that it needs there."""
    lay(
        ec2, "terminated", StateReason={"Code": "Client.InternalError", "Message": f"{code}: no"}, **lifecycle
    )
    with pytest.raises(launches.Ended) as caught:
        launches.wait_until_running(ec2.client, VM)
    assert caught.value.message.endswith(f": {code}: no{remedy}{grant}")


def test_never_runs(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance that does not run in time may be tried again."""
    monkeypatch.setattr(
        "bosh_aws_cpi.aws.instances.find", lambda _, cid: Instance(cid, "pending", "t", "z", {})
    )
    with pytest.raises(VMCreationFailed) as caught:
        launches.wait_until_running(ec2.client, VM)
    assert caught.value.message == (
        f"Timed out after 800 seconds waiting for instance '{VM}' to run; last seen: pending"
    )
    assert caught.value.ok_to_retry is True
    assert clock.now >= INSTANCE_RUNNING.seconds


def test_never_seen(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier call's instance that EC2 does not show for minutes is NeverSeen."""

    def unknown(_: object, vm_cid: str) -> Instance:
        raise VMNotFound(vm_cid)

    monkeypatch.setattr("bosh_aws_cpi.aws.instances.find", unknown)
    with pytest.raises(launches.NeverSeen) as caught:
        launches.wait_until_running(ec2.client, VM, is_new=False)
    assert caught.value.message == f"EC2 does not show instance '{VM}'"
    assert 0 <= clock.now - INSTANCE_SEEN.seconds <= 6


def test_new_and_never_seen(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance that this call launched exists, however long EC2 does not show it."""

    def unknown(_: object, vm_cid: str) -> Instance:
        raise VMNotFound(vm_cid)

    monkeypatch.setattr("bosh_aws_cpi.aws.instances.find", unknown)
    with pytest.raises(VMCreationFailed, match="to run; last seen: not visible yet"):
        launches.wait_until_running(ec2.client, VM)
    assert clock.now >= INSTANCE_RUNNING.seconds


def test_no_answer_at_first(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes without an answer don't mean that there is no such instance."""
    answer_late(monkeypatch, ec2.client, "describe_instances", clock, 3 * INSTANCE_SEEN.seconds)
    lay(ec2, "pending", None, "running")
    assert launches.wait_until_running(ec2.client, VM).state == "running"
    assert clock.now > 3 * INSTANCE_SEEN.seconds


def test_no_answer_at_all(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If EC2 never answers, the instance may run: the error is not NeverSeen."""
    answer_late(monkeypatch, ec2.client, "describe_instances", clock, math.inf)
    with pytest.raises(VMCreationFailed, match=f"instance '{VM}' to run; last seen: Unavailable") as caught:
        launches.wait_until_running(ec2.client, VM)
    assert type(caught.value) is VMCreationFailed
    assert clock.now >= INSTANCE_RUNNING.seconds


def test_seen_and_then_not(ec2: Ec2, clock: Clock) -> None:
    """One that was seen may be unknown to another of EC2's servers for a moment: it is waited for."""
    lay(ec2, "pending", None, None, "running")
    assert launches.wait_until_running(ec2.client, VM).state == "running"
    assert len(clock.pauses) == 3


@pytest.mark.parametrize("operation", ["fails", "loses"])
def test_no_answer_while_waiting(ec2: Ec2, clock: Clock, operation: str) -> None:
    """A look that is not answered is no reason to give the instance up."""
    ask: dict[str, Any] = {"InstanceIds": [VM]}
    for _ in range(2):
        if operation == "fails":
            ec2.fails("describe_instances", "Unavailable", **ask)
        else:
            ec2.loses("describe_instances", **ask)
        lay(ec2, "pending")
    lay(ec2, "running")
    assert launches.wait_until_running(ec2.client, VM).state == "running"
    assert len(clock.pauses) == 4
