"""The deletion of subnets that are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.stub import ANY

from bosh_aws_cpi.aws import subnets
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.errors import CloudError, NetworkNotFound

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

SUBNET = "subnet-1"
IN_SUBNET = [{"Name": "subnet-id", "Values": [SUBNET]}]
ALIVE = [
    {"Name": "instance-id", "Values": ["i-1"]},
    {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]},
]
LEAKED = {"NetworkInterfaceId": "eni-1", "Status": "available", "Description": "of a function"}
OF_VM = {"NetworkInterfaceId": "eni-2", "Status": "in-use", "Attachment": {"InstanceId": "i-1"}}


OF_BALANCER = {**LEAKED, "Status": "in-use", "Description": "ELB app/a/1", "RequesterManaged": True}


def lay_mark(ec2: Ec2) -> None:
    """Lay out the tag of a subnet that stays."""
    ec2.answers("create_tags", Resources=[SUBNET], Tags=[{"Key": "bosh_delete_failed", "Value": ANY}])


def lay_shown(ec2: Ec2, *subnets: dict[str, Any]) -> None:
    """Lay out the question whether EC2 shows the subnet."""
    ec2.answers("describe_subnets", {"Subnets": list(subnets)}, Filters=IN_SUBNET)


def lay_use(ec2: Ec2, *interfaces: dict[str, Any]) -> None:
    """Let EC2 refuse the deletion, and list these interfaces."""
    ec2.refuses("delete_subnet", "DependencyViolation", "no", SubnetId=SUBNET)
    lay_interfaces(ec2, *interfaces)


def lay_interfaces(ec2: Ec2, *interfaces: dict[str, Any]) -> None:
    """Let EC2 list these interfaces."""
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": list(interfaces)}, Filters=IN_SUBNET)


def test_ending_vm(ec2: Ec2, clock: Clock) -> None:
    """The deletion waits for the interface of an instance that is ending."""
    lay_use(ec2, OF_VM)
    ec2.answers("describe_instances", {"Reservations": []}, Filters=ALIVE)
    lay_use(ec2)
    ec2.answers("delete_subnet", SubnetId=SUBNET)
    subnets.delete(ec2.client, SUBNET)
    assert len(clock.pauses) == 2


def test_living_vm(ec2: Ec2, clock: Clock) -> None:
    """The interface of a running instance is an error at once."""
    lay_use(ec2, LEAKED, OF_VM)
    ec2.answers("describe_instances", {"Reservations": [{}]}, Filters=ALIVE)
    lay_mark(ec2)
    with pytest.raises(CloudError, match=r"eni-1 \(available, of a function\), eni-2 \(in-use, i-1\)\. "):
        subnets.delete(ec2.client, SUBNET)
    assert clock.pauses == []


def test_many_vms(ec2: Ec2) -> None:
    """EC2 takes 200 instances in a filter: of more, each part is looked up."""
    ids = [f"i-{number:03}" for number in range(201)]
    lay_use(ec2, *({**OF_VM, "Attachment": {"InstanceId": each}} for each in ids))
    for part in (ids[:200], ids[200:]):
        asked = [{"Name": "instance-id", "Values": part}, ALIVE[1]]
        ec2.answers("describe_instances", {"Reservations": [{}] * (len(part) == 1)}, Filters=asked)
    lay_mark(ec2)
    with pytest.raises(CloudError, match="i-000"):
        subnets.delete(ec2.client, SUBNET)


def test_interface_of_a_load_balancer(ec2: Ec2, clock: Clock) -> None:
    """An interface that AWS manages for somebody is an error at once."""
    lay_use(ec2, OF_BALANCER)
    lay_mark(ec2)
    with pytest.raises(CloudError, match=r"eni-1 \(in-use, ELB app/a/1\)"):
        subnets.delete(ec2.client, SUBNET)
    assert clock.pauses == []


def test_shown_but_not_found(ec2: Ec2, clock: Clock) -> None:
    """When EC2 shows a subnet that DeleteSubnet does not find, the deletion is retried."""
    for code in ("InvalidSubnetID.NotFound", "InvalidSubnetId.NotFound"):
        ec2.refuses("delete_subnet", code, SubnetId=SUBNET)
        lay_shown(ec2, {"SubnetId": SUBNET, "VpcId": "vpc-1", "AvailabilityZone": "z"})
    ec2.answers("delete_subnet", SubnetId=SUBNET)
    subnets.delete(ec2.client, SUBNET)
    assert len(clock.pauses) == 2


def test_leaked_interface(ec2: Ec2, monkeypatch: pytest.MonkeyPatch) -> None:
    """If interfaces remain after the wait, the error names the first of them."""
    many = [{**LEAKED, "NetworkInterfaceId": f"eni-{number}"} for number in range(11)]
    monkeypatch.setattr(timing, "SUBNET_RELEASED", timing.AT_ONCE)
    lay_use(ec2, *many)
    lay_interfaces(ec2, *many)
    ec2.refuses("create_tags", "UnauthorizedOperation", Resources=[SUBNET], Tags=ANY)
    with pytest.raises(CloudError) as caught:
        subnets.delete(ec2.client, SUBNET)
    assert "eni-9 (available, of a function), …. Delete them" in caught.value.message
    assert "Timed out after 0 seconds waiting for subnet 'subnet-1' to be released" in caught.value.message
    assert "DeleteSubnet failed with DependencyViolation" in caught.value.message
    assert "eni-10" not in caught.value.message


def test_interfaces_that_may_not_be_listed(ec2: Ec2) -> None:
    """If EC2 refuses to list interfaces or instances, the deletion is still retried."""
    ec2.refuses("delete_subnet", "DependencyViolation", "no", SubnetId=SUBNET)
    ec2.refuses("describe_network_interfaces", "UnauthorizedOperation", Filters=IN_SUBNET)
    lay_use(ec2, OF_VM)
    ec2.refuses("describe_instances", "UnauthorizedOperation", Filters=ALIVE)
    ec2.answers("delete_subnet", SubnetId=SUBNET)
    subnets.delete(ec2.client, SUBNET)


@pytest.mark.parametrize("code", ["InvalidSubnetID.NotFound", "InvalidSubnetID.Malformed", "InvalidSubnet"])
def test_missing(ec2: Ec2, code: str) -> None:
    """A subnet that EC2 does not know is an error of its own, unless an earlier attempt deleted it."""
    ec2.refuses("delete_subnet", code, SubnetId=SUBNET)
    if code.endswith(".NotFound"):
        lay_shown(ec2)
    with pytest.raises(NetworkNotFound, match="Network 'subnet-1' not found"):
        subnets.delete(ec2.client, SUBNET)
    ec2.refuses_repetition("delete_subnet", code, SubnetId=SUBNET)
    subnets.delete(ec2.client, SUBNET)


def test_discard(ec2: Ec2, clock: Clock) -> None:
    """The deletion of a new subnet is retried if EC2 does not know the subnet yet."""
    ec2.refuses("delete_subnet", "InvalidSubnetID.NotFound", SubnetId=SUBNET)
    lay_shown(ec2)
    ec2.answers("delete_subnet", SubnetId=SUBNET)
    subnets.discard(ec2.client, SUBNET)
    assert len(clock.pauses) == 1
