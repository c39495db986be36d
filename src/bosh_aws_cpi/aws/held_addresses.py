"""The addresses that interfaces hold in subnets, with the tags that tell whose they are."""

from collections.abc import Collection, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws.listings import listed
from bosh_aws_cpi.aws.sdk.idempotency import tags_of
from bosh_aws_cpi.records import EMPTY, Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


class Held(Record):
    """An address, or a delegated prefix, that an interface holds.

    Attributes:
        subnet_id: The interface's subnet.
        network: What it holds; a single address has the longest prefix.
        nic_id: The interface.
        description: The interface's description.
        tags: The interface's tags.
        of_instance: The tags of the instance that it is attached to; empty without one.
    """

    subnet_id: str
    network: IPv4Network | IPv6Network
    nic_id: str
    description: str = ""
    tags: Mapping[str, str] = EMPTY
    of_instance: Mapping[str, str] = EMPTY


def held(client: "EC2Client", subnet_ids: Collection[str]) -> list[Held]:
    """DescribeNetworkInterfaces, and DescribeInstances for their instances: all that is held in subnets."""
    entries = list(
        listed(client, "describe_network_interfaces", "NetworkInterfaces", "subnet-id", subnet_ids)
    )
    is_used = any(each.get("Attachment", {}).get("InstanceId") for each in entries)
    instances = _instances(client, subnet_ids) if is_used else {}
    return [one for each in entries for one in _held(each, instances)]


def _instances(client: "EC2Client", subnet_ids: Collection[str]) -> dict[str, Mapping[str, str]]:
    """The tags of the instances in these subnets, by id."""
    found = listed(client, "describe_instances", "Reservations", "network-interface.subnet-id", subnet_ids)
    return {each["InstanceId"]: tags_of(each) for entry in found for each in entry["Instances"]}


def _held(entry: Any, instances: Mapping[str, Mapping[str, str]]) -> Iterator[Held]:  # noqa: ANN401 - the SDK's
    holder = entry.get("Attachment", {}).get("InstanceId", "")
    texts = [
        *(each["PrivateIpAddress"] for each in entry.get("PrivateIpAddresses", [])),
        *(each["Ipv6Address"] for each in entry.get("Ipv6Addresses", [])),
        *(each["Ipv4Prefix"] for each in entry.get("Ipv4Prefixes", [])),
        *(each["Ipv6Prefix"] for each in entry.get("Ipv6Prefixes", [])),
    ]
    for text in dict.fromkeys(texts):
        yield Held(
            entry["SubnetId"],
            ip_network(text),
            entry["NetworkInterfaceId"],
            entry.get("Description", ""),
            tags_of(entry, "TagSet"),
            instances.get(holder, {}),
        )
