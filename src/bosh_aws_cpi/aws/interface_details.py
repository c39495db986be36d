"""Network interfaces in detail, for `cpi check` and `cpi diagnose`: addresses, security groups, subnet."""

from collections.abc import Collection, Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws.listings import listed
from bosh_aws_cpi.aws.sdk.filters import exactly
from bosh_aws_cpi.aws.sdk.idempotency import tags_of
from bosh_aws_cpi.records import EMPTY, Record

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
        prefixes: The prefixes that are delegated to it.
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
    prefixes: tuple[str, ...] = ()
    description: str = ""
    tags: Mapping[str, str] = EMPTY


class Held(Record):
    """An address, or a delegated prefix, that an interface holds.

    Attributes:
        network: What it holds; a single address has the longest prefix.
        of_instance: The tags of the instance that the interface is attached to; empty without one.
    """

    interface: Interface
    network: IPv4Network | IPv6Network
    of_instance: Mapping[str, str] = EMPTY


def held(client: "EC2Client", subnet_ids: Collection[str]) -> list[Held]:
    """DescribeNetworkInterfaces, and DescribeInstances for their instances: all that is held in subnets."""
    found = listed(client, "describe_network_interfaces", "NetworkInterfaces", "subnet-id", subnet_ids)
    interfaces = list(map(from_entry, found))
    is_used = any(each.vm_cid for each in interfaces)
    tags = _tags_of_instances(client, subnet_ids) if is_used else {}
    return [
        Held(each, ip_network(text), tags.get(each.vm_cid, {}))
        for each in interfaces
        for text in (*each.addresses, *each.prefixes)
    ]


def _tags_of_instances(client: "EC2Client", subnet_ids: Collection[str]) -> dict[str, dict[str, str]]:
    """The tags of the instances in these subnets, by id."""
    found = listed(client, "describe_instances", "Reservations", "network-interface.subnet-id", subnet_ids)
    return {each["InstanceId"]: tags_of(each) for entry in found for each in entry["Instances"]}


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
        pages = paginator.paginate(Filters=[exactly(name, address)])
        found = [from_entry(entry) for page in pages for entry in page["NetworkInterfaces"]]
        if found:
            return found
    return []


def with_id(client: "EC2Client", nic_id: str) -> Interface | None:
    """DescribeNetworkInterfaces: one interface; None when EC2 does not show it, such as another account's."""
    by_id = exactly("network-interface-id", nic_id)
    entries = client.describe_network_interfaces(Filters=[by_id])["NetworkInterfaces"]
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
        prefixes=_present(
            (each.get("Ipv4Prefix") for each in entry.get("Ipv4Prefixes", [])),
            (each.get("Ipv6Prefix") for each in entry.get("Ipv6Prefixes", [])),
        ),
        description=entry.get("Description", ""),
        tags=tags_of(entry, "TagSet"),
    )


def _present(*groups: Iterable[str | None]) -> tuple[str, ...]:
    """The values of all groups that are not empty, each once, in this order."""
    return tuple(dict.fromkeys(value for group in groups for value in group if value))
