"""Addresses and prefixes that interfaces get after their creation, and the filters that find them."""

from typing import Any

from moto.ec2.models.elastic_network_interfaces import NetworkInterface
from moto.ec2.responses.elastic_network_interfaces import ElasticNetworkInterfaces

from testbed.moto_patches.addresses import check_prefixes_free
from testbed.moto_patches.patching import Original, Patches, parameter

PATCHES = Patches()


def prefixes_of(interface: Any, version: int) -> list[str]:
    """List the prefixes that are delegated to an interface."""
    entries = getattr(interface, f"ipv{version}_prefixes", [])
    return [prefix for entry in entries for prefix in entry.values()]


def add_prefixes(interface: Any, version: int, prefixes: list[str]) -> None:
    """Delegate prefixes to an interface, as the attribute that moto's answers show."""
    known = prefixes_of(interface, version)
    new = [prefix for prefix in prefixes if prefix not in known]
    check_prefixes_free(interface.subnet, new)
    entries = [{f"Ipv{version}Prefix": prefix} for prefix in known + new]
    setattr(interface, f"ipv{version}_prefixes", entries)


def delegate(response: Any, version: int) -> list[str]:
    """Delegate the prefixes of a request to its interface."""
    prefixes: list[str] = parameter(response, f"Ipv{version}Prefixes", [])
    eni_id = parameter(response, "NetworkInterfaceId")
    add_prefixes(response.ec2_backend.get_network_interface(eni_id), version, prefixes)
    return prefixes


@PATCHES.around(ElasticNetworkInterfaces, "assign_private_ip_addresses")
def assigned_ipv4_prefixes(original: Original, response: Any) -> Any:
    """EC2 delegates Ipv4Prefixes to the interface, if they are free; moto ignored them."""
    prefixes = delegate(response, 4)
    result = original(response)
    result.result["AssignedIpv4Prefixes"] = [{"Ipv4Prefix": prefix} for prefix in prefixes]
    return result


@PATCHES.around(ElasticNetworkInterfaces, "assign_ipv6_addresses")
def assigned_ipv6_prefixes(original: Original, response: Any) -> Any:
    """EC2 delegates Ipv6Prefixes to the interface, if they are free; moto ignored them."""
    prefixes = delegate(response, 6)
    result = original(response)
    result.result["AssignedIpv6Prefixes"] = prefixes
    return result


@PATCHES.around(NetworkInterface, "get_filter_value")
def any_address(original: Original, interface: Any, filter_name: str, *positional: Any) -> Any:
    """EC2 finds an interface by any of its addresses; moto found it by its first IPv4 address only."""
    if filter_name == "addresses.private-ip-address":
        return [entry["PrivateIpAddress"] for entry in interface.private_ip_addresses]
    if filter_name == "ipv6-addresses.ipv6-address":
        return list(interface.ipv6_addresses)
    if filter_name == "association.public-ip":
        return interface.public_ip
    return original(interface, filter_name, *positional)
