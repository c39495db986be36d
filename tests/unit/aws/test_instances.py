"""EC2 instances, found, rebooted and removed, through the orders of states that EC2 shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.aws import instances
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.model import Instance
from tests.unit.aws.instance_looks import IDS, NOT_FOUND, VM, lay

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2


def test_find(ec2: Ec2) -> None:
    """An instance is found in every state; a terminated one is not alive."""
    lay(ec2, "terminated", "terminated", "shutting-down", None)
    ec2.answers("describe_instances", {"Reservations": []}, **IDS)
    assert instances.find(ec2.client, VM) == Instance(VM, "terminated", "m5.large", "", {}, nics=[])
    with pytest.raises(VMNotFound):
        instances.find_alive(ec2.client, VM)
    assert instances.find_alive(ec2.client, VM).is_ending
    for _ in ("refused", "empty"):
        with pytest.raises(VMNotFound, match=f"VM `{VM}' not found"):
            instances.find(ec2.client, VM)


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


def test_pass_foreign_traffic(ec2: Ec2) -> None:
    """A router's source/destination check is taken off the instance."""
    ec2.answers("modify_instance_attribute", InstanceId=VM, SourceDestCheck={"Value": False})
    instances.pass_foreign_traffic(ec2.client, VM)


def test_pass_foreign_traffic_of_what_is_not_seen_yet(ec2: Ec2, clock: Clock) -> None:
    """The call is retried while EC2 does not know the instance."""
    change = {"InstanceId": VM, "SourceDestCheck": {"Value": False}}
    ec2.refuses("modify_instance_attribute", NOT_FOUND, **change)
    ec2.answers("modify_instance_attribute", **change)
    instances.pass_foreign_traffic(ec2.client, VM)
    assert len(clock.pauses) == 1
