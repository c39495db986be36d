"""Routes to interfaces and instances."""

import contextlib
import ipaddress
from typing import Any

from moto.ec2.models.route_tables import Route, RouteBackend
from moto.ec2.utils import generate_route_id

from testbed.moto_patches.interfaces import refuse_several
from testbed.moto_patches.patching import Original, Patches, refuse

PATCHES = Patches()


def canonical(cidr: str | None, kind: type[Any], name: str) -> str | None:
    """Write a destination as EC2 keeps it, without host bits; refuse a text that is no CIDR block."""
    if cidr is None:
        return None
    if "/" in cidr:
        with contextlib.suppress(ValueError):
            return str(kind(cidr, strict=False))
    return refuse(
        "InvalidParameterValue",
        f"Value ({cidr}) for parameter {name} is invalid. This is not a valid CIDR block.",
    )


def canonical_pair(ipv4: str | None, ipv6: str | None) -> tuple[str | None, str | None]:
    """Write the destination of a route, which has one of the two kinds."""
    return (
        canonical(ipv4, ipaddress.IPv4Network, "destinationCidrBlock"),
        canonical(ipv6, ipaddress.IPv6Network, "destinationIpv6CidrBlock"),
    )


def only_interface(backend: Any, instance_id: str) -> str:
    """Find the only interface of an instance."""
    interfaces = list(backend.get_instance(instance_id).nics.values())
    if len(interfaces) != 1:
        refuse_several(instance_id)
    eni_id: str = interfaces[0].id
    return eni_id


def settle_target(backend: Any, table_id: str, target: dict[str, Any]) -> None:
    """Replace a target instance by its interface, and refuse an interface of another network."""
    if target.get("instance_id"):
        target["interface_id"] = only_interface(backend, target.pop("instance_id"))
    if target.get("interface_id"):
        interface = backend.get_network_interface(target["interface_id"])
        if interface.vpc_id != backend.get_route_table(table_id).vpc_id:
            refuse(
                "InvalidParameterValue",
                f"route table {table_id} and interface {interface.id} belong to different networks",
            )


@PATCHES.around(RouteBackend, "create_route")
def created_route(
    original: Original,
    backend: Any,
    route_table_id: str,
    destination_cidr_block: str | None = None,
    destination_ipv6_cidr_block: str | None = None,
    *positional: Any,
    **keywords: Any,
) -> Any:
    """EC2 refuses a second route for a destination, which it compares in canonical form.

    moto replaced the first route if the target was an interface. For a target instance EC2
    creates a route to its interface, and refuses an instance with several; moto kept the
    instance as the target. moto accepted any text as a destination.
    """
    ipv4, ipv6 = canonical_pair(destination_cidr_block, destination_ipv6_cidr_block)
    settle_target(backend, route_table_id, keywords)
    table = backend.get_route_table(route_table_id)
    if generate_route_id(route_table_id, ipv4, ipv6) in table._routes:  # noqa: SLF001
        refuse("RouteAlreadyExists", f"The route identified by {ipv6 or ipv4} already exists.")
    return original(backend, route_table_id, ipv4, ipv6, *positional, **keywords)


def routed_again(
    original: Original,
    backend: Any,
    route_table_id: str,
    destination_cidr_block: str | None,
    destination_ipv6_cidr_block: str | None = None,
    *positional: Any,
    **keywords: Any,
) -> Any:
    """The same for ReplaceRoute, and for the destination of DeleteRoute.

    Without a route for the destination the answer is InvalidParameterValue. EC2's reference
    says InvalidRoute.NotFound, but EC2 answers as moto does.
    """
    ipv4, ipv6 = canonical_pair(destination_cidr_block, destination_ipv6_cidr_block)
    settle_target(backend, route_table_id, keywords)
    return original(backend, route_table_id, ipv4, ipv6, *positional, **keywords)


for _name in ("replace_route", "delete_route"):
    PATCHES.around(RouteBackend, _name)(routed_again)


@PATCHES.around(Route, "state")
def route_state(original: Original, route: Any) -> Any:
    """EC2 calls a route a black hole once its interface is detached or deleted; moto never did."""
    interface = route.interface
    if interface is None or interface.attachment_id:
        return original(route)
    return "blackhole"
