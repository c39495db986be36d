"""The addresses of subnets in AWS: those that AWS keeps, its router's, and prefixes. Pure."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final

from bosh_aws_cpi.plan.subnets import KEPT_FIRST
from bosh_aws_cpi.properties.network import DELEGATED_LENGTHS
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of
from bosh_aws_cpi.tools.checks.bosh.ranges import AnyNetwork, address_of, number_outside, overlaps
from bosh_aws_cpi.tools.checks.bosh.rules import hashes, renamed
from bosh_aws_cpi.tools.checks.bosh.shapes import NETWORKS
from bosh_aws_cpi.tools.checks.bosh.subnets import Addresses, delegated_length
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

_ROUTER: Final = 1
"""The index of the address that AWS's router has in a subnet (VPC user guide, "Subnet CIDR blocks")."""


def findings(config: CloudConfig) -> Iterator[Finding]:
    """Check the addresses of all manual networks."""
    for network in config.lists["networks"]:
        if type_of(network) == "manual":
            for subnet in hashes(network.get("subnets")):
                addresses = None if config.is_of_others(subnet) else Addresses.of(subnet)
                if addresses is not None:
                    yield from _subnet(subnet, addresses, is_managed=bool(network.value.get("managed")))


def _subnet(subnet: Node, addresses: Addresses, *, is_managed: bool) -> Iterator[Finding]:
    whole = addresses.whole
    yield from router(subnet, whole)
    length = delegated_length(subnet, whole)
    if length is not None and length >= whole.prefixlen and length != DELEGATED_LENGTHS[whole.version]:
        what = f"EC2 delegates no prefix /{length} of IPv{whole.version}"
        remedy = f"Use {DELEGATED_LENGTHS[whole.version]}, or remove prefix"
        yield Finding(Severity.ERROR, what, remedy, subnet.at("prefix").place)
    is_given_singly = not is_managed and not length
    if is_given_singly and addresses.is_complete and not addresses.wrong:
        yield from _given_by_bosh(addresses, subnet)


def router(subnet: Node, whole: AnyNetwork) -> Iterator[Finding]:
    """A gateway that is not AWS's router, although BOSH takes it."""
    address = address_of(subnet.value.get("gateway"))
    if address is None or address not in whole or address in {whole[0], whole[-1], whole[_ROUTER]}:
        return
    if whole.version == 4:  # noqa: PLR2004 - IPv4
        what = f"{address} is not AWS's router, which has the address {whole[_ROUTER]} in a subnet {whole}"
        yield Finding(Severity.WARNING, what, f"Use {whole[_ROUTER]}", subnet.at("gateway").place, "AWS")


def _given_by_bosh(addresses: Addresses, subnet: Node) -> Iterator[Finding]:
    """A VM that gets an address which AWS keeps can't be created.

    The Director gives the first address that is not reserved; the range's first and last one, and the
    gateway, are. If the gateway isn't AWS's router, the range may be only a part of a subnet in AWS.
    """
    whole, kept = addresses.whole, aws_addresses(addresses.whole)
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
    shape = NETWORKS["manual"].keys["subnets"].entries
    own = renamed(subnet, "reserved", shape) if shape is not None and subnet.get("reserved") is None else ""
    yield Finding(severity, what, own or f"Add to reserved: {listed}", subnet.at("range").place, "AWS")


def aws_addresses(whole: AnyNetwork) -> list[AnyNetwork]:
    """The addresses of a subnet that AWS keeps: the first four and the last."""
    first = [ip_network(whole[index]) for index in range(min(KEPT_FIRST, whole.num_addresses))]
    return [*first, ip_network(whole[-1])]


def kept_by_aws(whole: AnyNetwork) -> str:
    """The addresses of a subnet that AWS keeps, for messages."""
    return f"{whole[0]}-{whole[KEPT_FIRST - 1]} and {whole[-1]}"


def free(addresses: Addresses) -> int:
    """How many addresses the Director can give to instances that name none."""
    kept = aws_addresses(addresses.whole)
    return number_outside(addresses.whole, [*addresses.restricted, *addresses.static_blocks, *kept])
