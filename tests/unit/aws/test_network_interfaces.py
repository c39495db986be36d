"""Network interfaces, through the orders of states that EC2 shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import AddressHolder, Nic

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

ID = "eni-1"
NIC = Nic(ID, "02:00:00:00:00:01")
NOT_FOUND = "InvalidNetworkInterfaceID.NotFound"


def entry(status: str, **more: Any) -> dict[str, Any]:
    """Describe the interface."""
    return {"NetworkInterfaceId": ID, "Status": status, "MacAddress": NIC.mac_address, **more}


def test_create(ec2: Ec2) -> None:
    """An interface is made with the arguments given, and known by its id and its MAC."""
    answer = {"NetworkInterface": entry("pending")}
    ec2.answers("create_network_interface", answer, SubnetId="subnet-1", Groups=["sg-1"])
    arguments = {"SubnetId": "subnet-1", "Groups": ["sg-1"]}
    assert network_interfaces.create(ec2.client, arguments) == NIC


@pytest.mark.parametrize(
    "states", [["available"], ["pending", "available"], [None, None, "pending", "available"]]
)
def test_wait_until_available(ec2: Ec2, clock: Clock, states: list[str | None]) -> None:
    """A new interface is waited for, also while EC2 does not know it yet."""
    for state in states:
        if state is None:
            ec2.refuses("describe_network_interfaces", NOT_FOUND, NetworkInterfaceIds=[ID])
        else:
            answer = {"NetworkInterfaces": [entry(state)]}
            ec2.answers("describe_network_interfaces", answer, NetworkInterfaceIds=[ID])
    network_interfaces.wait_until_available(ec2.client, ID)
    assert len(clock.pauses) == len(states) - 1


def test_never_available(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interface that does not become available is an error, with the state seen last."""
    answer = {"NetworkInterfaces": [entry("pending")]}
    monkeypatch.setattr(ec2.client, "describe_network_interfaces", lambda **_: answer)
    with pytest.raises(CloudError, match=f"network interface '{ID}' to be available; last seen: pending"):
        network_interfaces.wait_until_available(ec2.client, ID)
    assert clock.now >= 120


def test_wait_refused(ec2: Ec2) -> None:
    """Any other refusal ends the wait at once."""
    ec2.refuses("describe_network_interfaces", "UnauthorizedOperation", NetworkInterfaceIds=[ID])
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        network_interfaces.wait_until_available(ec2.client, ID)


@pytest.mark.parametrize(
    ("address", "name"),
    [("10.0.0.5", "addresses.private-ip-address"), ("2600::5", "ipv6-addresses.ipv6-address")],
)
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], None),
        ([entry("available")], AddressHolder(ID, "available", None)),
        ([entry("in-use", Attachment={"InstanceId": "i-1"})], AddressHolder(ID, "in-use", "i-1")),
        ([entry("in-use", Attachment={"InstanceOwnerId": "amazon-elb"})], AddressHolder(ID, "in-use", None)),
    ],
)
def test_holder(
    ec2: Ec2, address: str, name: str, found: list[dict[str, Any]], expected: AddressHolder | None
) -> None:
    """Who holds an address is looked up in its subnet, secondary addresses included."""
    filters = [{"Name": "subnet-id", "Values": ["subnet-1"]}, {"Name": name, "Values": [address]}]
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": found}, Filters=filters)
    assert network_interfaces.holder(ec2.client, "subnet-1", address) == expected


def test_delete_on_termination(ec2: Ec2) -> None:
    """Each interface is told to end with its instance."""
    for number in (1, 2):
        ec2.answers(
            "modify_network_interface_attribute",
            NetworkInterfaceId=f"eni-{number}",
            Attachment={"AttachmentId": f"eni-attach-{number}", "DeleteOnTermination": True},
        )
    pairs = [("eni-1", "eni-attach-1"), ("eni-2", "eni-attach-2")]
    network_interfaces.delete_on_termination(ec2.client, pairs)


@pytest.mark.parametrize(
    "codes",
    [
        [],
        ["InvalidNetworkInterface.InUse", "InvalidParameterValue"],
        [NOT_FOUND],
        ["InvalidParameterValue", NOT_FOUND],
    ],
)
def test_discard(ec2: Ec2, clock: Clock, codes: list[str]) -> None:
    """An interface that EC2 is still detaching is tried again; one that went with its instance is fine."""
    for code in codes:
        ec2.refuses("delete_network_interface", code, NetworkInterfaceId=ID)
    if NOT_FOUND not in codes:
        ec2.answers("delete_network_interface", NetworkInterfaceId=ID)
    network_interfaces.discard(ec2.client, NIC, was_seen=True)
    assert len(clock.pauses) == len([code for code in codes if code != NOT_FOUND])


def test_discard_before_it_was_seen(ec2: Ec2, clock: Clock) -> None:
    """An interface made a moment ago that EC2 does not know yet is not taken for one that is gone."""
    ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId=ID)
    ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId=ID)
    ec2.answers("delete_network_interface", NetworkInterfaceId=ID)
    network_interfaces.discard(ec2.client, NIC, was_seen=False)
    assert len(clock.pauses) == 2


def test_discard_what_is_never_seen(ec2: Ec2, clock: Clock, program_log: pytest.LogCaptureFixture) -> None:
    """Only an interface that stays unknown for half a minute is taken as gone, and that is logged."""
    for _ in range(100):
        ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId=ID)
    network_interfaces.discard(ec2.client, NIC, was_seen=False)
    assert 30 <= clock.now <= 36
    said = f"There is no network interface '{ID}': it is gone, or was never made"
    assert program_log.records[-1].getMessage() == said
    for _ in range(100 - len(clock.pauses) - 1):
        with pytest.raises(ClientError):
            ec2.client.delete_network_interface(NetworkInterfaceId=ID)


def test_discard_refused(ec2: Ec2) -> None:
    """Any other refusal goes on as it is: the removal is not certain."""
    ec2.refuses("delete_network_interface", "UnauthorizedOperation", NetworkInterfaceId=ID)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        network_interfaces.discard(ec2.client, NIC, was_seen=True)
