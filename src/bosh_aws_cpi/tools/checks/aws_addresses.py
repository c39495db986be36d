"""The addresses of subnets in AWS: those that AWS keeps, its router's, and prefixes. Pure."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final

from bosh_aws_cpi.plan.subnets import KEPT_FIRST
from bosh_aws_cpi.properties.network import DELEGATED_LENGTHS
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of
from bosh_aws_cpi.tools.checks.bosh.ranges import AnyNetwork, address_of, overlaps, range_of, ranges_of
from bosh_aws_cpi.tools.checks.bosh.rules import hashes, text_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

_ROUTER: Final = 1
"""The index of the address that AWS's router has in a subnet (VPC user guide, "Subnet CIDR blocks")."""
_ADDRESSES: Final = ("gateway", "reserved", "static")


def findings(config: CloudConfig) -> Iterator[Finding]:
    """Check the addresses of all manual networks."""
    for network in config.lists["networks"]:
        for subnet in hashes(network.get("subnets")) if type_of(network) == "manual" else ():
            whole = None if config.is_of_others(subnet) else range_of(text_of(subnet.get("range")))
            if whole is not None and whole.num_addresses > 1:
                yield from _router(subnet, whole)
                yield from _of_subnet(subnet, whole, is_managed=bool(network.value.get("managed")))


def of_create_env(network: Node, addresses: Node | None) -> Iterator[Finding]:
    """Check the subnet of a manual network of create-env, and the addresses that its VM has there."""
    for subnet in hashes(network.get("subnets")):
        if (whole := range_of(text_of(subnet.get("range")))) is not None:
            yield from _router(subnet, whole)
            yield from _kept(addresses, whole, Severity.ERROR, "Use another address")


def _router(subnet: Node, whole: AnyNetwork) -> Iterator[Finding]:
    """A gateway that is not AWS's router, although BOSH takes it."""
    address = address_of(subnet.value.get("gateway"))
    if address is None or address not in whole or address in {whole[0], whole[-1], whole[_ROUTER]}:
        return
    if whole.version == 4:  # noqa: PLR2004 - IPv4
        what = f"{address} is not AWS's router, which has the address {whole[_ROUTER]} in a subnet {whole}"
        yield Finding(Severity.WARNING, what, f"Use {whole[_ROUTER]}", subnet.at("gateway").place, "AWS")


def _of_subnet(subnet: Node, whole: AnyNetwork, *, is_managed: bool) -> Iterator[Finding]:
    prefix, delegated = text_of(subnet.get("prefix")), str(DELEGATED_LENGTHS[whole.version])
    is_single = prefix in {"", str(whole.max_prefixlen)}
    if not is_single and prefix != delegated:
        what = f"EC2 delegates only prefixes /{delegated} of IPv{whole.version}"
        yield Finding(Severity.ERROR, what, f"Use {delegated}, or remove prefix", subnet.at("prefix").place)
    is_known = not any(subnet.at(key).has_variables for key in _ADDRESSES)
    if not is_managed and is_single and is_known:
        yield from _kept(subnet.get("static"), whole, Severity.WARNING, "Give them to no instance")
        yield from _given_by_bosh(subnet, whole)


def _kept(addresses: Node | None, whole: AnyNetwork, severity: Severity, remedy: str) -> Iterator[Finding]:
    """Static addresses that AWS keeps."""
    for each in ranges_of(addresses):
        if any(overlaps(one, aws_addresses(whole)) for one in each.networks):
            kept = f"{whole[0]}-{whole[KEPT_FIRST - 1]} and {whole[-1]}"
            what = f"static '{each.node.value}' contains addresses that AWS keeps: {kept}"
            yield Finding(severity, what, remedy, each.node.place, "AWS")


def _given_by_bosh(subnet: Node, whole: AnyNetwork) -> Iterator[Finding]:
    """A VM that gets an address which AWS keeps can't be created.

    The Director gives the first address that is not reserved; the range's first and last one, and the
    gateway, are. If the gateway isn't AWS's router, the range may be only a part of a subnet in AWS.
    """
    gateway = address_of(subnet.value.get("gateway"))
    taken = [ip_network(each) for each in (gateway, whole[0], whole[-1]) if each is not None]
    for key in ("reserved", "static"):
        taken += [one for each in ranges_of(subnet.get(key)) for one in each.networks]
    if given := [one for one in aws_addresses(whole) if not overlaps(one, taken)]:
        first, last = given[0].network_address, given[-1].network_address
        listed = str(first) if first == last else f"{first}-{last}"
        severity = Severity.ERROR if gateway == whole[_ROUTER] else Severity.WARNING
        what = f"AWS keeps {listed}, which is not reserved: a VM that BOSH gives it can't be created"
        yield Finding(severity, what, f"Add to reserved: {listed}", subnet.at("range").place, "AWS")


def aws_addresses(whole: AnyNetwork) -> list[AnyNetwork]:
    """The addresses of a subnet that AWS keeps: the first four and the last."""
    first = [ip_network(whole[index]) for index in range(min(KEPT_FIRST, whole.num_addresses))]
    return [*first, ip_network(whole[-1])]
