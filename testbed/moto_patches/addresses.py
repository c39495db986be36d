"""Private addresses: only one interface at a time holds an address."""

import ipaddress
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.elastic_network_interfaces import NetworkInterfaceBackend
from moto.ec2.models.subnets import Subnet
from moto.ec2.responses.elastic_network_interfaces import ElasticNetworkInterfaces

from testbed.moto_patches.patching import Original, Patches, refuse

PATCHES = Patches()

PREFIX_LENGTHS = {4: 28, 6: 80}
RESERVED = 3
"""A subnet's router, DNS and spare address come before the first usable one."""


def held(subnet: Any) -> set[str]:
    """Collect the IPv4 and IPv6 addresses that interfaces of a subnet hold."""
    holders = [e for e in subnet.ec2_backend.enis.values() if e.subnet.id == subnet.id]
    addresses = {entry["PrivateIpAddress"] for holder in holders for entry in holder.private_ip_addresses}
    return addresses.union(*(holder.ipv6_addresses for holder in holders))


def delegated(subnet: Any) -> list[Any]:
    """Collect the prefixes, of both kinds, that are delegated to interfaces of a subnet."""
    holders = [e for e in subnet.ec2_backend.enis.values() if e.subnet.id == subnet.id]
    entries = [entry for e in holders for v in (4, 6) for entry in getattr(e, f"ipv{v}_prefixes", [])]
    return [ipaddress.ip_network(prefix) for entry in entries for prefix in entry.values()]


def usable(subnet: Any) -> Iterator[str]:
    """Walk through the addresses of a subnet that EC2 gives to interfaces."""
    return (str(host) for host in itertools.islice(subnet.cidr.hosts(), RESERVED, None))


def check_free(subnet: Any, wanted: Iterable[str]) -> None:
    """Refuse addresses that are held, reserved or outside of the subnet."""
    taken, prefixes = held(subnet), delegated(subnet)
    for address in wanted:
        parsed = ipaddress.ip_address(address)
        if address in taken or any(parsed in prefix for prefix in prefixes):
            refuse("InvalidIPAddress.InUse", f"Address {address} is in use.")
        if parsed.version == subnet.cidr.version and parsed not in subnet.cidr:
            refuse(
                "InvalidParameterValue",
                f"Address {address} does not fall within the subnet's address range",
            )
        if parsed in {*itertools.islice(subnet.cidr, RESERVED + 1), *_last(subnet.cidr)}:
            refuse(
                "InvalidParameterValue",
                f"Address {address} is in subnet's reserved address range",
            )


def _last(cidr: Any) -> list[Any]:
    """The last address of an IPv4 range, which AWS keeps too (VPC user guide, "Subnet sizing")."""
    return [cidr[-1]] if cidr.version == 4 else []


def check_prefixes_free(subnet: Any, wanted: Iterable[str]) -> None:
    """Refuse prefixes that have the wrong length, are in use or lie outside of the subnet."""
    addresses = [ipaddress.ip_address(address) for address in held(subnet)]
    for text in wanted:
        prefix = ipaddress.ip_network(text)
        if prefix.prefixlen != PREFIX_LENGTHS[prefix.version]:
            refuse("InvalidParameterValue", f"Prefix {text} is not of a length that can be delegated")
        if prefix.version == subnet.cidr.version and not prefix.subnet_of(subnet.cidr):
            refuse("InvalidParameterValue", f"Prefix {text} does not fall within the subnet's range")
        same_kind = [other for other in delegated(subnet) if other.version == prefix.version]
        if any(prefix.overlaps(other) for other in same_kind) or any(a in prefix for a in addresses):
            refuse("InvalidIPAddress.InUse", f"Address {text} is in use.")


def first_free(subnet: Any, count: int) -> list[str]:
    """Choose free addresses for an interface whose request names none."""
    taken, prefixes = held(subnet), delegated(subnet)
    free = [
        address
        for address in usable(subnet)
        if address not in taken and all(ipaddress.ip_address(address) not in p for p in prefixes)
    ]
    if len(free) < count:
        refuse(
            "InsufficientFreeAddressesInSubnet",
            "The specified subnet does not have enough free addresses to satisfy the request.",
        )
    return free[:count]


@PATCHES.around(ElasticNetworkInterfaces, "create_network_interface")
def no_free_address(original: Original, response: Any) -> Any:
    """For a full subnet EC2 has one code in CreateNetworkInterface and another one in RunInstances.

    Seen in aws/amazon-vpc-cni-k8s issue 3105, explained by AWS Support in cilium/cilium pull request 31016.
    """
    try:
        return original(response)
    except EC2ClientError as error:
        if error.code != "InsufficientFreeAddressesInSubnet":
            raise
        return refuse("InvalidParameterValue", "There aren't sufficient free Ipv4 addresses or prefixes")


def requested(single: Any, entries: Iterable[Any]) -> list[str]:
    """List the addresses that a request names, in either of the two ways."""
    named = [single] if single else []
    for entry in entries:
        address = entry.get("PrivateIpAddress") if isinstance(entry, dict) else entry
        if address and address not in named:
            named.append(address)
    return named


@PATCHES.around(Subnet, "request_ip")
def requested_address(original: Original, subnet: Any, ip: str, instance: Any) -> None:
    """EC2 answers InvalidIPAddress.InUse for a taken address; moto broke (HTTP 500).

    The interfaces tell which addresses are taken. moto's own list of them is not used: it lacked
    interfaces that were created before their instance.
    """
    del original, instance
    check_free(subnet, [ip])


@PATCHES.around(Subnet, "get_available_subnet_ip")
def available_address(original: Original, subnet: Any, instance: Any) -> str:
    """EC2 never gives out an address that an interface holds; moto did."""
    del original, instance
    return first_free(subnet, 1)[0]


@PATCHES.around(NetworkInterfaceBackend, "create_network_interface")
def unique_addresses(
    original: Original,
    backend: Any,
    subnet: Any,
    private_ip_address: Any = None,
    private_ip_addresses: list[Any] | None = None,
    group_ids: list[str] | None = None,
    *positional: Any,
    **keywords: Any,
) -> Any:
    """In EC2 one interface of a subnet holds an address; in moto any number of interfaces did.

    An interface that names no address, or only a number of them, gets free ones. moto chose them at
    random, and the choice could be the network's own address or one in use.
    """
    subnet = backend.get_subnet(subnet) if isinstance(subnet, str) else subnet
    wanted = requested(private_ip_address, private_ip_addresses or [])
    check_free(subnet, [*wanted, *(keywords.get("ipv6_addresses") or [])])
    further = int(keywords.pop("secondary_ips_count", None) or 0)
    if not wanted:
        private_ip_address, *more = first_free(subnet, 1 + further)
        addresses = [private_ip_address, *more]
        private_ip_addresses = [{"PrivateIpAddress": a, "Primary": a == addresses[0]} for a in addresses]
    return original(
        backend,
        subnet,
        private_ip_address,
        private_ip_addresses,
        group_ids,
        *positional,
        **keywords,
    )
