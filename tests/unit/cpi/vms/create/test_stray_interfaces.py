"""Interfaces that an earlier call left over and that hold an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.vms.create.addresses import MAX_OF_ANOTHER_AGENT, MAX_UNATTACHED, AddressTaken, claiming
from tests.unit.conftest import DIRECTOR

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

VM = "i-1"
IPV4, PREFIX = "10.0.0.5", "10.0.0.16/28"
NIC = {"NetworkInterfaceId": "eni-1"}
AGENT = "agent-1"
OURS = {"bosh_director_uuid": DIRECTOR, "bosh_agent_id": AGENT}
ANOTHERS = {"bosh_director_uuid": DIRECTOR, "bosh_agent_id": "agent-2"}
SUBNET = {"Name": "subnet-id", "Values": ["subnet-1"]}
TAKEN: Any = {"Error": {"Code": "InvalidIPAddress.InUse", "Message": "taken"}}


def claim(cloud: Cloud, refusals: int, address: str = IPV4) -> str:
    """Claim an address that is refused a number of times."""
    left = [refusals]

    def make() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise ClientError(TAKEN, "CreateNetworkInterface")
        return "made"

    return claiming(cloud, AGENT, "subnet-1", [address], make)


def lay_holder(ec2: Ec2, tags: dict[str, str], vm_cid: str | None = None) -> None:
    """Lay out the question who holds the address, answered with an interface that has these tags."""
    attachment = {"Attachment": {"InstanceId": vm_cid}} if vm_cid else {}
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    status = "in-use" if vm_cid else "available"
    entry = {**NIC, "MacAddress": "m", "Status": status, "TagSet": listed, **attachment}
    filters = [SUBNET, {"Name": "addresses.private-ip-address", "Values": [IPV4]}]
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [entry]}, Filters=filters)


def test_ours(cloud: Cloud, ec2: Ec2, clock: Clock, program_log: pytest.LogCaptureFixture) -> None:
    """An unattached interface of our own Director is left over: it is removed, and that is logged."""
    lay_holder(ec2, OURS)
    ec2.answers("delete_network_interface", **NIC)
    assert claim(cloud, 1) == "made"
    assert len(clock.pauses) == 1
    warnings = [record.getMessage() for record in program_log.records if record.levelname == "WARNING"]
    assert warnings == ["Network interface 'eni-1' is a stray of an earlier call: deleting it"]


def test_ours_by_prefix(cloud: Cloud, ec2: Ec2) -> None:
    """So is one that holds a prefix, and one that carries no agent's name."""
    held = {
        "Ipv4Prefixes": [{"Ipv4Prefix": PREFIX}],
        "TagSet": [{"Key": "bosh_director_uuid", "Value": DIRECTOR}],
    }
    entry = {**NIC, "MacAddress": "m", "Status": "available", **held}
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [entry]}, Filters=[SUBNET])
    ec2.answers("delete_network_interface", **NIC)
    assert claim(cloud, 1, PREFIX) == "made"


@pytest.mark.parametrize("looks", [1, MAX_OF_ANOTHER_AGENT])
def test_anothers_that_goes(cloud: Cloud, ec2: Ec2, clock: Clock, looks: int) -> None:
    """Another VM's may be about to be launched, or removed: it gets some time, and is not touched."""
    for _ in range(looks):
        lay_holder(ec2, ANOTHERS)
    assert claim(cloud, looks) == "made"
    assert len(clock.pauses) == looks


def test_anothers_that_stays(cloud: Cloud, ec2: Ec2, clock: Clock) -> None:
    """After about 20 seconds it is taken as left over: a Director gives an address to one VM at a time."""
    for _ in range(MAX_OF_ANOTHER_AGENT + 1):
        lay_holder(ec2, ANOTHERS)
    ec2.answers("delete_network_interface", **NIC)
    assert claim(cloud, MAX_OF_ANOTHER_AGENT + 1) == "made"
    assert 18 <= clock.now <= 32


def test_anothers_that_is_launched(cloud: Cloud, ec2: Ec2) -> None:
    """One that is launched meanwhile is that VM's."""
    for _ in range(3):
        lay_holder(ec2, ANOTHERS)
    lay_holder(ec2, ANOTHERS, VM)
    instance = {"InstanceId": VM, "State": {"Name": "pending"}, "InstanceType": "t"}
    ec2.answers("describe_instances", {"Reservations": [{"Instances": [instance]}]}, InstanceIds=[VM])
    with pytest.raises(AddressTaken, match=f"of instance '{VM}'"):
        claim(cloud, 10)


@pytest.mark.parametrize(
    ("tags", "looks"),
    [
        ({"bosh_director_uuid": "director-2", "bosh_agent_id": AGENT}, 1),
        ({"bosh_director_uuid": ""}, 1),
        ({}, MAX_UNATTACHED + 1),
        ({"bosh_agent_id": AGENT}, MAX_UNATTACHED + 1),
    ],
)
def test_others(cloud: Cloud, ec2: Ec2, clock: Clock, tags: dict[str, str], looks: int) -> None:
    """One of another Director's, or of nobody's, is left alone, and ends the claim with its name."""
    for _ in range(looks):
        lay_holder(ec2, tags)
    with pytest.raises(
        AddressTaken, match=r"held by network interface 'eni-1' \(available\) which no instance"
    ):
        claim(cloud, 100)
    assert len(clock.pauses) == looks - 1


def test_caller_without_a_name(cloud: Cloud, ec2: Ec2) -> None:
    """A caller that says no Director's id owns no interface, also none without a tag."""
    anonymous = Cloud(cloud.config._replace(director_uuid=None), 2)
    vars(anonymous)["clients"] = cloud.clients
    for tags, looks in (({}, MAX_UNATTACHED + 1), (OURS, 1)):
        for _ in range(looks):
            lay_holder(ec2, tags)
        with pytest.raises(AddressTaken):
            claim(anonymous, 100)


@pytest.mark.parametrize("state", ["pending", "running", "stopping", "stopped"])
def test_attached(cloud: Cloud, ec2: Ec2, clock: Clock, state: str) -> None:
    """An interface of an instance that stays is never removed, whoever made it."""
    lay_holder(ec2, OURS, VM)
    instance = {"InstanceId": VM, "State": {"Name": state}, "InstanceType": "t"}
    ec2.answers("describe_instances", {"Reservations": [{"Instances": [instance]}]}, InstanceIds=[VM])
    with pytest.raises(AddressTaken, match=f"of instance '{VM}'"):
        claim(cloud, 1)
    assert clock.pauses == []


@pytest.mark.parametrize(
    "code",
    ["InvalidNetworkInterface.InUse", "InvalidParameterValue", "InvalidNetworkInterfaceID.NotFound"],
)
def test_removal_in_the_way(cloud: Cloud, ec2: Ec2, clock: Clock, code: str) -> None:
    """One that is being attached, detached or removed meanwhile is waited for and looked at again."""
    lay_holder(ec2, OURS)
    ec2.refuses("delete_network_interface", code, **NIC)
    lay_holder(ec2, OURS)
    ec2.answers("delete_network_interface", **NIC)
    assert claim(cloud, 2) == "made"
    assert len(clock.pauses) == 2


def test_removal_refused(cloud: Cloud, ec2: Ec2) -> None:
    """Any other refusal of the removal ends the claim with what EC2 says."""
    lay_holder(ec2, OURS)
    ec2.refuses("delete_network_interface", "UnauthorizedOperation", **NIC)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        claim(cloud, 1)
