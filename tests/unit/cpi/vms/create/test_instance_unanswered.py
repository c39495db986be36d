"""Launches whose answer was lost, or whose instance EC2 never shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.aws import instances
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.errors import VMCreationFailed, VMNotFound
from tests.unit.cpi.launches import (
    ON_DEMAND,
    OTHER,
    SPOT,
    launch,
    lay_agents,
    lay_run,
    lay_running,
    token,
)

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.model import Instance
    from tests.unit.conftest import Clock, Ec2

UNCERTAIN = pytest.mark.parametrize(
    "how", ["lost", "fault", "again RequestLimitExceeded", "again InsufficientInstanceCapacity"]
)


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let EC2 never show any instance of the agent."""
    monkeypatch.setattr("bosh_aws_cpi.aws.instances.tagged", lambda *_: [])


@UNCERTAIN
@pytest.mark.parametrize("unseen_looks", [0, 2])
def test_found(cloud: Cloud, ec2: Ec2, clock: Clock, how: str, unseen_looks: int) -> None:
    """The instance of a launch that was not answered is found by its token, and is the VM."""
    lay_run(ec2, ON_DEMAND, 0, how)
    for _ in range(unseen_looks):
        lay_agents(ec2, ("i-9", "running", "another token"))
    lay_agents(ec2, ("i-9", "running", "another token"), ("i-1", "pending", token(ON_DEMAND, 0)))
    lay_running(ec2, "i-1")
    assert launch(cloud, ON_DEMAND)[0].vm_cid == "i-1"
    assert len(clock.pauses) == unseen_looks


@UNCERTAIN
def test_found_ended(cloud: Cloud, ec2: Ec2, how: str) -> None:
    """One that is found ended already may be an earlier call's: then its token is spent."""
    lay_run(ec2, ON_DEMAND, 0, how)
    for _ in ("looked for", "looked at"):
        lay_agents(ec2, ("i-0", "terminated", token(ON_DEMAND, 0)), is_earlier=True)
    lay_run(ec2, ON_DEMAND, 1, "i-1")
    lay_running(ec2, "i-1")
    assert launch(cloud, ON_DEMAND)[0].vm_cid == "i-1"


@UNCERTAIN
@pytest.mark.usefixtures("unseen")
def test_not_found(cloud: Cloud, ec2: Ec2, clock: Clock, how: str) -> None:
    """EC2 that does not answer is not the type's fault: no other is tried, the call may be repeated."""
    lay_run(ec2, ON_DEMAND, 0, how)
    with pytest.raises(VMCreationFailed) as caught:
        launch(cloud, ON_DEMAND, OTHER)
    assert caught.value.ok_to_retry is True
    assert 60 <= clock.now <= 66


@UNCERTAIN
@pytest.mark.usefixtures("unseen")
def test_spot_not_found(cloud: Cloud, ec2: Ec2, clock: Clock, how: str) -> None:
    """A spot launch that was not answered may have made a VM: no second one is launched on demand."""
    lay_run(ec2, SPOT, 0, how)
    with pytest.raises(VMCreationFailed) as caught:
        launch(cloud, SPOT, ON_DEMAND)
    assert caught.value.ok_to_retry is True
    assert 60 <= clock.now <= 66


def test_never_seen(cloud: Cloud, ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier call's instance that EC2 answers and never shows is removed, to be sure, and replaced."""
    really_find, removals = instances.find, []

    def find(_: object, vm_cid: str) -> Instance:
        if vm_cid == "i-0":
            raise VMNotFound(vm_cid)
        return really_find(ec2.client, vm_cid)

    def terminate(_: object, vm_cid: str) -> None:
        removals.append(vm_cid)
        raise VMNotFound(vm_cid)

    monkeypatch.setattr("bosh_aws_cpi.aws.instances.find", find)
    monkeypatch.setattr("bosh_aws_cpi.aws.instances.terminate", terminate)
    lay_run(ec2, ON_DEMAND, 0, "i-0", is_earlier=True)
    lay_agents(ec2)
    lay_run(ec2, ON_DEMAND, 1, "i-1")
    lay_running(ec2, "i-1")
    assert launch(cloud, ON_DEMAND)[0].vm_cid == "i-1"
    assert set(removals) == {"i-0"}
    assert 0 <= clock.now - 2 * timing.INSTANCE_SEEN.seconds <= 12
