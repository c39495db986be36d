"""The networks of a cloud config: the Director's rules for ranges, and the addresses that AWS keeps.

Rules of BOSH: deployment_plan/manual_network.rb, manual_network_subnet.rb, dynamic_network.rb, subnet.rb. AWS
keeps the first four addresses and the last one of each subnet (VPC user guide, "Subnet sizing").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network, summarize_address_range
from itertools import combinations
from typing import Final

from bosh_aws_cpi.tools.checks.cloud_config import (
    NETWORK_TYPES,
    CloudConfig,
    name_of,
    refused,
    unknown_key,
    unlike,
    zones_of,
)
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

AnyNetwork = IPv4Network | IPv6Network
_AWS_FIRST: Final = 4
_COMMON: Final = ("name", "type", "subnets")
_OF_SUBNET: Final = ("az", "azs", "dns", "prefix", "cloud_properties")
_KEYS: Final = {
    "manual": (
        (*_COMMON, "managed"),
        (*_OF_SUBNET, "name", "range", "gateway", "reserved", "static", "netmask_bits"),
    ),
    "dynamic": ((*_COMMON, "dns", "cloud_properties"), (*_OF_SUBNET, "name")),
    "vip": ((*_COMMON, "cloud_properties"), (*_OF_SUBNET, "static", "name")),
}
"""The keys of a network and of its subnets, by type."""


@dataclass(frozen=True)
class Range:
    """One of the address ranges in a list."""

    node: Node
    networks: tuple[AnyNetwork, ...]


def findings(config: CloudConfig) -> Iterator[Finding]:
    """Check all networks of a cloud config."""
    if not config.lists["networks"]:
        return
    zones = set(config.names("azs"))
    used: set[str] = set()
    for network in config.lists["networks"]:
        yield from _network(network, zones)
        subnets = network.get("subnets")
        for subnet in subnets.entries() if subnets else ():
            used.update(zones_of(subnet) or ())
    yield from _zones_without_subnet(config, used)


def type_of(network: Node) -> str:
    """A network's type; empty when it isn't known."""
    node = network.get("type")
    if node is None:
        return "manual"
    return node.value if node.value in NETWORK_TYPES else ""


def _network(network: Node, zones: set[str]) -> Iterator[Finding]:
    kind = type_of(network)
    if not kind:
        wrong_type = network.at("type")
        if not wrong_type.is_unknown:
            what = f"'{wrong_type.value}' is no network type"
            yield refused(wrong_type, what, f"Use {', '.join(NETWORK_TYPES)}")
        return
    own, of_subnet = _KEYS[kind]
    yield from _unknown(network, own)
    subnets = network.get("subnets")
    if subnets is None and kind == "manual":
        yield refused(network, "a manual network needs subnets")
    if wrong := unlike(subnets, list, "a list"):
        yield wrong
        return
    entries = [each for each in (subnets.entries() if subnets else ()) if isinstance(each.value, dict)]
    for subnet in entries:
        yield from _unknown(subnet, of_subnet)
        yield from _zones(subnet, zones)
        yield from _dns(subnet)
        if kind == "manual":
            yield from _manual_subnet(subnet, is_managed=bool(network.value.get("managed")))
    if kind == "dynamic" and entries:
        for key in ("dns", "cloud_properties"):
            if node := network.get(key):
                yield refused(node, f"{key} is not allowed beside subnets", "Move it into the subnets")
    yield from _dns(network)
    yield from _together(entries)


def _unknown(node: Node, known: Sequence[str]) -> Iterator[Finding]:
    for entry in node.entries():
        if (key := str(entry.route[-1])) not in known:
            yield unknown_key(entry, key, known)


def _zones(subnet: Node, zones: set[str]) -> Iterator[Finding]:
    if subnet.get("az") and subnet.get("azs"):
        yield refused(subnet, "has both az and azs", "Keep one of them")
    azs = subnet.get("azs")
    if azs is not None and azs.value == []:
        yield refused(azs, "must not be empty")
    single = subnet.get("az")
    for node in [*(azs.entries() if azs else ()), *([single] if single else ())]:
        if not node.is_unknown and str(node.value) not in zones:
            yield refused(node, f"'{node.value}' is not in azs")


def _zones_without_subnet(config: CloudConfig, used: set[str]) -> Iterator[Finding]:
    """A zone that no subnet names can't have VMs, unless a network works in all zones."""
    for network in config.lists["networks"]:
        subnets = network.get("subnets")
        entries = subnets.entries() if subnets else []
        if type_of(network) != "vip" and (not entries or any(not zones_of(each) for each in entries)):
            return
    for zone in config.lists["azs"]:
        if name_of(zone) not in used:
            what = f"no subnet is in zone '{name_of(zone)}': no VM can be deployed there"
            yield Finding(Severity.WARNING, what, "Add a subnet, or remove the zone", zone.place, "Director")


