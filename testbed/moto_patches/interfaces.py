"""Network interfaces and elastic addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.ec2.models.elastic_ip_addresses import ElasticAddress, ElasticAddressBackend
from moto.ec2.models.elastic_network_interfaces import (
    NetworkInterface,
    NetworkInterfaceBackend,
)
from moto.ec2.models.instances import InstanceBackend
from moto.ec2.models.route_tables import RouteBackend
from moto.ec2.responses.elastic_network_interfaces import ElasticNetworkInterfaces
from moto.ec2.utils import generate_route_id

from testbed.moto_patches.patching import Patches, parameter, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

PATCHES = Patches()


@PATCHES.around(NetworkInterfaceBackend, "create_network_interface")
def known_groups(original: Callable[..., Any], backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 refuses an unknown security group; moto made one of that id."""
    group_ids = keywords.get("group_ids") or next(iter(positional[3:4]), None)
    for group_id in group_ids or []:
        if backend.get_security_group_from_id(group_id) is None:
            refuse("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
    return original(backend, *positional, **keywords)


@PATCHES.around(NetworkInterface, "group_set")
def own_groups(original: Callable[..., Any], interface: Any) -> Any:
    """EC2 shows an interface's own groups; moto added those of its instance."""
    del original
    return interface._group_set  # noqa: SLF001 - moto has no other name for them


@PATCHES.around(NetworkInterfaceBackend, "delete_network_interface")
def only_when_detached(original: Callable[..., Any], backend: Any, eni_id: str) -> Any:
    """EC2 refuses to delete an attached interface, and frees its elastic address.

    moto deleted it, and left the elastic address with the deleted interface.
    """
    interface = backend.get_network_interface(eni_id)
    if interface.attachment_id:
        refuse("InvalidParameterValue", f"Network interface '{eni_id}' is currently in use.")
    for address in backend.addresses:
        if address.eni is interface:
            backend.disassociate_address(address=address.public_ip)
    return original(backend, eni_id)


@PATCHES.around(ElasticNetworkInterfaces, "modify_network_interface_attribute")
def attachment_attribute(original: Callable[..., Any], response: Any) -> Any:
    """EC2 sets DeleteOnTermination of an attachment; moto ignored the parameter."""
    attachment = parameter(response, "Attachment", {})
    if attachment:
        backend = response.ec2_backend
        eni_id = parameter(response, "NetworkInterfaceId")
        interface = backend.get_network_interface(eni_id)
        wanted = attachment.get("AttachmentId")
        if not wanted or wanted != interface.attachment_id:
            refuse(
                "InvalidAttachmentID.NotFound",
                f"The network interface attachment ID '{wanted}' does not exist",
            )
        interface.delete_on_termination = attachment.get("DeleteOnTermination") is True
    return original(response)


def add_prefixes(interface: Any, version: int, prefixes: list[str]) -> None:
    """Delegate prefixes to an interface, under the name that moto's answers read."""
    name, key = f"ipv{version}_prefixes", f"Ipv{version}Prefix"
    known = getattr(interface, name, [])
    setattr(interface, name, known + [{key: prefix} for prefix in prefixes])


@PATCHES.around(ElasticNetworkInterfaces, "assign_private_ip_addresses")
def assigned_ipv4_prefixes(original: Callable[..., Any], response: Any) -> Any:
    """EC2 delegates Ipv4Prefixes to the interface; moto ignored them."""
    result = original(response)
    eni_id = parameter(response, "NetworkInterfaceId")
    prefixes = parameter(response, "Ipv4Prefixes", [])
    add_prefixes(response.ec2_backend.get_network_interface(eni_id), 4, prefixes)
    result.result["AssignedIpv4Prefixes"] = [{"Ipv4Prefix": p} for p in prefixes]
    return result


@PATCHES.around(ElasticNetworkInterfaces, "assign_ipv6_addresses")
def assigned_ipv6_prefixes(original: Callable[..., Any], response: Any) -> Any:
    """EC2 delegates Ipv6Prefixes to the interface; moto ignored them."""
    result = original(response)
    eni_id = parameter(response, "NetworkInterfaceId")
    prefixes = parameter(response, "Ipv6Prefixes", [])
    add_prefixes(response.ec2_backend.get_network_interface(eni_id), 6, prefixes)
    result.result["AssignedIpv6Prefixes"] = prefixes
    return result


@PATCHES.around(InstanceBackend, "modify_instance_attribute")
def check_of_the_only_interface(
    original: Callable[..., Any], backend: Any, instance_id: str, key: str, value: Any
) -> Any:
    """EC2 sets an instance's source/destination check on its one interface.

    With several it refuses; moto noted it on the instance alone.
    """
    if key == "source_dest_check":
        interfaces = list(backend.get_instance(instance_id).nics.values())
        if len(interfaces) > 1:
            refuse(
                "InvalidInstanceID",
                f"There are multiple interfaces attached to instance '{instance_id}'. "
                "Please specify an interface ID for the operation instead.",
            )
        for interface in interfaces:
            interface.source_dest_check = value
    return original(backend, instance_id, key, value)


@PATCHES.around(RouteBackend, "create_route")
def new_routes_only(
    original: Callable[..., Any],
    backend: Any,
    route_table_id: str,
    destination_cidr_block: str | None = None,
    destination_ipv6_cidr_block: str | None = None,
    *positional: Any,
    **keywords: Any,
) -> Any:
    """EC2 refuses a second route for a destination; moto replaced the first.

    (Where the target was an interface: for others it did refuse.)
    """
    destination = destination_ipv6_cidr_block or destination_cidr_block
    if keywords.get("interface_id"):
        table = backend.get_route_table(route_table_id)
        route_id = generate_route_id(route_table_id, destination_cidr_block, destination_ipv6_cidr_block)
        if route_id in table._routes:  # noqa: SLF001
            refuse("RouteAlreadyExists", f"The route identified by {destination} already exists.")
    return original(
        backend,
        route_table_id,
        destination_cidr_block,
        destination_ipv6_cidr_block,
        *positional,
        **keywords,
    )


@PATCHES.around(ElasticAddress, "instance_id")
def holder_of_the_interface(original: Callable[..., Any], address: Any) -> Any:
    """EC2 shows the instance behind the interface; moto one named in the call only."""
    interface = address.eni
    if interface is not None and interface.instance is not None:
        return interface.instance.id
    return original(address)


@PATCHES.around(ElasticAddressBackend, "associate_address")
def moved_address(original: Callable[..., Any], backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 takes a reassociated address from its old interface; moto showed it on both."""
    holders = {address.public_ip: address.eni for address in backend.addresses}
    moved = original(backend, *positional, **keywords)
    former = holders.get(moved.public_ip)
    if former is not None and former is not moved.eni:
        former.public_ip = None
    return moved
