"""Network interfaces, through the refusals and lost answers that EC2 shows; and who holds an address."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import network_interfaces, placement_groups, volumes
from bosh_aws_cpi.aws.sdk.filters import by_tags
from bosh_aws_cpi.model import Nic
from tests.unit.aws.looks import tagged
from tests.unit.conftest import Clock, Stub

NIC, SUBNET = "eni-1", "subnet-1"
MAC = "02:00:00:00:00:01"
NOT_FOUND = "InvalidNetworkInterfaceID.NotFound"
OF_NIC = {"NetworkInterfaceId": NIC}
IN_SUBNET = {"Name": "subnet-id", "Values": [SUBNET]}


def entry(status: str = "available", vm_cid: str = "", **more: Any) -> dict[str, Any]:
    """Describe the interface."""
    attachment = {"Attachment": {"InstanceId": vm_cid}} if vm_cid else {}
    return {"NetworkInterfaceId": NIC, "Status": status, "MacAddress": MAC, **attachment, **more}


IN_USE = ["InvalidNetworkInterface.InUse", "InvalidParameterValue"]
"""EC2 answers both while it is still detaching the interface."""


@pytest.mark.parametrize(
    ("was_seen", "ends"),
    [
        (True, [IN_USE[0], NOT_FOUND]),
        (False, [NOT_FOUND, NOT_FOUND, *IN_USE, {}]),
    ],
)
def test_discard(ec2: Stub, clock: Clock, ends: list[str | dict[str, Any]], *, was_seen: bool) -> None:
    """What EC2 is detaching is deleted later; what is gone is fine, but what is unknown may just be new."""
    ec2.lay("delete_network_interface", *ends, **OF_NIC)
    network_interfaces.discard(ec2.client, NIC, was_seen=was_seen)
    assert len(clock.pauses) == len(ends) - 1


DELETIONS: dict[str, tuple[Callable[..., bool], str]] = {
    "delete_volume": (volumes.delete_idle, "VolumeId"),
    "delete_network_interface": (network_interfaces.delete_unattached, "NetworkInterfaceId"),
    "delete_placement_group": (placement_groups.delete_unused, "GroupName"),
}


@pytest.mark.parametrize(
    ("operation", "missing", "in_use"),
    [
        ("delete_volume", "InvalidVolume.NotFound", ["VolumeInUse"]),
        ("delete_network_interface", NOT_FOUND, IN_USE),
        ("delete_placement_group", "InvalidPlacementGroup.Unknown", ["InvalidPlacementGroup.InUse"]),
    ],
)
def test_idle_deletion(ec2: Stub, clock: Clock, operation: str, missing: str, in_use: list[str]) -> None:
    """What nothing uses is deleted in one attempt; the result says whether it is gone or in use."""
    delete, name = DELETIONS[operation]
    ec2.lay(operation, {}, missing, *in_use, "UnauthorizedOperation", **{name: "x-1"})
    assert [delete(ec2.client, "x-1") for _ in (0, 1, *in_use)] == [True, True, *[False] * len(in_use)]
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        delete(ec2.client, "x-1")
    assert clock.pauses == []


@pytest.mark.parametrize(
    ("prefix", "operation", "name"),
    [
        ("10.0.0.16/28", "assign_private_ip_addresses", "Ipv4Prefixes"),
        ("2600::/80", "assign_ipv6_addresses", "Ipv6Prefixes"),
    ],
)
def test_delegate(ec2: Stub, prefix: str, operation: str, name: str) -> None:
    """A prefix is delegated in the way of its family; one that is there already costs no call.

    One that the interface has after a refusal was delegated by this call, whose answer was lost.
    """
    others = ("10.0.0.32/28", "2600:0:0:0:1::/80")
    ec2.lay(operation, NOT_FOUND, {}, **OF_NIC, **{name: [prefix]})
    network_interfaces.delegate_prefix(ec2.client, Nic(NIC, MAC, "available", prefixes=others), prefix)
    network_interfaces.delegate_prefix(
        ec2.client, Nic(NIC, MAC, "available", prefixes=(*others, prefix)), prefix
    )
    delegated: Any = {name: [{name.removesuffix("es"): prefix}]}
    now = {"NetworkInterfaces": [entry(**delegated)]}
    looks: list[Any] = [now, {"NetworkInterfaces": [entry()]}, NOT_FOUND]
    for look in looks:
        ec2.lay(operation, "InvalidIPAddress.InUse", **OF_NIC, **{name: [prefix]})
        ec2.lay("describe_network_interfaces", look, NetworkInterfaceIds=[NIC])
    network_interfaces.delegate_prefix(ec2.client, Nic(NIC, MAC), prefix)
    for _ in looks[1:]:
        with pytest.raises(ClientError, match="InvalidIPAddress"):
            network_interfaces.delegate_prefix(ec2.client, Nic(NIC, MAC), prefix)


def test_of_agent(ec2: Stub) -> None:
    """Only an interface with all of the tags is the agent's, whatever EC2's filter finds."""
    found = [entry(TagSet=tagged(a="1", b="2")), entry(TagSet=tagged(a="1"), NetworkInterfaceId="eni-2")]
    filters = [IN_SUBNET, *by_tags({"a": "1", "b": "2"})]
    ec2.lay("describe_network_interfaces", {"NetworkInterfaces": found}, Filters=filters)
    (own,) = network_interfaces.find_by_agent(ec2.client, {"a": "1", "b": "2"}, SUBNET)
    assert own.nic_id == NIC


@pytest.mark.parametrize(
    ("address", "held", "is_holder"),
    [
        (
            "10.0.0.15",
            {"Ipv4Prefixes": [{"Ipv4Prefix": "10.0.0.32/28"}, {"Ipv4Prefix": "10.0.0.0/28"}]},
            True,
        ),
        ("2600::5", {"Ipv6Prefixes": [{"Ipv6Prefix": "2600::/80"}]}, True),
        ("10.0.0.0/28", {"PrivateIpAddresses": [{"PrivateIpAddress": "10.0.0.5"}]}, True),
        (
            "2600::/80",
            {"PrivateIpAddress": "10.0.0.16", "Ipv6Addresses": [{"Ipv6Address": "2601::5"}]},
            False,
        ),
    ],
)
def test_holder_by_prefix(ec2: Stub, address: str, held: dict[str, Any], *, is_holder: bool) -> None:
    """An address within a delegated prefix is held by who has that, and a prefix by who has a part of it."""
    nothing: dict[str, Any] = {"NetworkInterfaces": []}
    if "/" not in address:
        name = "ipv6-addresses.ipv6-address" if ":" in address else "addresses.private-ip-address"
        ec2.lay(
            "describe_network_interfaces", nothing, Filters=[IN_SUBNET, {"Name": name, "Values": [address]}]
        )
    ec2.lay("describe_network_interfaces", {**nothing, "NextToken": "n"}, Filters=[IN_SUBNET])
    found = {"NetworkInterfaces": [entry(**held)]}
    ec2.lay("describe_network_interfaces", found, Filters=[IN_SUBNET], NextToken="n")
    holder = network_interfaces.find_holder(ec2.client, SUBNET, address)
    assert (holder and holder.nic_id) == (NIC if is_holder else None)
