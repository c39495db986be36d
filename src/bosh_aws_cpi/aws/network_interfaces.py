"""Elastic network interfaces: create, find, change, delete."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws.sdk import errors, timing
from bosh_aws_cpi.aws.sdk.errors import ask_or_warn, call_unless, try_delete
from bosh_aws_cpi.aws.sdk.filters import by_tags, equals
from bosh_aws_cpi.aws.sdk.idempotency import create_once, tags_of
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Nic

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef


class NicGone(CloudError):
    """The interface is gone, although EC2 returned its id; an earlier call created it.

    Args:
        nic_id: The interface.
        was_seen: Whether EC2 has shown the interface during this call.
    """

    def __init__(self, nic_id: str, *, was_seen: bool) -> None:
        super().__init__(f"Network interface '{nic_id}' is gone")
        self.was_seen = was_seen


def create(client: "EC2Client", arguments: Json, find: Callable[[], Nic | None]) -> Nic:
    """Call CreateNetworkInterface; the interface is pending, unless its client token was used before.

    Args:
        client: The EC2 client.
        arguments: All of the call's arguments.
        find: Looks for the interface, if AWS did not answer the call.
    """
    return create_once(
        "the network interface",
        lambda: from_entry(client.create_network_interface(**arguments)["NetworkInterface"]),
        find,
    )


def find_by_agent(client: "EC2Client", tags: Mapping[str, str], subnet_id: str) -> list[Nic]:
    """DescribeNetworkInterfaces: the interfaces in a subnet that were created for one agent.

    Args:
        client: The EC2 client.
        tags: The tags that identify the agent.
        subnet_id: The subnet.
    """
    nics = find_in_subnet(client, subnet_id, *by_tags(tags))
    return [nic for nic in nics if tags.items() <= nic.tags.items()]


def find(client: "EC2Client", nic_id: str) -> Nic | None:
    """DescribeNetworkInterfaces for one interface; None when EC2 does not know it."""
    answer = call_unless(
        errors.NIC_MISSING, lambda: client.describe_network_interfaces(NetworkInterfaceIds=[nic_id])
    )
    return from_entry(answer["NetworkInterfaces"][0]) if answer else None


def wait_until_usable(client: "EC2Client", nic_id: str, is_launched: Callable[[str], bool]) -> Nic:
    """Wait until an interface is available, or attached to the VM for which it was created.

    Args:
        client: The EC2 client.
        nic_id: The interface.
        is_launched: Whether the instance with an id is alive; if the interface is attached to it, an
            earlier call with the same client token has launched the instance.

    Raises:
        NicGone: EC2 does not show the interface, or no longer shows it.
        CloudError: The wait timed out.
    """
    window = timing.VisibilityWindow(timing.NIC_SEEN)

    def usable() -> Nic:
        nic = window.check(find(client, nic_id), NicGone(nic_id, was_seen=window.was_seen))
        if nic.status == "available" or (nic.vm_cid is not None and is_launched(nic.vm_cid)):
            return nic
        raise timing.NotYet(nic.status)

    return timing.poll(timing.NIC_AVAILABLE, f"network interface '{nic_id}' to be available", usable)


def find_holder(client: "EC2Client", subnet_id: str, address: str) -> Nic | None:
    """Find the interface in a subnet that has an address, or a part of a prefix; None when EC2 shows none.

    Args:
        client: The EC2 client.
        subnet_id: The subnet.
        address: An IPv4 or IPv6 address or prefix.
    """
    if "/" not in address and (
        nic := next(find_in_subnet(client, subnet_id, equals(_filter_name(address), address)), None)
    ):
        return nic
    # EC2 has no filter for prefixes, and an address may lie within a prefix.
    wanted = ip_network(address)
    for nic in find_in_subnet(client, subnet_id):
        held = map(ip_network, (*nic.addresses, *nic.prefixes))
        if any(wanted.version == other.version and wanted.overlaps(other) for other in held):
            return nic
    return None


def _filter_name(address: str) -> str:
    """The name of the filter for a private IPv4 address, or for an IPv6 address."""
    return "ipv6-addresses.ipv6-address" if ":" in address else "addresses.private-ip-address"


def delegate_prefix(client: "EC2Client", nic: Nic, prefix: str) -> None:
    """Delegate a prefix to an interface, unless the interface already has the prefix."""
    if prefix in nic.prefixes:
        return

    def assign() -> None:
        if ":" in prefix:
            client.assign_ipv6_addresses(NetworkInterfaceId=nic.nic_id, Ipv6Prefixes=[prefix])
        else:
            client.assign_private_ip_addresses(NetworkInterfaceId=nic.nic_id, Ipv4Prefixes=[prefix])

    what = f"network interface '{nic.nic_id}'"
    try:
        timing.retry_until_visible(what, assign)
    except client.exceptions.ClientError:
        now = ask_or_warn(what, lambda: find(client, nic.nic_id))
        if now is None or prefix not in now.prefixes:  # else an attempt without an answer has succeeded
            raise


def request_public_ip(client: "EC2Client", nic_id: str) -> None:
    """Let an interface get a public address when an instance is launched with it at device index 0."""
    _modify(client, nic_id, AssociatePublicIpAddress=True)


def disable_source_dest_check(client: "EC2Client", nic_id: str) -> None:
    """Disable the source/destination check of an interface."""
    _modify(client, nic_id, SourceDestCheck={"Value": False})


def delete_on_termination(client: "EC2Client", nics: Iterable[Nic]) -> None:
    """Let EC2 delete interfaces with their instance; RunInstances can do so only for new interfaces."""
    for nic in nics:
        attachment = {"AttachmentId": nic.attachment_id, "DeleteOnTermination": True}
        _modify(client, nic.nic_id, Attachment=attachment)


def delete_unattached(client: "EC2Client", nic_id: str) -> bool:
    """Call DeleteNetworkInterface once; False when the interface is attached or being detached.

    It is no error if the interface is already gone.
    """
    return try_delete(
        errors.NIC_IN_USE,
        errors.NIC_MISSING,
        lambda: client.delete_network_interface(NetworkInterfaceId=nic_id),
    )


def discard(client: "EC2Client", nic_id: str, *, was_seen: bool) -> None:
    """Discard an interface; no error if EC2 has deleted it with its instance.

    The call is retried while EC2 still holds the interface for an instance that has terminated.

    Args:
        client: The EC2 client.
        nic_id: The interface.
        was_seen: Whether EC2 has shown the interface since its creation; if not, "not found" is retried
            (eventual consistency).
    """
    logger.info("Deleting network interface '%s'", nic_id)

    def delete() -> None:
        timing.retry_on_codes(
            timing.NIC_RELEASED,
            f"network interface '{nic_id}' to be released",
            errors.NIC_IN_USE,
            lambda: client.delete_network_interface(NetworkInterfaceId=nic_id),
        )

    timing.discard(
        f"network interface '{nic_id}'",
        errors.NIC_MISSING,
        delete,
        timing.AT_ONCE if was_seen else timing.VISIBLE,
    )


def _modify(client: "EC2Client", nic_id: str, **attribute: Any) -> None:  # noqa: ANN401 - one of EC2's
    """Call ModifyNetworkInterfaceAttribute, which accepts one attribute per call."""
    timing.retry_until_visible(
        f"network interface '{nic_id}'",
        lambda: client.modify_network_interface_attribute(NetworkInterfaceId=nic_id, **attribute),
    )


def find_in_subnet(client: "EC2Client", subnet_id: str, *filters: "FilterTypeDef") -> Iterator[Nic]:
    """DescribeNetworkInterfaces: the interfaces in a subnet, page after page."""
    return _describe(client, equals("subnet-id", subnet_id), *filters)


def _describe(client: "EC2Client", *filters: "FilterTypeDef") -> Iterator[Nic]:
    pages = client.get_paginator("describe_network_interfaces").paginate(Filters=list(filters))
    return (from_entry(entry) for page in pages for entry in page["NetworkInterfaces"])


def find_by_address(client: "EC2Client", address: str) -> list[Nic]:
    """DescribeNetworkInterfaces: the interfaces with an address; several VPCs may use one private address.

    Args:
        client: The EC2 client.
        address: A private or public IPv4 address, or an IPv6 address.
    """
    nics = list(_describe(client, equals(_filter_name(address), address)))
    if not nics and ip_address(address).is_global and ":" not in address:
        nics = list(_describe(client, equals("association.public-ip", address)))
    return nics


def from_entry(entry: Any) -> Nic:  # noqa: ANN401 - one of two of the SDK's types; some keys may be missing
    """Convert DescribeNetworkInterfaces' or DescribeInstances' description of an interface."""
    private, attachment = entry.get("PrivateIpAddresses", []), entry.get("Attachment", {})
    return Nic(
        nic_id=entry["NetworkInterfaceId"],
        mac_address=entry.get("MacAddress", ""),
        status=entry.get("Status", ""),
        vm_cid=attachment.get("InstanceId"),
        vm_owner_id=attachment.get("InstanceOwnerId", ""),
        device_index=attachment.get("DeviceIndex", 0),
        card_index=attachment.get("NetworkCardIndex", 0),
        attachment_id=attachment.get("AttachmentId", ""),
        addresses=_distinct(
            [entry.get("PrivateIpAddress")],
            (each.get("PrivateIpAddress") for each in private),
            (each.get("Ipv6Address") for each in entry.get("Ipv6Addresses", [])),
        ),
        public=_distinct(
            [entry.get("Association", {}).get("PublicIp")],
            (each.get("Association", {}).get("PublicIp") for each in private),
        ),
        prefixes=_distinct(
            (each.get("Ipv4Prefix") for each in entry.get("Ipv4Prefixes", [])),
            (each.get("Ipv6Prefix") for each in entry.get("Ipv6Prefixes", [])),
        ),
        group_ids=tuple(group["GroupId"] for group in entry.get("Groups", [])),
        subnet_id=entry.get("SubnetId", ""),
        vpc_id=entry.get("VpcId", ""),
        owner_id=entry.get("OwnerId", ""),
        is_managed=entry.get("RequesterManaged", False),
        tags=tags_of(entry, "TagSet"),
        description=entry.get("Description", ""),
    )


def _distinct(*groups: Iterable[str | None]) -> Sequence[str]:
    """The non-empty values of all groups, without duplicates, in this order."""
    return tuple(dict.fromkeys(value for group in groups for value in group if value))
