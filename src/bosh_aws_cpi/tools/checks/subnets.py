"""The subnets of manual networks: the Director's rules for their addresses, and those that AWS keeps.

Rules of BOSH: deployment_plan/manual_network_subnet.rb.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address

from bosh_aws_cpi.tools.checks.cloud_config import refused
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.ranges import (
    AWS_FIRST,
    AnyNetwork,
    Range,
    aws_addresses,
    contains,
    is_address,
    overlap,
    range_of,
    ranges_of,
)
from bosh_aws_cpi.tools.findings import Finding, Severity


def manual_subnet(subnet: Node, *, is_managed: bool) -> Iterator[Finding]:
    """The range, and the addresses in it."""
    for key in ("range", "gateway"):
        if subnet.get(key) is None and not is_managed:
            yield refused(subnet, f"has no {key}")
    node = subnet.get("range")
    if node is None or node.is_unknown:
        return
    whole = range_of(node.value)
    if whole is None or whole.num_addresses == 1:
        yield refused(node, f"'{node.value}' is not a range of addresses in CIDR notation")
        return
    yield from _gateway(subnet, whole)
    reserved, wrong = ranges_of(subnet.get("reserved"))
    static, wrong_too = ranges_of(subnet.get("static"))
    yield from (*wrong, *wrong_too)
    for each in (*reserved, *static):
        if not all(contains(whole, one) for one in each.networks):
            yield refused(each.node, f"'{each.node.value}' is not within range {whole}")
    kept = [one for each in reserved for one in each.networks]
    for each in static:
        if any(overlap(one, other) for one in each.networks for other in kept):
            yield refused(each.node, f"static '{each.node.value}' is among the reserved addresses")
    if not any(subnet.at(key).is_unknown or [*subnet.at(key).variables()] for key in ("reserved", "static")):
        yield from _of_aws(whole, kept, static, node)


def _of_aws(
    whole: AnyNetwork, reserved: Sequence[AnyNetwork], static: Sequence[Range], node: Node
) -> Iterator[Finding]:
    """The addresses that AWS keeps must not be given to VMs.

    The Director itself keeps the network's first and last address, and the gateway.
    """
    kept = aws_addresses(whole)
    for each in static:
        if any(overlap(one, other) for one in each.networks for other in kept):
            what = f"static '{each.node.value}' is one of the addresses that AWS keeps: {_said(whole)}"
            yield Finding(Severity.ERROR, what, "Use another address", each.node.place, "AWS")
    open_ones = [one for one in kept[2:4] if not any(overlap(one, other) for other in reserved)]
    if open_ones and not static_covers(static, open_ones):
        first, last = open_ones[0].network_address, open_ones[-1].network_address
        listed = str(first) if first == last else f"{first}-{last}"
        what = f"AWS keeps {listed}, which is not reserved: a VM that BOSH gives it can't be created"
        yield Finding(Severity.ERROR, what, f"Add to reserved: {listed}", node.place, "AWS")


def static_covers(static: Sequence[Range], addresses: Sequence[AnyNetwork]) -> bool:
    """Whether the addresses are static, and so given to VMs only by name."""
    return all(any(overlap(one, other) for each in static for other in each.networks) for one in addresses)


def _said(whole: AnyNetwork) -> str:
    return f"{whole[0]}-{whole[AWS_FIRST - 1]} and {whole[-1]}"


def _gateway(subnet: Node, whole: AnyNetwork) -> Iterator[Finding]:
    node = subnet.get("gateway")
    if node is None or node.is_unknown:
        return
    if not is_address(node.value):
        yield refused(node, f"'{node.value}' is not an IP address")
        return
    address = ip_address(node.value)
    if address not in whole:
        yield refused(node, f"{address} is not within range {whole}")
    elif address in {whole[0], whole[-1]}:
        yield refused(node, f"{address} is the first or the last address of range {whole}")
    elif address != whole[1]:
        what = f"{address} is not AWS's router, which has the address {whole[1]} in a subnet {whole}"
        yield Finding(Severity.WARNING, what, f"Use {whole[1]}", node.place, "AWS")
