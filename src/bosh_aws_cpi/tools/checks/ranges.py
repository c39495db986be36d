"""Ranges of addresses, as the Director reads them, and the addresses that AWS keeps in each subnet. Pure.

AWS keeps the first four addresses and the last one of each subnet (VPC user guide, "Subnet sizing").
"""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network, summarize_address_range
from typing import Final

from bosh_aws_cpi.tools.checks.cloud_config import refused, unlike
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding

AnyNetwork = IPv4Network | IPv6Network
AWS_FIRST: Final = 4


@dataclass(frozen=True)
class Range:
    """One of the address ranges in a list."""

    node: Node
    networks: tuple[AnyNetwork, ...]


def aws_addresses(whole: AnyNetwork) -> list[AnyNetwork]:
    """The addresses of a subnet that AWS keeps: the first four and the last."""
    first = [ip_network(whole[index]) for index in range(min(AWS_FIRST, whole.num_addresses))]
    return [*first, ip_network(whole[-1])]


def ranges_of(node: Node | None) -> tuple[list[Range], list[Finding]]:
    """The readable ranges of a list, or of a single text, and what can't be read."""
    if node is None or node.is_unknown:
        return [], []
    if not isinstance(node.value, list | str):
        return [], list(filter(None, [unlike(node, list, "a list")]))
    found, wrong = [], []
    for each in node.entries() if isinstance(node.value, list) else [node]:
        if each.is_unknown:
            continue
        if networks := _parsed(each.value):
            found.append(Range(each, networks))
        else:
            wrong.append(refused(each, f"'{each.value}' is neither an address nor a range"))
    return found, wrong


def _parsed(text: object) -> tuple[AnyNetwork, ...]:
    """An address, "FIRST-LAST" or a range in CIDR notation; empty when it is none of them."""
    parts = [part.strip() for part in str(text).split("-")]
    try:
        if len(parts) == 1:
            return (ip_network(parts[0], strict=False),)
        first, last = (ip_address(part) for part in parts)
        return tuple(summarize_address_range(first, last))
    except (ValueError, TypeError):
        return ()


def range_of(text: object) -> AnyNetwork | None:
    """A range in CIDR notation, read; None for anything else."""
    try:
        return ip_network(text, strict=False) if isinstance(text, str) and "/" in text else None
    except ValueError:
        return None


def is_address(text: object) -> bool:
    """Whether a text is an address."""
    try:
        ip_address(str(text))
    except ValueError:
        return False
    return True


def contains(whole: AnyNetwork, part: AnyNetwork) -> bool:
    """Whether a range contains another."""
    return whole.version == part.version and part.subnet_of(whole)  # type: ignore[arg-type]  # of one version


def overlap(first: AnyNetwork, second: AnyNetwork) -> bool:
    """Whether two ranges have an address in common."""
    return first.version == second.version and first.overlaps(second)
