"""Elastic network interfaces: create, find, change, delete."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws.listings import listed
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.error_codes import NIC_IN_USE, NIC_MISSING, NOT_FOUND_YET
from bosh_aws_cpi.aws.sdk.errors import has_code, looked_up
from bosh_aws_cpi.aws.sdk.filters import by_tags, exactly
from bosh_aws_cpi.aws.sdk.idempotency import create_once, tags_of
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Nic
from bosh_aws_cpi.records import EMPTY, Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef, NetworkInterfaceTypeDef


class NicGone(CloudError):
    """The interface was created by an earlier call and is gone.

    Args:
        nic_id: The interface.
        was_seen: Whether EC2 has shown it during this call.
    """

    def __init__(self, nic_id: str, *, was_seen: bool) -> None:
        super().__init__(f"Network interface '{nic_id}' is gone")
        self.was_seen = was_seen


def create(client: "EC2Client", arguments: Json, find: Callable[[], Nic | None]) -> Nic:
    """CreateNetworkInterface; the interface is pending, unless its client token belongs to an earlier one.

    Args:
        client: The EC2 client.
        arguments: All of the call's arguments.
        find: Looks for the interface when it is uncertain whether it was created.
    """
    return create_once(
        "the network interface",
        lambda: _nic(client.create_network_interface(**arguments)["NetworkInterface"]),
        find,
    )


def of_agent(client: "EC2Client", tags: Mapping[str, str], subnet_id: str) -> list[Nic]:
    """DescribeNetworkInterfaces for the interfaces in a subnet that were created for one agent.

    Args:
        client: The EC2 client.
        tags: The tags that identify them.
        subnet_id: The subnet.
    """
    found = map(_nic, _in_subnet(client, subnet_id, *by_tags(tags)))
    return [nic for nic in found if tags.items() <= nic.tags.items()]


def find(client: "EC2Client", nic_id: str) -> Nic | None:
    """DescribeNetworkInterfaces for one interface; None when EC2 does not know it."""
    try:
        answer = client.describe_network_interfaces(NetworkInterfaceIds=[nic_id])
    except client.exceptions.ClientError as error:
        if has_code(error, NIC_MISSING):
            return None
        raise
    return _nic(answer["NetworkInterfaces"][0])


def wait_until_usable(client: "EC2Client", nic_id: str, is_launched: Callable[[str], bool]) -> Nic:
    """Wait until an interface is available, or attached to the VM that it was created for.

    Args:
        client: The EC2 client.
        nic_id: The interface.
        is_launched: Whether the instance that the interface is attached to is alive: then an
            earlier call with the same client token has launched it.

    Raises:
        NicGone: EC2 does not show it, or no longer shows it.
        CloudError: The wait timed out.
    """
    window = timing.VisibilityWindow(timing.NIC_SEEN)

    def usable() -> Nic:
        nic = find(client, nic_id)
        if nic is None and window.is_lost:
            raise NicGone(nic_id, was_seen=window.was_seen)
        if nic is None:
            raise timing.NotYet("not visible yet")
        window.was_seen = True
        if nic.status == "available" or (nic.vm_cid is not None and is_launched(nic.vm_cid)):
            return nic
        raise timing.NotYet(nic.status)

    return timing.until(timing.NIC_AVAILABLE, f"network interface '{nic_id}' to be available", usable)


def holder(client: "EC2Client", subnet_id: str, address: str) -> Nic | None:
    """The interface that holds an address, or a part of a prefix, in a subnet; None when EC2 shows none.

    Args:
        client: The EC2 client.
        subnet_id: The subnet.
        address: An IPv4 or IPv6 address or prefix.
    """
    if "/" not in address:
        name = "ipv6-addresses.ipv6-address" if ":" in address else "addresses.private-ip-address"
        for entry in _in_subnet(client, subnet_id, exactly(name, address)):
            return _nic(entry)
    # EC2 has no filter for prefixes, and an address may lie within one.
    wanted = ip_network(address)
    for entry in _in_subnet(client, subnet_id):
        held = (ip_network(text) for text in _held(entry))
        if any(wanted.version == other.version and wanted.overlaps(other) for other in held):
            return _nic(entry)
    return None


def delegate(client: "EC2Client", nic: Nic, prefix: str) -> None:
    """Delegate a prefix to an interface, unless it is already delegated to it."""
    if prefix in nic.prefixes:
        return

    def assign() -> None:
        if ":" in prefix:
            client.assign_ipv6_addresses(NetworkInterfaceId=nic.nic_id, Ipv6Prefixes=[prefix])
        else:
            client.assign_private_ip_addresses(NetworkInterfaceId=nic.nic_id, Ipv4Prefixes=[prefix])

    try:
        _once_seen(nic.nic_id, assign)
    except client.exceptions.ClientError:
        now = looked_up(f"network interface '{nic.nic_id}'", lambda: find(client, nic.nic_id))
        if now is None or prefix not in now.prefixes:  # otherwise an unanswered attempt has succeeded
            raise


def request_public_ip(client: "EC2Client", nic_id: str) -> None:
    """Have an interface get a public address when an instance is launched with it at device index 0."""
    _modify(client, nic_id, AssociatePublicIpAddress=True)


def pass_foreign_traffic(client: "EC2Client", nic_id: str) -> None:
    """Switch off the source/destination check of an interface."""
    _modify(client, nic_id, SourceDestCheck={"Value": False})


def delete_on_termination(client: "EC2Client", attachments: Sequence[tuple[str, str]]) -> None:
    """Set interfaces to be deleted with their instance; RunInstances can do so only for those it creates.

    Args:
        client: The EC2 client.
        attachments: (interface id, attachment id) of each.
    """
    for nic_id, attachment_id in attachments:
        attachment = {"AttachmentId": attachment_id, "DeleteOnTermination": True}
        _modify(client, nic_id, Attachment=attachment)


def delete_unattached(client: "EC2Client", nic_id: str) -> bool:
    """DeleteNetworkInterface, one attempt; False when the interface is attached or being detached.

    It is no error if the interface is already gone.
    """
    try:
        client.delete_network_interface(NetworkInterfaceId=nic_id)
    except client.exceptions.ClientError as error:
        if has_code(error, NIC_IN_USE):
            return False
        if not has_code(error, NIC_MISSING):
            raise
    return True


def discard(client: "EC2Client", nic_id: str, *, was_seen: bool) -> None:
    """Discard an interface; no error if it was deleted with its instance.

    The call is retried while EC2 still holds the interface for an instance that has terminated.

    Args:
        client: The EC2 client.
        nic_id: The interface.
        was_seen: Whether EC2 has shown it since it was created; if not, "not found" is retried
            (eventual consistency).
    """
    logger.info("Deleting network interface '%s'", nic_id)

    def delete() -> None:
        timing.patiently(
            timing.NIC_RELEASED,
            f"network interface '{nic_id}' to be released",
            NIC_IN_USE,
            lambda: client.delete_network_interface(NetworkInterfaceId=nic_id),
        )

    timing.discard(
        f"network interface '{nic_id}'",
        lambda error: has_code(error, NIC_MISSING),
        delete,
        timing.AT_ONCE if was_seen else timing.VISIBLE,
    )


def _modify(client: "EC2Client", nic_id: str, **attribute: Any) -> None:  # noqa: ANN401 - one of EC2's
    """ModifyNetworkInterfaceAttribute, which accepts one attribute per call."""
    _once_seen(
        nic_id,
        lambda: client.modify_network_interface_attribute(NetworkInterfaceId=nic_id, **attribute),
    )


def _once_seen(nic_id: str, call: Callable[[], object]) -> None:
    """Retry a call while EC2 does not know the interface: eventual consistency, even after it was seen."""
    what = f"network interface '{nic_id}' to become visible"
    timing.patiently(timing.VISIBLE, what, NOT_FOUND_YET, call)


def _in_subnet(
    client: "EC2Client", subnet_id: str, *filters: "FilterTypeDef"
) -> "Iterator[NetworkInterfaceTypeDef]":
    pages = client.get_paginator("describe_network_interfaces").paginate(
        Filters=[exactly("subnet-id", subnet_id), *filters]
    )
    return (entry for page in pages for entry in page["NetworkInterfaces"])


def _nic(entry: "NetworkInterfaceTypeDef") -> Nic:
    return Nic(
        nic_id=entry["NetworkInterfaceId"],
        mac_address=entry["MacAddress"],
        status=entry["Status"],
        vm_cid=entry.get("Attachment", {}).get("InstanceId"),
        addresses=frozenset(_addresses(entry)),
        prefixes=frozenset(_prefixes(entry)),
        tags=tags_of(entry, "TagSet"),
        description=entry.get("Description", ""),
    )


def _held(entry: Any) -> list[str]:  # noqa: ANN401 - the SDK's typed dict; not every key is always there
    return [*_addresses(entry), *_prefixes(entry)]


def _addresses(entry: Any) -> list[str]:  # noqa: ANN401
    ipv4 = [address["PrivateIpAddress"] for address in entry.get("PrivateIpAddresses", [])]
    ipv6 = [address["Ipv6Address"] for address in entry.get("Ipv6Addresses", [])]
    return [*ipv4, *ipv6]


def _prefixes(entry: Any) -> list[str]:  # noqa: ANN401
    ipv4 = [prefix["Ipv4Prefix"] for prefix in entry.get("Ipv4Prefixes", [])]
    ipv6 = [prefix["Ipv6Prefix"] for prefix in entry.get("Ipv6Prefixes", [])]
    return [*ipv4, *ipv6]


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
