"""The subnets of manual networks: the Director's rules for their addresses.

Rules of BOSH: deployment_plan/manual_network_subnet.rb.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from typing import Final

from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.ranges import (
    AnyNetwork,
    Blocks,
    Range,
    address_of,
    range_of,
    ranges_of,
    within,
)
from bosh_aws_cpi.tools.checks.bosh.rules import DIRECTOR, refused, text_of, unlike
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

CIDR: Final = "Write it like 10.0.1.0/24"
COMPARES_BLOCKS: Final = "282.0.10"
"""The version since which the Director compares blocks of static and reserved addresses."""
WITHIN: Final = "Use an address within the range"


class Addresses(Record):
    """The addresses of a manual subnet; those that can't be read are left out.

    Attributes:
        whole: The range.
        restricted: What the Director gives to no VM: gateway, first and last address, reserved ones.
        static: What it gives only to instances that name the address.
        reserved: What the file reserves; `restricted` has it too.
        wrong: What it can't read.
        is_complete: Whether all of it is known: nothing is a variable.
    """

    whole: AnyNetwork
    restricted: Sequence[AnyNetwork]
    static: Sequence[Range]
    reserved: Sequence[Range]
    wrong: Sequence[Finding]
    is_complete: bool

    @classmethod
    def of(cls, subnet: Node) -> "Addresses | None":
        """Read them; None when the range can't be read."""
        whole = range_of(text_of(subnet.get("range")))
        if whole is None or whole.num_addresses == 1:
            return None
        reserved, wrong = ranges_of(subnet.get("reserved"))
        static, wrong_too = ranges_of(subnet.get("static"))
        gateway = address_of(subnet.value.get("gateway"))
        restricted = [ip_network(each) for each in (gateway, whole[0], whole[-1]) if each is not None]
        restricted += [one for each in reserved for one in each.networks]
        is_complete = not any(subnet.at(key).has_variables for key in ("gateway", "reserved", "static"))
        return cls(whole, restricted, static, reserved, [*wrong, *wrong_too], is_complete)

    @property
    def static_blocks(self) -> list[AnyNetwork]:
        """The static addresses, as blocks."""
        return [one for each in self.static for one in each.networks]


def manual_subnet(subnet: Node) -> Iterator[Finding]:
    """Check the range of a manual network's subnet, and the addresses in it."""
    node, addresses = subnet.get("range"), Addresses.of(subnet)
    if node is None or node.is_unknown or unlike(node, str):
        return
    if addresses is None:
        yield refused(node, f"'{node.value}' is not a range of addresses in CIDR notation", CIDR)
        return
    yield from gateway(subnet, addresses.whole)
    yield from addresses.wrong
    yield from _reserved(addresses)
    yield from _static(addresses)
    yield from _prefix(subnet, addresses.whole)


def _reserved(addresses: Addresses) -> Iterator[Finding]:
    for each in addresses.reserved:
        if not all(within(one, addresses.whole) for one in each.networks):
            what = f"'{each.node.value}' is not within range {addresses.whole}"
            yield refused(each.node, what, WITHIN)


def _static(addresses: Addresses) -> Iterator[Finding]:
    """Since `COMPARES_BLOCKS` the Director refuses a block that is within a reserved one."""
    restricted = Blocks(addresses.restricted)
    for each in addresses.static:
        shown = f"static '{each.node.value}'"
        if not all(within(one, addresses.whole) for one in each.networks):
            what = f"'{each.node.value}' is not within range {addresses.whole}"
            yield refused(each.node, what, WITHIN)
        elif any(map(restricted.contain, each.networks)):
            what = f"{shown} is reserved, or the range's gateway, first or last address"
            yield refused(each.node, what, "Use another address, or remove it from reserved")
        elif any(map(restricted.overlap, each.networks)):
            what = f"{shown} contains reserved addresses: Directors before {COMPARES_BLOCKS} refuse it"
            yield Finding(
                Severity.WARNING, what, "Take them out of one of the lists", each.node.place, DIRECTOR
            )


def delegated_length(subnet: Node, whole: AnyNetwork) -> int | None:
    """The length of the prefix that each VM gets; None for a single address, or what can't be read."""
    text = text_of(subnet.get("prefix"))
    return int(text) if text.isdecimal() and int(text) != whole.max_prefixlen else None


def _prefix(subnet: Node, whole: AnyNetwork) -> Iterator[Finding]:
    node, length = subnet.get("prefix"), delegated_length(subnet, whole)
    if node is not None and not node.is_unknown and not text_of(node).isdecimal():
        yield refused(node, f"'{node.value}' is not the length of a prefix", "Give a whole number")
    if node is None or length is None:
        return
    if length < whole.prefixlen:
        what = f"a VM's prefix /{length} is larger than the range {whole}"
        yield refused(node, what, "Use a longer prefix, or a larger range")


def gateway(subnet: Node, whole: AnyNetwork, source: str = DIRECTOR) -> Iterator[Finding]:
    """Check the gateway of a subnet; bosh-cli has the same rules (deployment/manifest/validator.go)."""
    node = subnet.get("gateway")
    if node is None or node.is_unknown or unlike(node, str):
        return
    address = address_of(node.value)
    if address is None:
        yield refused(node, f"'{node.value}' is not an IP address", WITHIN, source)
    elif address not in whole:
        yield refused(node, f"{address} is not within range {whole}", WITHIN, source)
    elif address in {whole[0], whole[-1]}:
        what = f"{address} is the first or the last address of range {whole}"
        yield refused(node, what, f"Use {whole[1]}", source)
