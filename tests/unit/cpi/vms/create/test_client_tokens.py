"""The same create_vm again: client tokens of earlier calls, and what stands behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.cpi.vms.create.instance import MAX_GENERATIONS
from bosh_aws_cpi.errors import VMCreationFailed
from tests.unit.cpi.launches import (
    ON_DEMAND,
    OTHER,
    SPOT,
    launch,
    lay_agents,
    lay_ended,
    lay_run,
    lay_running,
    token,
)

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Ec2, ProgramLog

BY_US = "Client.UserInitiatedShutdown"
FAULT = "Server.InternalError"
SPENT = pytest.mark.parametrize("code", ["IdempotentInstanceTerminated", "IdempotentParameterMismatch"])


@SPENT
def test_many_spent_tokens(cloud: Cloud, ec2: Ec2, code: str, program_log: ProgramLog) -> None:
    """Tokens whose ended instances EC2 still shows are passed over; the log says why, without a warning."""
    lay_run(ec2, ON_DEMAND, 0, code)
    lay_agents(ec2, *((f"i-{n}", "terminated", token(ON_DEMAND, n)) for n in (0, 1, 3)))
    lay_run(ec2, ON_DEMAND, 4, "i-4")
    lay_running(ec2, "i-4")
    assert launch(cloud, ON_DEMAND)[0].vm_cid == "i-4"
    assert f"RunInstances failed with {code}" in program_log.text
    assert {record.level for record in program_log.records} == {"INFO"}


def test_later_generation_alive(cloud: Cloud, ec2: Ec2) -> None:
    """An earlier call's instance that is alive behind a later token is found by that, not made anew."""
    lay_run(ec2, ON_DEMAND, 0, "IdempotentInstanceTerminated")
    states = ("terminated", "terminated", "running", "shutting-down", "pending")
    known = [(f"i-{n}", state) for n, state in enumerate(states)]
    lay_agents(ec2, *((vm_cid, state, token(ON_DEMAND, n)) for n, (vm_cid, state) in enumerate(known)))
    lay_run(ec2, ON_DEMAND, 2, "i-2")
    lay_running(ec2, "i-2")
    assert launch(cloud, ON_DEMAND)[0].vm_cid == "i-2"


def test_ended_by_an_earlier_call(cloud: Cloud, ec2: Ec2) -> None:
    """A token may answer the instance that an earlier call removed: that counts as no failure."""
    lay_run(ec2, ON_DEMAND, 0, "i-0", is_earlier=True)
    lay_ended(ec2, "i-0", BY_US, is_earlier=True)
    lay_agents(ec2, ("i-0", "terminated", token(ON_DEMAND, 0)))
    for generation in (1, 2):  # as often as it is launched again for EC2's own reasons
        lay_run(ec2, ON_DEMAND, generation, f"i-{generation}")
        lay_ended(ec2, f"i-{generation}", FAULT)
    lay_run(ec2, ON_DEMAND, 3, "i-3")
    lay_running(ec2, "i-3")
    assert launch(cloud, ON_DEMAND)[0].vm_cid == "i-3"


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
def test_answered_with_an_ended_one(cloud: Cloud, ec2: Ec2, state: str) -> None:
    """A token that answers an earlier call's instance that is ended is spent, however often."""
    for generation in range(4):
        lay_run(ec2, ON_DEMAND, generation, f"i-{generation}", state, is_earlier=True)
        lay_agents(ec2, (f"i-{generation}", state, token(ON_DEMAND, generation)))
    lay_run(ec2, ON_DEMAND, 4, "i-4")
    lay_running(ec2, "i-4")
    assert launch(cloud, ON_DEMAND)[0].vm_cid == "i-4"


@pytest.mark.parametrize("code", [FAULT, "Client.VolumeLimitExceeded", BY_US])
def test_ended_in_an_earlier_call(cloud: Cloud, ec2: Ec2, code: str) -> None:
    """An earlier call's instance may have ended for whatever reason: it is passed over."""
    lay_run(ec2, ON_DEMAND, 0, "i-0", is_earlier=True)
    lay_ended(ec2, "i-0", code, is_earlier=True)
    lay_agents(ec2, *((f"i-{n}", "terminated", token(ON_DEMAND, n)) for n in (0, 1)))
    lay_run(ec2, ON_DEMAND, 2, "i-2")
    lay_running(ec2, "i-2")
    assert launch(cloud, ON_DEMAND)[0].vm_cid == "i-2"


@pytest.mark.parametrize("state", ["pending", "shutting-down", "terminated"])
def test_launches_of_earlier_calls_are_not_counted(cloud: Cloud, ec2: Ec2, state: str) -> None:
    """However many earlier calls launched, this one may launch again twice, and not more often."""
    lay_run(ec2, ON_DEMAND, 0, "i-0", is_earlier=True)
    lay_ended(ec2, "i-0", FAULT, is_earlier=True)
    lay_agents(ec2, *((f"i-{n}", "terminated", token(ON_DEMAND, n)) for n in range(4)))
    for generation in (4, 5, 6):
        lay_run(ec2, ON_DEMAND, generation, f"i-{generation}", state)
        lay_ended(ec2, f"i-{generation}", FAULT)
    with pytest.raises(VMCreationFailed, match="EC2 terminated instance 'i-6'") as caught:
        launch(cloud, ON_DEMAND)
    assert caught.value.ok_to_retry is True


def test_no_end(cloud: Cloud, ec2: Ec2) -> None:
    """Tokens are not tried for ever."""
    for generation in range(MAX_GENERATIONS):
        lay_run(ec2, ON_DEMAND, generation, "IdempotentParameterMismatch")
        lay_agents(ec2)
    with pytest.raises(VMCreationFailed) as caught:
        launch(cloud, ON_DEMAND)
    assert caught.value.message == (
        f"{MAX_GENERATIONS} instances were already launched for this VM: use another agent id"
    )
    assert caught.value.ok_to_retry is False


def test_further_down_the_list_and_short(cloud: Cloud, ec2: Ec2) -> None:
    """Should that one be gone after all, the others are tried from their beginning, in their order."""
    lay_agents(ec2, ("i-1", "running", token(ON_DEMAND, 1)))
    lay_run(ec2, ON_DEMAND, 1, "InsufficientInstanceCapacity")
    lay_run(ec2, SPOT, 0, "InsufficientInstanceCapacity")
    lay_run(ec2, OTHER, 0, "i-2")
    lay_running(ec2, "i-2")
    assert launch(cloud, SPOT, ON_DEMAND, OTHER)[0].vm_cid == "i-2"


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
def test_nothing_alive(cloud: Cloud, ec2: Ec2, state: str) -> None:
    """Ended instances of earlier calls don't change the order; those of other requests don't either."""
    lay_agents(ec2, ("i-0", state, token(OTHER, 0)), ("i-1", "running", "another token"))
    lay_run(ec2, SPOT, 0, "i-2")
    lay_running(ec2, "i-2")
    assert launch(cloud, SPOT, OTHER)[1] is SPOT
