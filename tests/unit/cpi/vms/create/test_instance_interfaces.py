"""Launches with existing interfaces, which a terminated instance keeps for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.model import Nic
from tests.unit.cpi.launches import (
    ON_DEMAND,
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
    from tests.unit.conftest import Clock, Ec2

FAULT = "Server.InternalError"
MADE = [Nic("eni-0", "m0", "available"), Nic("eni-1", "m1", "available")]


def lay_interface(ec2: Ec2, nic_id: str, *states: str) -> None:
    """Lay out the answers of DescribeNetworkInterfaces; "gone" is a refusal as unknown."""
    for state in states:
        if state == "gone":
            code = "InvalidNetworkInterfaceID.NotFound"
            ec2.refuses("describe_network_interfaces", code, NetworkInterfaceIds=[nic_id])
        else:
            entry = {"NetworkInterfaceId": nic_id, "Status": state, "MacAddress": "m"}
            answer = {"NetworkInterfaces": [entry]}
            ec2.answers("describe_network_interfaces", answer, NetworkInterfaceIds=[nic_id])


def test_relaunch_without_its_interfaces(cloud: Cloud, ec2: Ec2) -> None:
    """If an interface is deleted with the terminated instance, the call fails, and can be retried."""
    lay_run(ec2, ON_DEMAND, 0, "i-1")
    lay_ended(ec2, "i-1", FAULT)
    lay_interface(ec2, "eni-0", "in-use", "gone")
    with pytest.raises(VMCreationFailed, match="Network interface 'eni-0' is gone") as caught:
        launch(cloud, ON_DEMAND, made=MADE)
    assert caught.value.ok_to_retry is True


def test_next_offer_with_its_interfaces(cloud: Cloud, ec2: Ec2, clock: Clock) -> None:
    """The next launch option gets the same interfaces, once EC2 has detached them."""
    lay_agents(ec2)
    lay_run(ec2, SPOT, 0, "i-1")
    lay_ended(ec2, "i-1", "Server.SpotInstanceTermination")
    lay_interface(ec2, "eni-0", "in-use", "available")
    lay_interface(ec2, "eni-1", "available")
    lay_run(ec2, ON_DEMAND, 0, "i-2")
    lay_running(ec2, "i-2", nic_count=2)
    assert launch(cloud, SPOT, ON_DEMAND, made=MADE)[0].vm_cid == "i-2"
    assert len(clock.pauses) == 1


def test_ended_by_an_earlier_call_with_its_interfaces(cloud: Cloud, ec2: Ec2, clock: Clock) -> None:
    """The launch waits until EC2 has detached the interfaces from an earlier call's instance."""
    lay_run(ec2, ON_DEMAND, 0, "i-0", is_earlier=True)
    lay_ended(ec2, "i-0", "Client.UserInitiatedShutdown", is_earlier=True)
    lay_interface(ec2, "eni-0", "in-use", "available")
    lay_interface(ec2, "eni-1", "available")
    lay_agents(ec2, ("i-0", "shutting-down", token(ON_DEMAND, 0)))
    lay_run(ec2, ON_DEMAND, 1, "i-1")
    lay_running(ec2, "i-1", nic_count=2)
    assert launch(cloud, ON_DEMAND, made=MADE)[0].vm_cid == "i-1"
    assert len(clock.pauses) == 1


def test_other_arguments_with_its_interfaces(cloud: Cloud, ec2: Ec2) -> None:
    """If an instance with other arguments has the interfaces, the call fails, and names it."""
    lay_run(ec2, ON_DEMAND, 0, "IdempotentParameterMismatch")
    lay_agents(ec2, ("i-0", "running", token(ON_DEMAND, 0)))
    made = [nic.replaced(vm_cid="i-0", status="in-use") for nic in MADE]
    with pytest.raises(CloudError) as caught:
        launch(cloud, ON_DEMAND, made=made)
    assert caught.value.message == (
        "Instance 'i-0' was created for this agent with other arguments, and has its network interfaces: "
        "delete it if the Director does not know it"
    )
