"""Network interfaces as the ends of a connection, for `cpi diagnose`: addresses, security groups, subnet."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


class Interface(Record):
    """A network interface, with what decides which packets it sends and gets.

    Attributes:
        addresses: Its private IPv4 addresses and its IPv6 addresses.
        public: Its public IPv4 addresses; each belongs to a private one.
        vm_cid: The account's own instance that it is attached to; empty for none, and for another account's.
        is_idle: Whether it is attached to nothing.
        drops_foreign: Whether its source/destination check is on: it drops packets that are neither from nor
            for its own addresses.
    """

    nic_id: str
    subnet_id: str
    vpc_id: str
    owner_id: str
    device_index: int
    group_ids: tuple[str, ...]
    addresses: tuple[str, ...]
    public: tuple[str, ...]
    vm_cid: str = ""
    is_idle: bool = False
    drops_foreign: bool = True


def with_address(client: "EC2Client", address: str) -> list[Interface]:
    """DescribeNetworkInterfaces: the interfaces with an address; several VPCs may have the same private one.

    Args:
        client: The EC2 client.
        address: A private or public IPv4 address, or an IPv6 address.
    """
    names = ["ipv6-addresses.ipv6-address" if ":" in address else "addresses.private-ip-address"]
    if ip_address(address).is_global and ":" not in address:
        names.append("association.public-ip")
    paginator = client.get_paginator("describe_network_interfaces")
    for name in names:
        pages = paginator.paginate(Filters=[{"Name": name, "Values": [address]}])
        found = [from_entry(entry) for page in pages for entry in page["NetworkInterfaces"]]
        if found:
            return found
    return []


def with_id(client: "EC2Client", nic_id: str) -> Interface | None:
    """DescribeNetworkInterfaces: one interface; None when EC2 does not show it, such as another account's."""
    filters: Any = [{"Name": "network-interface-id", "Values": [nic_id]}]
    entries = client.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]
    return next(map(from_entry, entries), None)


def from_entry(entry: Any) -> Interface:  # noqa: ANN401 - one of two of the SDK's types
    """Read an interface, as DescribeNetworkInterfaces or DescribeInstances shows it."""
    private, attachment = entry.get("PrivateIpAddresses", []), entry.get("Attachment", {})
    is_own = attachment.get("InstanceOwnerId") == entry.get("OwnerId")
    return Interface(
        nic_id=entry["NetworkInterfaceId"],
        subnet_id=entry["SubnetId"],
        vpc_id=entry["VpcId"],
        owner_id=entry.get("OwnerId", ""),
        device_index=attachment.get("DeviceIndex", 0),
        group_ids=tuple(group["GroupId"] for group in entry.get("Groups", [])),
        addresses=_present(
            [entry.get("PrivateIpAddress")],
            (each.get("PrivateIpAddress") for each in private),
            (each.get("Ipv6Address") for each in entry.get("Ipv6Addresses", [])),
        ),
        public=_present(
            [entry.get("Association", {}).get("PublicIp")],
            (each.get("Association", {}).get("PublicIp") for each in private),
        ),
        vm_cid=attachment.get("InstanceId", "") if is_own else "",
        is_idle=entry.get("Status") == "available",
        drops_foreign=entry.get("SourceDestCheck", True),
    )


def _present(*groups: Iterable[str | None]) -> tuple[str, ...]:
    """The values of all groups that are not empty, each once, in this order."""
    return tuple(dict.fromkeys(value for group in groups for value in group if value))