def _dns(node: Node) -> Iterator[Finding]:
    servers = node.get("dns")
    if wrong := unlike(servers, list, "a list"):
        yield wrong
        return
    for each in servers.entries() if servers else ():
        if not each.is_unknown and not _is_address(each.value):
            yield refused(each, f"'{each.value}' is not an IP address")


def _manual_subnet(subnet: Node, *, is_managed: bool) -> Iterator[Finding]:
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
        if not all(_contains(whole, one) for one in each.networks):
            yield refused(each.node, f"'{each.node.value}' is not within range {whole}")
    kept = [one for each in reserved for one in each.networks]
    for each in static:
        if any(_overlap(one, other) for one in each.networks for other in kept):
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
        if any(_overlap(one, other) for one in each.networks for other in kept):
            what = f"static '{each.node.value}' is one of the addresses that AWS keeps: {_said(whole)}"
            yield Finding(Severity.ERROR, what, "Use another address", each.node.place, "AWS")
    open_ones = [one for one in kept[2:4] if not any(_overlap(one, other) for other in reserved)]
    if open_ones and not static_covers(static, open_ones):
        first, last = open_ones[0].network_address, open_ones[-1].network_address
        listed = str(first) if first == last else f"{first}-{last}"
        what = f"AWS keeps {listed}, which is not reserved: a VM that BOSH gives it can't be created"
        yield Finding(Severity.ERROR, what, f"Add to reserved: {listed}", node.place, "AWS")


def static_covers(static: Sequence[Range], addresses: Sequence[AnyNetwork]) -> bool:
    """Whether the addresses are static, and so given to VMs only by name."""
    return all(any(_overlap(one, other) for each in static for other in each.networks) for one in addresses)


def aws_addresses(whole: AnyNetwork) -> list[AnyNetwork]:
    """The addresses of a subnet that AWS keeps: the first four and the last."""
    first = [ip_network(whole[index]) for index in range(min(_AWS_FIRST, whole.num_addresses))]
    return [*first, ip_network(whole[-1])]


def _said(whole: AnyNetwork) -> str:
    return f"{whole[0]}-{whole[_AWS_FIRST - 1]} and {whole[-1]}"


def _gateway(subnet: Node, whole: AnyNetwork) -> Iterator[Finding]:
    node = subnet.get("gateway")
    if node is None or node.is_unknown:
        return
    if not _is_address(node.value):
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


def _together(subnets: Sequence[Node]) -> Iterator[Finding]:
    """The subnets of a network must not overlap, and all must name their zones, or none."""
    known = [(each, found) for each in subnets if (found := range_of(each.value.get("range")))]
    for (_, first), (other, second) in combinations(known, 2):
        if _overlap(first, second):
            yield refused(other.at("range"), f"{second} overlaps {first}, another subnet of the network")
    zoned = [zones_of(each) for each in subnets]
    if any(each == [] for each in zoned) and any(zoned):
        yield refused(subnets[zoned.index([])], "names no az, but other subnets of the network do")


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


def _is_address(text: object) -> bool:
    try:
        ip_address(str(text))
    except ValueError:
        return False
    return True


def _contains(whole: AnyNetwork, part: AnyNetwork) -> bool:
    return whole.version == part.version and part.subnet_of(whole)  # type: ignore[arg-type]  # of one version


def _overlap(first: AnyNetwork, second: AnyNetwork) -> bool:
    return first.version == second.version and first.overlaps(second)
