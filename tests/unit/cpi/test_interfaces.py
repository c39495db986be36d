"""Interfaces made before the launch, and those that the same create_vm made before it was cut off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from bosh_aws_cpi.cpi.interfaces import MAX_GENERATIONS, make_interfaces
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.plan.tokens import client_token
from bosh_aws_cpi.properties import VmProperties
from tests.unit.conftest import DIRECTOR
from tests.unit.cpi.launches import AGENT, NICS, ON_DEMAND, instance, plan

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.cpi.launch_plan import LaunchPlan
    from bosh_aws_cpi.model import NicPlan
    from tests.unit.conftest import Clock, Ec2

NOT_FOUND = "InvalidNetworkInterfaceID.NotFound"
FIRST, SECOND = NICS


def wanted(*plans: NicPlan, **properties: Any) -> LaunchPlan:
    """Plan a VM with these interfaces."""
    whole = plan(ON_DEMAND)
    given = {"instance_type": "m5.large", "availability_zone": "z", **properties}
    blueprint = replace(whole.blueprint, properties=VmProperties.parse(given))
    return replace(whole, blueprint=blueprint, nic_plans=plans, nics_first=True)


def token(group: str, generation: int = 0) -> str:
    """Return the client token of an interface."""
    return client_token("interface", DIRECTOR, AGENT, group, generation)


def entry(nic_id: str, status: str = "available", vm_cid: str | None = None) -> dict[str, Any]:
    """Describe an interface."""
    attachment = {"Attachment": {"InstanceId": vm_cid}} if vm_cid else {}
    return {"NetworkInterfaceId": nic_id, "Status": status, "MacAddress": f"mac-{nic_id}", **attachment}


def lay_create(ec2: Ec2, nic_plan: NicPlan, outcome: str, generation: int = 0) -> None:
    """Lay out a CreateNetworkInterface: an interface's id is answered, any other word is the error's code."""
    arguments = {
        "SubnetId": nic_plan.subnet_id,
        "Groups": ["sg-1"],
        "PrivateIpAddress": nic_plan.ipv4_address,
        "ClientToken": token(nic_plan.group, generation),
    }
    if outcome.startswith("eni-"):
        answer = {"NetworkInterface": entry(outcome, "pending")}
        ec2.answers("create_network_interface", answer, **arguments)
    else:
        ec2.refuses("create_network_interface", outcome, "sorry", **arguments)


def lay_look(ec2: Ec2, nic_id: str, *looks: dict[str, Any] | None) -> None:
    """Lay out one look at an interface after the other; none: EC2 does not know it."""
    for look in looks:
        if look is None:
            ec2.refuses("describe_network_interfaces", NOT_FOUND, NetworkInterfaceIds=[nic_id])
        else:
            answer = {"NetworkInterfaces": [look]}
            ec2.answers("describe_network_interfaces", answer, NetworkInterfaceIds=[nic_id])


def lay_instance(ec2: Ec2, vm_cid: str, state: str) -> None:
    """Lay out a look at an instance."""
    answer = {"Reservations": [{"Instances": [instance(vm_cid, state)]}]}
    ec2.answers("describe_instances", answer, InstanceIds=[vm_cid])


def made(cloud: Cloud, *plans: NicPlan, **properties: Any) -> list[str]:
    """Make the interfaces; returns their ids."""
    nics = make_interfaces(cloud, wanted(*plans, **properties), Undo())
    return [nic.nic_id for nic in nics]


def test_several(cloud: Cloud, ec2: Ec2) -> None:
    """Each interface is made under a token of its own, and waited for; its MAC is known then."""
    for nic_plan, nic_id in ((FIRST, "eni-1"), (SECOND, "eni-2")):
        lay_create(ec2, nic_plan, nic_id)
        lay_look(ec2, nic_id, entry(nic_id, "pending"), entry(nic_id))
    nics = make_interfaces(cloud, wanted(FIRST, SECOND), Undo())
    assert [(nic.nic_id, nic.mac_address) for nic in nics] == [
        ("eni-1", "mac-eni-1"),
        ("eni-2", "mac-eni-2"),
    ]


def test_public(cloud: Cloud, ec2: Ec2) -> None:
    """Only the first interface can be public."""
    for nic_plan, nic_id in ((FIRST, "eni-1"), (SECOND, "eni-2")):
        lay_create(ec2, nic_plan, nic_id)
        lay_look(ec2, nic_id, entry(nic_id))
        if nic_plan is FIRST:
            change = {"NetworkInterfaceId": nic_id, "AssociatePublicIpAddress": True}
            ec2.answers("modify_network_interface_attribute", **change)
    assert made(cloud, FIRST, SECOND, auto_assign_public_ip=True) == ["eni-1", "eni-2"]


def test_prefixes(cloud: Cloud, ec2: Ec2) -> None:
    """Prefixes are delegated by calls of their own; one that an earlier call delegated is left out."""
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", {**entry("eni-1"), "Ipv4Prefixes": [{"Ipv4Prefix": "10.0.0.16/28"}]})
    ec2.answers("assign_ipv6_addresses", NetworkInterfaceId="eni-1", Ipv6Prefixes=["2600::/80"])
    assert made(cloud, replace(FIRST, ipv4_prefix="10.0.0.16/28", ipv6_prefix="2600::/80")) == ["eni-1"]


def test_launched_before(cloud: Cloud, ec2: Ec2) -> None:
    """An interface that the VM of an earlier call has already is this VM's."""
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", entry("eni-1", "in-use", "i-1"))
    lay_instance(ec2, "i-1", "running")
    assert made(cloud, FIRST) == ["eni-1"]


