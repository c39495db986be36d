"""Network interfaces, through the orders of states that EC2 shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.model import Nic

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

ID = "eni-1"
MAC = "02:00:00:00:00:01"
NOT_FOUND = "InvalidNetworkInterfaceID.NotFound"
IDS = {"NetworkInterfaceIds": [ID]}


def entry(status: str, **more: Any) -> dict[str, Any]:
    """Describe the interface."""
    return {"NetworkInterfaceId": ID, "Status": status, "MacAddress": MAC, **more}


def test_create(ec2: Ec2) -> None:
    """An interface is made with the arguments given, and read as it is answered."""
    more = {
        "Ipv4Prefixes": [{"Ipv4Prefix": "10.0.0.16/28"}],
        "Ipv6Prefixes": [{"Ipv6Prefix": "2600::/80"}],
        "TagSet": [{"Key": "a", "Value": "1"}],
    }
    arguments = {"SubnetId": "subnet-1", "Groups": ["sg-1"], "ClientToken": "t"}
    for answer in (entry("pending"), entry("in-use", Attachment={"InstanceId": "i-1"}, **more)):
        ec2.answers("create_network_interface", {"NetworkInterface": answer}, **arguments)
    assert network_interfaces.create(ec2.client, arguments) == Nic(ID, MAC, "pending")
    prefixes = frozenset({"10.0.0.16/28", "2600::/80"})
    earlier = Nic(ID, MAC, "in-use", "i-1", prefixes, {"a": "1"})
    assert network_interfaces.create(ec2.client, arguments) == earlier


@pytest.mark.parametrize("code", [NOT_FOUND, "InvalidNetworkInterfaceId.Malformed"])
def test_find(ec2: Ec2, code: str) -> None:
    """An interface that EC2 does not know is none."""
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [entry("available")]}, **IDS)
    ec2.refuses("describe_network_interfaces", code, **IDS)
    assert network_interfaces.find(ec2.client, ID) == Nic(ID, MAC, "available")
    assert network_interfaces.find(ec2.client, ID) is None


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
    network_interfaces.discard(ec2.client, ID, was_seen=True)
    assert len(clock.pauses) == len([code for code in codes if code != NOT_FOUND])


def test_discard_before_it_was_seen(ec2: Ec2, clock: Clock) -> None:
    """An interface made a moment ago that EC2 does not know yet is not taken for one that is gone."""
    ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId=ID)
    ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId=ID)
    ec2.answers("delete_network_interface", NetworkInterfaceId=ID)
    network_interfaces.discard(ec2.client, ID, was_seen=False)
    assert len(clock.pauses) == 2


def test_discard_what_is_never_seen(ec2: Ec2, clock: Clock, program_log: pytest.LogCaptureFixture) -> None:
    """Only an interface that stays unknown for half a minute is taken as gone, and that is logged."""
    for _ in range(100):
        ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId=ID)
    network_interfaces.discard(ec2.client, ID, was_seen=False)
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
        network_interfaces.discard(ec2.client, ID, was_seen=True)


def test_make_public(ec2: Ec2) -> None:
    """An interface made before the launch is told to get a public address in it."""
    change = {"NetworkInterfaceId": ID, "AssociatePublicIpAddress": True}
    ec2.answers("modify_network_interface_attribute", **change)
    network_interfaces.make_public(ec2.client, ID)


def test_pass_foreign_traffic(ec2: Ec2) -> None:
    """A router's source/destination check is taken off its interface."""
    change = {"NetworkInterfaceId": ID, "SourceDestCheck": {"Value": False}}
    ec2.answers("modify_network_interface_attribute", **change)
    network_interfaces.pass_foreign_traffic(ec2.client, ID)


@pytest.mark.parametrize(
    ("prefix", "operation", "name"),
    [
        ("10.0.0.16/28", "assign_private_ip_addresses", "Ipv4Prefixes"),
        ("2600::/80", "assign_ipv6_addresses", "Ipv6Prefixes"),
    ],
)
def test_delegate(ec2: Ec2, prefix: str, operation: str, name: str) -> None:
    """A prefix is delegated in the way of its family; one that is there already costs no call."""
    ec2.answers(operation, NetworkInterfaceId=ID, **{name: [prefix]})
    others = frozenset({"10.0.0.32/28", "2600:0:0:0:1::/80"})
    network_interfaces.delegate(ec2.client, Nic(ID, MAC, "available", prefixes=others), prefix)
    network_interfaces.delegate(ec2.client, Nic(ID, MAC, "available", prefixes=others | {prefix}), prefix)
