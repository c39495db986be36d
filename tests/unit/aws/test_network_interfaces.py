"""Lost answers to the delegation of a prefix, and who holds an address within one."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.model import Nic
from tests.unit.conftest import Stub

NIC, SUBNET = "eni-1", "subnet-1"
MAC = "02:00:00:00:00:01"
NOT_FOUND = "InvalidNetworkInterfaceID.NotFound"
OF_NIC = {"NetworkInterfaceId": NIC}
IN_SUBNET = {"Name": "subnet-id", "Values": [SUBNET]}


def entry(status: str = "available", vm_cid: str = "", **more: Any) -> dict[str, Any]:
    """Describe the interface."""
    attachment = {"Attachment": {"InstanceId": vm_cid}} if vm_cid else {}
    return {"NetworkInterfaceId": NIC, "Status": status, "MacAddress": MAC, **attachment, **more}


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


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("10.0.0.5", ["addresses.private-ip-address"]),
        ("8.8.8.8", ["addresses.private-ip-address", "association.public-ip"]),
        ("2600::5", ["ipv6-addresses.ipv6-address"]),
    ],
)
def test_find_by_address(ec2: Stub, address: str, names: list[str]) -> None:
    """Only an IPv4 address that the internet knows may be an interface's public one."""
    for name in names:
        filters = [{"Name": name, "Values": [address]}]
        ec2.lay("describe_network_interfaces", {"NetworkInterfaces": []}, Filters=filters)
    assert network_interfaces.find_by_address(ec2.client, address) == []
