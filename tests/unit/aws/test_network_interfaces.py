"""Network interfaces, through the orders of states that EC2 shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.model import Nic

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Clock, Ec2, ProgramLog

ID = "eni-1"
MAC = "02:00:00:00:00:01"
NOT_FOUND = "InvalidNetworkInterfaceID.NotFound"
IDS = {"NetworkInterfaceIds": [ID]}


def entry(status: str, **more: Any) -> dict[str, Any]:
    """Describe the interface."""
    return {"NetworkInterfaceId": ID, "Status": status, "MacAddress": MAC, **more}


def never() -> None:
    """Be asked for an interface whose making is certain."""
    pytest.fail("it was looked for")


def test_create(ec2: Ec2) -> None:
    """An interface is made with the arguments given, and read as it is answered."""
    more = {
        "PrivateIpAddresses": [{"PrivateIpAddress": "10.0.0.5"}, {"PrivateIpAddress": "10.0.0.6"}],
        "Ipv6Addresses": [{"Ipv6Address": "2600::5"}],
        "Ipv4Prefixes": [{"Ipv4Prefix": "10.0.0.16/28"}],
        "Ipv6Prefixes": [{"Ipv6Prefix": "2600::/80"}],
        "TagSet": [{"Key": "a", "Value": "1"}],
    }
    arguments = {"SubnetId": "subnet-1", "Groups": ["sg-1"], "ClientToken": "t"}
    for answer in (entry("pending"), entry("in-use", Attachment={"InstanceId": "i-1"}, **more)):
        ec2.answers("create_network_interface", {"NetworkInterface": answer}, **arguments)
    assert network_interfaces.create(ec2.client, arguments, never) == Nic(ID, MAC, "pending")
    addresses, prefixes = ("10.0.0.5", "10.0.0.6", "2600::5"), ("10.0.0.16/28", "2600::/80")
    earlier = Nic(ID, MAC, "in-use", "i-1", addresses=addresses, prefixes=prefixes, tags={"a": "1"})
    assert network_interfaces.create(ec2.client, arguments, never) == earlier


@pytest.mark.parametrize("unseen", [0, 2])
def test_create_without_an_answer(ec2: Ec2, clock: Clock, unseen: int) -> None:
    """An interface whose making was not answered is looked for until it is seen."""
    looks = iter([*[None] * unseen, Nic("eni-found", MAC, "pending")])
    ec2.loses("create_network_interface", SubnetId="subnet-1")
    made = network_interfaces.create(ec2.client, {"SubnetId": "subnet-1"}, lambda: next(looks))
    assert made.nic_id == "eni-found"
    assert len(clock.pauses) == unseen


def test_create_in_vain(ec2: Ec2, clock: Clock) -> None:
    """One that is not seen for a minute was not made: what went wrong goes on."""
    ec2.fails("create_network_interface", SubnetId="subnet-1")
    with pytest.raises(ClientError, match="InternalError"):
        network_interfaces.create(ec2.client, {"SubnetId": "subnet-1"}, lambda: None)
    assert 60 <= clock.now <= 66


def test_of_agent(ec2: Ec2) -> None:
    """The agent's interfaces in a subnet are found by all their tags, over all pages."""
    filters = [{"Name": "subnet-id", "Values": ["subnet-1"]}]
    filters += [{"Name": "tag:a", "Values": ["1"]}, {"Name": "tag:b", "Values": ["2"]}]
    tags = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]
    first = {"NetworkInterfaces": [entry("available", TagSet=tags), entry("pending")], "NextToken": "n"}
    ec2.answers("describe_network_interfaces", first, Filters=filters)
    second = {"NetworkInterfaces": [entry("in-use", Attachment={"InstanceId": "i-1"}, TagSet=tags)]}
    ec2.answers("describe_network_interfaces", second, Filters=filters, NextToken="n")
    found = network_interfaces.of_agent(ec2.client, {"b": "2", "a": "1"}, "subnet-1")
    wanted = {"a": "1", "b": "2"}
    assert found == [Nic(ID, MAC, "available", tags=wanted), Nic(ID, MAC, "in-use", "i-1", tags=wanted)]


@pytest.mark.parametrize("code", [NOT_FOUND, "InvalidNetworkInterfaceId.Malformed"])
def test_find(ec2: Ec2, code: str) -> None:
    """An interface that EC2 does not know is None."""
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [entry("available")]}, **IDS)
    ec2.refuses("describe_network_interfaces", code, **IDS)
    assert network_interfaces.find(ec2.client, ID) == Nic(ID, MAC, "available")
    assert network_interfaces.find(ec2.client, ID) is None


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