def test_ended_before(cloud: Cloud, ec2: Ec2, clock: Clock) -> None:
    """An interface that an ending VM of an earlier call has is waited for."""
    lay_create(ec2, FIRST, "eni-1")
    for state in ("shutting-down", "terminated"):
        lay_look(ec2, "eni-1", entry("eni-1", "in-use", "i-1"))
        lay_instance(ec2, "i-1", state)
    lay_look(ec2, "eni-1", entry("eni-1"))
    assert made(cloud, FIRST) == ["eni-1"]
    assert len(clock.pauses) == 2


def test_gone_before(cloud: Cloud, ec2: Ec2, program_log: pytest.LogCaptureFixture) -> None:
    """A token that stands for an interface that is gone is followed by the next one."""
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", entry("eni-1", "pending"), None)
    ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId="eni-1")
    lay_create(ec2, FIRST, "eni-2", 1)
    lay_look(ec2, "eni-2", entry("eni-2"))
    assert made(cloud, FIRST) == ["eni-2"]
    said = "Network interface 'eni-1' of an earlier call is gone: making another"
    assert said in [record.getMessage() for record in program_log.records]


@pytest.mark.parametrize("code", ["IdempotentParameterMismatch", "IdempotentInstanceTerminated"])
def test_made_in_another_way_before(cloud: Cloud, ec2: Ec2, code: str) -> None:
    """A token that stands for an interface with other arguments is followed by the next one."""
    lay_create(ec2, FIRST, code)
    lay_create(ec2, FIRST, "eni-2", 1)
    lay_look(ec2, "eni-2", entry("eni-2"))
    assert made(cloud, FIRST) == ["eni-2"]


def test_no_end(cloud: Cloud, ec2: Ec2) -> None:
    """Tokens are not tried for ever; the group is named."""
    for generation in range(MAX_GENERATIONS):
        lay_create(ec2, FIRST, "IdempotentParameterMismatch", generation)
    with pytest.raises(CloudError) as caught:
        made(cloud, FIRST)
    assert caught.value.message == (
        "Failed to create network interface for nic_group 'a': "
        f"{MAX_GENERATIONS} interfaces were made and removed for this VM before"
    )


def test_refused(cloud: Cloud, ec2: Ec2) -> None:
    """A refusal names the group of the interface, and what EC2 says."""
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", entry("eni-1"))
    lay_create(ec2, SECOND, "InvalidSubnetID.NotFound")
    with pytest.raises(CloudError) as caught:
        made(cloud, FIRST, SECOND)
    assert caught.value.message == (
        "Failed to create network interface for nic_group 'b': CreateNetworkInterface failed with "
        "InvalidSubnetID.NotFound: sorry (request id none)"
    )
    assert isinstance(caught.value.__cause__, ClientError)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (EndpointConnectionError(endpoint_url="http://h/"), "AWS could not be called: EndpointConnection"),
        (CloudError("said"), "said"),
    ],
)
def test_other_failures(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    """So does whatever else goes wrong in between."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.create", fail)
    said = f"Failed to create network interface for nic_group 'a': {message}"
    with pytest.raises(CloudError, match=said):
        made(cloud, FIRST)


def test_programming_error(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw is not dressed up as an answer of EC2's."""

    def fail(*_: object) -> None:
        raise KeyError("MacAddress")

    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.create", fail)
    with pytest.raises(KeyError):
        made(cloud, FIRST)
