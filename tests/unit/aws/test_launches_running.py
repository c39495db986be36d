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


def wait_until_running(ec2: Ec2, nic_count: int = 0) -> Instance:
    """Wait for the new instance, which EC2 shows in the end."""
    found = launches.wait_until_running(ec2.client, VM, nic_count)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "states",
    [("running",), ("pending", "pending", "running"), (None, None, "pending", "running")],
    ids=["at once", "pending", "not to be seen at first"],
)
def test_wait_until_running(ec2: Ec2, clock: Clock, states: tuple[str | None, ...]) -> None:
    """A new instance is waited for, also while EC2 does not know it yet."""
    lay(ec2, *states)
    assert wait_until_running(ec2).state == "running"
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
    running = wait_until_running(ec2, 2)
    assert [nic.nic_id for nic in running.nics] == ["eni-0", "eni-1"]
    assert len(clock.pauses) == 3


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
def test_ended_before_it_ran(ec2: Ec2, clock: Clock, state: str) -> None:
    """An instance that is ended before it runs ends the wait at once, even without its interfaces."""
    lay(ec2, "pending", state)
    assert wait_until_running(ec2, 2).state == state
    assert len(clock.pauses) == 1


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
    """An earlier call's instance that EC2 does not show for minutes ends the wait, without one."""

    def unknown(_: object, vm_cid: str) -> Instance:
        raise VMNotFound(vm_cid)

    monkeypatch.setattr("bosh_aws_cpi.aws.instances.find", unknown)
    assert launches.wait_until_running(ec2.client, VM, is_new=False) is None
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
    assert wait_until_running(ec2).state == "running"
    assert clock.now > 3 * INSTANCE_SEEN.seconds


def test_no_answer_at_all(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If EC2 never answers, the instance may run: the wait times out."""
    answer_late(monkeypatch, ec2.client, "describe_instances", clock, math.inf)
    with pytest.raises(VMCreationFailed, match=f"instance '{VM}' to run; last seen: Unavailable") as caught:
        launches.wait_until_running(ec2.client, VM)
    assert type(caught.value) is VMCreationFailed
    assert clock.now >= INSTANCE_RUNNING.seconds


def test_seen_and_then_not(ec2: Ec2, clock: Clock) -> None:
    """One that was seen may be unknown to another of EC2's servers for a moment: it is waited for."""
    lay(ec2, "pending", None, None, "running")
    assert wait_until_running(ec2).state == "running"
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
    assert wait_until_running(ec2).state == "running"
    assert len(clock.pauses) == 4
