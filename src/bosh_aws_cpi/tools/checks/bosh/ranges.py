"""Ranges of addresses, as the Director reads them. Pure.

The Director's reading is that of BOSH, ip_util.rb and ip_addr_or_cidr.rb.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    collapse_addresses,
    ip_network,
    summarize_address_range,
)
from typing import Any, Final

from bosh_aws_cpi.plan.subnets import overlap
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.rules import refused
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

AnyAddress = IPv4Address | IPv6Address
AnyNetwork = IPv4Network | IPv6Network
_VERSIONS: Final = (4, 6)
_FORMS: Final = "Write 10.0.1.5, 10.0.1.5-10.0.1.9 or 10.0.1.0/28"


class Range(Record):
    """One of the address ranges in a list, as blocks: the Director divides FIRST-LAST as `ipaddress` does."""

    node: Node
    networks: tuple[AnyNetwork, ...]


class Blocks:
    """Blocks of addresses that can be searched: a large cloud config has thousands of them.

    A block in CIDR notation contains another one, or is within it, or they have no address in common. So a
    block that overlaps another one is within it, or begins before the other's last address.
    """

    def __init__(self, blocks: Iterable[AnyNetwork]) -> None:
        """Index blocks, of both versions."""
        self._known = set(blocks)
        self._lengths = sorted({(each.version, each.prefixlen) for each in self._known})
        self._first: dict[int, list[int]] = {
            version: sorted(int(each[0]) for each in self._known if each.version == version)
            for version in _VERSIONS
        }

    def contain(self, block: AnyNetwork) -> bool:
        """Whether all addresses of a block are in one of the blocks."""
        return any(
            block.supernet(new_prefix=length) in self._known
            for version, length in self._lengths
            if version == block.version and length <= block.prefixlen
        )

    def overlap(self, block: AnyNetwork) -> bool:
        """Whether a block has an address in common with one of the blocks."""
        first = self._first[block.version]
        index = bisect_left(first, int(block[0]))
        return (index < len(first) and first[index] <= int(block[-1])) or self.contain(block)


def ranges_of(node: Node | None) -> tuple[list[Range], list[Finding]]:
    """The readable ranges of a list, or of a single text, and what the Director can't read."""
    found, wrong = [], []
    for each in _flat(node) if node is not None else ():
        networks = parsed(each.value) if isinstance(each.value, str) else None
        if networks is None:
            wrong.append(refused(each, f"'{each.value}' is neither an address nor a range", _FORMS))
        elif not networks:
            what = f"'{each.value}' contains no address: its last one comes before its first one"
            wrong.append(Finding(Severity.WARNING, what, "Swap the two addresses", each.place, "Director"))
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
    return any(overlap(first, other) for other in others)


def number_outside(whole: AnyNetwork, taken: Sequence[AnyNetwork]) -> int:
    """The number of a range's addresses that are in no other range."""
    inside: list[Any] = [each for each in taken if within(each, whole)]
    held: list[AnyNetwork] = list(collapse_addresses(inside))
    return whole.num_addresses - sum(each.num_addresses for each in held)


def shared(blocks: Sequence[AnyNetwork]) -> dict[int, int]:
    """Of each block that has an address in common with an earlier one: its index, and the earlier one's."""
    found: dict[int, int] = {}
    around: list[int] = []
    for index in sorted(range(len(blocks)), key=lambda each: _order(blocks[each])):
        while around and not overlap(blocks[around[-1]], blocks[index]):
            around.pop()
        for wider in around:
            found.setdefault(max(wider, index), min(wider, index))
        around.append(index)
    return dict(sorted(found.items()))


def _order(block: AnyNetwork) -> tuple[int, int, int]:
    """A block comes before those within it."""
    return (block.version, int(block[0]), block.prefixlen)
