"""The networks of a cloud config: the Director's rules.

Rules of BOSH: deployment_plan/manual_network.rb, dynamic_network.rb, vip_network.rb, subnet.rb and
network_parser/name_servers_parser.rb.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from bosh_aws_cpi.tools.checks.bosh.cloud_config import (
    CloudConfig,
    type_of,
    zones_of,
)
from bosh_aws_cpi.tools.checks.bosh.ranges import address_of, range_of, ranges_of, shared
from bosh_aws_cpi.tools.checks.bosh.rules import (
    hashes,
    name_of,
    refused,
    text_of,
    unknown_keys,
    unlike,
    wrong_keys,
)
from bosh_aws_cpi.tools.checks.bosh.shapes import NETWORK, NETWORK_TYPES, NETWORKS, Shape
from bosh_aws_cpi.tools.checks.bosh.subnets import manual_subnet
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

_SINGLE: Final = 32
"""The length of the prefix that is one IPv4 address."""
_SAME_LENGTH: Final = "Use one prefix length, or put the subnet into another network"


def findings(config: CloudConfig) -> Iterator[Finding]:
    """Check all networks of a cloud config."""
    used: set[str] = set()
    for network in config.lists["networks"]:
        yield from _network(network, config)
        for subnet in hashes(network.get("subnets")):
            used.update(zones_of(subnet) or ())
    if config.lists["networks"] and "networks" not in config.open_lists:
        yield from _zones_without_subnet(config, used)


def _network(network: Node, config: CloudConfig) -> Iterator[Finding]:
    kind = type_of(network)
    if not kind:
        yield from wrong_keys(network, NETWORK)
        wrong_type = network.at("type")
        if not wrong_type.is_unknown and unlike(wrong_type, str) is None:
            what = f"'{wrong_type.value}' is not a network type"
            yield refused(wrong_type, what, f"Use {', '.join(NETWORK_TYPES)}")
        return
    shape = NETWORKS["managed" if kind == "manual" and network.value.get("managed") else kind]
    yield from unknown_keys(network, shape)
    yield from wrong_keys(network, shape)
    if unlike(network.child("subnets"), list) is None:
        yield from _of_type(network, kind, shape.keys["subnets"].entries, config)


def _of_type(network: Node, kind: str, shape: Shape | None, config: CloudConfig) -> Iterator[Finding]:
    subnets = network.get("subnets")
    entries = subnets.entries() if subnets is not None else []
    for entry in entries:
        if wrong := unlike(entry, dict):
            yield wrong
    known = hashes(subnets)
    for subnet in known:
        if shape is not None:
            yield from unknown_keys(subnet, shape)
            yield from wrong_keys(subnet, shape)
        yield from _zones(subnet, config)
        yield from _subnet(subnet, kind)
    if kind == "manual":
        yield from _together(known)
        return
    if kind == "dynamic":
        yield from _dns(network)
    if kind == "dynamic" and subnets is not None:
        for key in ("dns", "cloud_properties"):
            if (node := network.child(key)) is not None:
                yield refused(node, f"{key} is not allowed beside subnets", "Move it into the subnets")


def _subnet(subnet: Node, kind: str) -> Iterator[Finding]:
    if kind == "vip":
        yield from ranges_of(subnet.get("static"))[1]
        return
    yield from _dns(subnet)
    if kind == "manual":
        yield from manual_subnet(subnet)
        return
    prefix = subnet.get("prefix")
    if prefix is not None and isinstance(prefix.value, int) and prefix.value != _SINGLE:
        yield refused(prefix, "a dynamic network gives no prefixes", "Remove prefix")


def _zones(subnet: Node, config: CloudConfig) -> Iterator[Finding]:
    many, single = subnet.child("azs"), subnet.child("az")
    if many is not None and single is not None:
        yield refused(single, "has both az and azs", "Keep one of them")
        return
    if many is not None and many.value == []:
        yield refused(many, "must not be empty", "Name an az, or remove azs")
    for node in many.entries() if many is not None and isinstance(many.value, list) else ():
        if node.value is not None and not isinstance(node.value, str):  # it is not read as a string
            yield refused(node, f"'{node.value}' must be a string", "Put it into quotation marks")
        else:
            yield from config.missing(node, "azs")
    yield from config.missing(single, "azs")


def _zones_without_subnet(config: CloudConfig, used: set[str]) -> Iterator[Finding]:
    """A zone that no subnet names can't have VMs, unless a network works in all zones."""
    for network in config.lists["networks"]:
        subnets = network.get("subnets")
        zones = [zones_of(each) for each in hashes(subnets)]
        if type_of(network) != "vip" and (not zones or not all(zones) or type_of(network) == ""):
            return
    for zone in config.lists["azs"]:
        if (name := name_of(zone)) and name not in used:
            what = f"no subnet is in az '{name}': no VM can be deployed there"
            yield Finding(Severity.WARNING, what, "Add a subnet, or remove the az", zone.place, "Director")


def _dns(node: Node) -> Iterator[Finding]:
    servers = node.get("dns")
    for each in servers.entries() if servers is not None and isinstance(servers.value, list) else ():
        if not each.is_unknown and address_of(each.value) is None:
            wrong = refused(each, f"'{each.value}' is not an IP address", "Give an address, not a name")
            is_number = unlike(each, int) is None  # the Director takes it as an address's number
            yield wrong.replaced(severity=Severity.WARNING) if is_number else wrong


def _together(subnets: Sequence[Node]) -> Iterator[Finding]:
    """The subnets of a manual network fit each other.

    They don't overlap, all name their zones, or none, and their VMs get prefixes of one length.
    """
    known = [(each, found) for each in subnets if (found := range_of(each.value.get("range")))]
    for later, earlier in shared([whole for _, whole in known]).items():
        what = f"{known[later][1]} overlaps {known[earlier][1]}, another subnet of the network"
        yield refused(known[later][0].at("range"), what, "Use ranges without common addresses")
    zoned = [zones_of(each) for each in subnets]
    if any(each == [] for each in zoned) and any(zoned):
        without = subnets[zoned.index([])]
        yield refused(without, "names no az, but other subnets of the network do", "Add az")
    lengths = [
        (each, text_of(each.get("prefix")) or str(found.max_prefixlen))
        for each, found in known
        if not each.at("prefix").is_unknown
    ]
    for index, (each, length) in enumerate(lengths):
        if length != lengths[0][1]:
            what = f"a VM's prefix is /{length} here, but /{lengths[0][1]} in another subnet of the network"
            wrong = refused(each.at("prefix"), what, _SAME_LENGTH)
            is_last = index == len(subnets) - 1  # the Director does not compare the last one
            yield wrong.replaced(severity=Severity.WARNING) if is_last else wrong
            return
