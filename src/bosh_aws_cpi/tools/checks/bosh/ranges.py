"""Ranges of addresses, as BOSH reads them; what can't be read, BOSH refuses. Pure."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network, summarize_address_range

from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.documents import Node

AnyAddress = IPv4Address | IPv6Address
AnyNetwork = IPv4Network | IPv6Network


class Range(Record):
    """One of the address ranges in a list, as blocks."""

    node: Node
    networks: tuple[AnyNetwork, ...]


def ranges_of(node: Node | None) -> list[Range]:
    """The readable ranges of a list, which may be nested, or of a single text."""
    if node is not None and isinstance(node.value, list):
        return [each for entry in node.entries() for each in ranges_of(entry)]
    networks = parsed(node.value) if node is not None and isinstance(node.value, str) else None
    return [Range(node, networks)] if node is not None and networks is not None else []


def parsed(text: str) -> tuple[AnyNetwork, ...] | None:
    """An address, "FIRST-LAST" or a range in CIDR notation, as blocks; None when it is none of them.

    FIRST and LAST may have their full prefix, such as /32 (BOSH: string_to_range in ip_util.rb).
    """
    parts = [part.strip() for part in text.split("-")]
    try:
        if len(parts) == 1:
            return (ip_network(parts[0], strict=False),)
        first, last = map(address_of, parts)
        return tuple(summarize_address_range(first, last)) if first <= last else ()  # type: ignore[operator,arg-type]  # of two versions, or None: TypeError
    except (ValueError, TypeError):
        return None


def range_of(text: object) -> AnyNetwork | None:
    """A range in CIDR notation, read; None for anything else."""
    try:
        return ip_network(text, strict=False) if isinstance(text, str) and "/" in text else None
    except ValueError:
        return None


def address_of(text: object) -> AnyAddress | None:
    """An address, read; None for anything else. The Director also takes one with its full prefix, "/32"."""
    try:
        network = ip_network(text, strict=False) if isinstance(text, str) else None
    except ValueError:
        return None
    return network.network_address if network is not None and network.num_addresses == 1 else None


def within(part: AnyNetwork, whole: AnyNetwork) -> bool:
    """Whether all addresses of a range are in another."""
    return whole.version == part.version and part.subnet_of(whole)  # type: ignore[arg-type]  # of one version


def overlaps(first: AnyNetwork, others: Iterable[AnyNetwork]) -> bool:
    """Whether a range has an address in common with one of others."""
    return any(map(first.overlaps, others))
