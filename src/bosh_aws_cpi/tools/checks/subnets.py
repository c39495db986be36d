"""The subnets of manual networks: the Director's rules for their addresses, and those that AWS keeps.

Rules of BOSH: deployment_plan/manual_network_subnet.rb.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from typing import Final

from bosh_aws_cpi.plan.subnets import KEPT_FIRST
from bosh_aws_cpi.properties.network import DELEGATED_LENGTHS
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.ranges import (
    AnyNetwork,
    Blocks,
    Range,
    address_of,
    aws_addresses,
    number_outside,
    overlaps,
    range_of,
    ranges_of,
    within,
)
from bosh_aws_cpi.tools.checks.rules import DIRECTOR, refused, text_of, unlike
from bosh_aws_cpi.tools.findings import Finding, Severity

CIDR: Final = "Write it like 10.0.1.0/24"
WITHIN: Final = "Use an address within the range"
_ROUTER: Final = 1
"""The index of the address that AWS's router has in a subnet (VPC user guide, "Subnet CIDR blocks")."""


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

    @property
    def kept_by_aws(self) -> list[AnyNetwork]:
        """What AWS keeps."""
        return aws_addresses(self.whole)

    @property
    def free(self) -> int:
        """How many addresses the Director can give to instances that name none."""
        return number_outside(self.whole, [*self.restricted, *self.static_blocks, *self.kept_by_aws])


def manual_subnet(subnet: Node, *, is_managed: bool) -> Iterator[Finding]:
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
    is_given_singly = not is_managed and not delegated_length(subnet, addresses.whole)
    if is_given_singly and addresses.is_complete and not addresses.wrong:
        yield from _of_aws(addresses, subnet)


def _reserved(addresses: Addresses) -> Iterator[Finding]:
    for each in addresses.reserved:
        if not all(within(one, addresses.whole) for one in each.networks):
            what = f"'{each.node.value}' is not within range {addresses.whole}"
            yield refused(each.node, what, WITHIN)


def _static(addresses: Addresses) -> Iterator[Finding]:
    """Since 282.0.10 the Director compares blocks: it refuses one that is within a reserved one."""
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
            what = f"{shown} contains reserved addresses: Directors before 282.0.10 refuse it"
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
    elif length != (delegated := DELEGATED_LENGTHS[whole.version]):
        what = f"EC2 delegates no prefix /{length} of IPv{whole.version}"
        yield Finding(Severity.ERROR, what, f"Use {delegated}, or remove prefix", node.place)


def _of_aws(addresses: Addresses, subnet: Node) -> Iterator[Finding]:
    """A VM that gets an address which AWS keeps can't be created.

    The Director gives the first address that is not reserved; the range's first and last one, and the
    gateway, are. If the gateway isn't AWS's router, the range may be only a part of a subnet in AWS.
    """
    whole, kept = addresses.whole, addresses.kept_by_aws
    for each in addresses.static:
        if any(overlaps(one, kept) for one in each.networks):
            what = f"static '{each.node.value}' contains addresses that AWS keeps: {kept_by_aws(whole)}"
            yield Finding(Severity.WARNING, what, "Give them to no instance", each.node.place, "AWS")
    given = [one for one in kept if not overlaps(one, [*addresses.restricted, *addresses.static_blocks])]
    if not given:
        return
    first, last = given[0].network_address, given[-1].network_address
    listed = str(first) if first == last else f"{first}-{last}"
    is_whole = address_of(subnet.value.get("gateway")) == whole[_ROUTER]
    severity = Severity.ERROR if is_whole else Severity.WARNING
    what = f"AWS keeps {listed}, which is not reserved: a VM that BOSH gives it can't be created"
    yield Finding(severity, what, f"Add to reserved: {listed}", subnet.at("range").place, "AWS")


def kept_by_aws(whole: AnyNetwork) -> str:
    """The addresses of a subnet that AWS keeps, for messages."""
    return f"{whole[0]}-{whole[KEPT_FIRST - 1]} and {whole[-1]}"


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
        yield refused(node, what, f"Use {whole[_ROUTER]}", source)
    elif whole.version == 4 and address != whole[_ROUTER]:  # noqa: PLR2004 - IPv4
        what = f"{address} is not AWS's router, which has the address {whole[_ROUTER]} in a subnet {whole}"
        yield Finding(Severity.WARNING, what, f"Use {whole[_ROUTER]}", node.place, "AWS")
