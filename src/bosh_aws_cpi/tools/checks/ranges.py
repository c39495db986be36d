"""Ranges of addresses, as the Director reads them, and the addresses that AWS keeps in each subnet. Pure.

The Director's reading is that of BOSH, ip_util.rb and ip_addr_or_cidr.rb.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    collapse_addresses,
    ip_address,
    ip_network,
    summarize_address_range,
)
from typing import Any, Final

from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.rules import refused
from bosh_aws_cpi.tools.findings import Finding, Severity

AnyAddress = IPv4Address | IPv6Address
AnyNetwork = IPv4Network | IPv6Network
AWS_FIRST: Final = 4
"""AWS keeps the first four addresses and the last one of each subnet, for IPv4 and for IPv6 (VPC user guide,
"Subnet CIDR blocks")."""


@dataclass(frozen=True)
class Range:
    """One of the address ranges in a list, as blocks: the Director divides FIRST-LAST as `ipaddress` does."""

    node: Node
    networks: tuple[AnyNetwork, ...]


def ranges_of(node: Node | None) -> tuple[list[Range], list[Finding]]:
    """The readable ranges of a list, or of a single text, and what the Director can't read."""
    found, wrong = [], []
    for each in _flat(node) if node is not None else ():
        networks = parsed(each.value) if isinstance(each.value, str) else None
        if networks is None:
            wrong.append(refused(each, f"'{each.value}' is neither an address nor a range"))
        elif not networks:
            what = f"'{each.value}' contains no address: its last one comes before its first one"
            wrong.append(Finding(Severity.WARNING, what, "Exchange them", each.place, "Director"))
        else:
            found.append(Range(each, networks))
    return found, wrong


def _flat(node: Node) -> Iterator[Node]:
    """The values of nested lists, without null and variables."""
    if isinstance(node.value, list):
        for entry in node.entries():
            yield from _flat(entry)
    elif node.value is not None and not node.is_unknown:
        yield node


def parsed(text: str) -> tuple[AnyNetwork, ...] | None:
    """An address, "FIRST-LAST" or a range in CIDR notation, as blocks; None when it is none of them."""
    parts = [part.strip() for part in text.split("-")]
    try:
        if len(parts) == 1:
            return (ip_network(parts[0], strict=False),)
        first, last = (ip_address(part) for part in parts)
        return tuple(summarize_address_range(first, last)) if first <= last else ()  # type: ignore[operator]  # of two versions: TypeError
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


def aws_addresses(whole: AnyNetwork) -> list[AnyNetwork]:
    """The addresses of a subnet that AWS keeps: the first four and the last."""
    first = [ip_network(whole[index]) for index in range(min(AWS_FIRST, whole.num_addresses))]
    return [*first, ip_network(whole[-1])]


def within(part: AnyNetwork, whole: AnyNetwork) -> bool:
    """Whether all addresses of a range are in another."""
    return whole.version == part.version and part.subnet_of(whole)  # type: ignore[arg-type]  # of one version


def overlap(first: AnyNetwork, second: AnyNetwork) -> bool:
    """Whether two ranges have an address in common."""
    return first.version == second.version and first.overlaps(second)


def overlaps(first: AnyNetwork, others: Iterable[AnyNetwork]) -> bool:
    """Whether a range has an address in common with one of others."""
    return any(overlap(first, other) for other in others)


def number_outside(whole: AnyNetwork, taken: Sequence[AnyNetwork]) -> int:
    """The number of a range's addresses that are in no other range."""
    inside: list[Any] = [each for each in taken if within(each, whole)]
    held: list[AnyNetwork] = list(collapse_addresses(inside))
    return whole.num_addresses - sum(each.num_addresses for each in held)
