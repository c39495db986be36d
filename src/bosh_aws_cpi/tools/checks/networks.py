"""The networks of a cloud config: the Director's rules.

Rules of BOSH: deployment_plan/manual_network.rb, dynamic_network.rb, subnet.rb.
"""

from collections.abc import Iterator, Sequence
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
from bosh_aws_cpi.tools.checks.ranges import is_address, overlap, range_of
from bosh_aws_cpi.tools.checks.subnets import manual_subnet
from bosh_aws_cpi.tools.findings import Finding, Severity

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
            yield from manual_subnet(subnet, is_managed=bool(network.value.get("managed")))
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
        if not each.is_unknown and not is_address(each.value):
            yield refused(each, f"'{each.value}' is not an IP address")


def _together(subnets: Sequence[Node]) -> Iterator[Finding]:
    """The subnets of a network must not overlap, and all must name their zones, or none."""
    known = [(each, found) for each in subnets if (found := range_of(each.value.get("range")))]
    for (_, first), (other, second) in combinations(known, 2):
        if overlap(first, second):
            yield refused(other.at("range"), f"{second} overlaps {first}, another subnet of the network")
    zoned = [zones_of(each) for each in subnets]
    if any(each == [] for each in zoned) and any(zoned):
        yield refused(subnets[zoned.index([])], "names no az, but other subnets of the network do")