def test_discard_what_is_never_seen(ec2: Ec2, clock: Clock, program_log: ProgramLog) -> None:
    """Only an interface that stays unknown for a minute is taken as gone, and that is logged."""
    for _ in range(100):
        ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId=ID)
    network_interfaces.discard(ec2.client, ID, was_seen=False)
    assert 60 <= clock.now <= 66
    said = f"There is no network interface '{ID}': it is gone, or was never created"
    assert program_log.records[-1].text == said
    for _ in range(100 - len(clock.pauses) - 1):
        with pytest.raises(ClientError):
            ec2.client.delete_network_interface(NetworkInterfaceId=ID)


def test_discard_refused(ec2: Ec2) -> None:
    """Any other refusal is raised unchanged: the removal is not certain."""
    ec2.refuses("delete_network_interface", "UnauthorizedOperation", NetworkInterfaceId=ID)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        network_interfaces.discard(ec2.client, ID, was_seen=True)


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
    others = ("10.0.0.32/28", "2600:0:0:0:1::/80")
    network_interfaces.delegate(ec2.client, Nic(ID, MAC, "available", prefixes=others), prefix)
    network_interfaces.delegate(ec2.client, Nic(ID, MAC, "available", prefixes=(*others, prefix)), prefix)


PREFIX = "10.0.0.16/28"
ASSIGN = {"NetworkInterfaceId": ID, "Ipv4Prefixes": [PREFIX]}


@pytest.mark.parametrize("code", ["InvalidIPAddress.InUse", "InternalError"])
def test_delegation_whose_answer_was_lost(ec2: Ec2, code: str) -> None:
    """A prefix that the interface has after a refusal was delegated by this call, whose answer was lost."""
    ec2.refuses("assign_private_ip_addresses", code, **ASSIGN)
    now = entry("available", Ipv4Prefixes=[{"Ipv4Prefix": PREFIX}])
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [now]}, **IDS)
    network_interfaces.delegate(ec2.client, Nic(ID, MAC, "available"), PREFIX)


@pytest.mark.parametrize("is_there", [True, False])
def test_delegation_refused(ec2: Ec2, *, is_there: bool) -> None:
    """One that it does not have was refused."""
    ec2.refuses("assign_private_ip_addresses", "InvalidIPAddress.InUse", **ASSIGN)
    if is_there:
        found = {"NetworkInterfaces": [entry("available")]}
        ec2.answers("describe_network_interfaces", found, **IDS)
    else:
        ec2.refuses("describe_network_interfaces", NOT_FOUND, **IDS)
    with pytest.raises(ClientError, match=r"InvalidIPAddress\.InUse"):
        network_interfaces.delegate(ec2.client, Nic(ID, MAC, "available"), PREFIX)


CHANGES: list[tuple[Callable[[Any], None], dict[str, Any]]] = [
    (
        lambda client: network_interfaces.request_public_ip(client, ID),
        {"AssociatePublicIpAddress": True},
    ),
    (
        lambda client: network_interfaces.pass_foreign_traffic(client, ID),
        {"SourceDestCheck": {"Value": False}},
    ),
    (
        lambda client: network_interfaces.delete_on_termination(client, [Nic(ID, attachment_id="a")]),
        {"Attachment": {"AttachmentId": "a", "DeleteOnTermination": True}},
    ),
]


@pytest.mark.parametrize(("change", "sent"), CHANGES)
def test_change_what_is_not_seen_yet(
    ec2: Ec2, clock: Clock, change: Callable[[Any], None], sent: dict[str, Any]
) -> None:
    """A change is retried for a minute while EC2 does not know the interface."""
    for _ in range(2):
        ec2.refuses("modify_network_interface_attribute", NOT_FOUND, NetworkInterfaceId=ID, **sent)
    ec2.answers("modify_network_interface_attribute", NetworkInterfaceId=ID, **sent)
    change(ec2.client)
    assert len(clock.pauses) == 2


def test_delegate_to_what_is_not_seen_yet(ec2: Ec2, clock: Clock) -> None:
    """The delegation of a prefix is retried while EC2 does not know the interface."""
    ec2.refuses("assign_private_ip_addresses", NOT_FOUND, **ASSIGN)
    ec2.answers("assign_private_ip_addresses", **ASSIGN)
    network_interfaces.delegate(ec2.client, Nic(ID, MAC, "available"), PREFIX)
    assert len(clock.pauses) == 1
